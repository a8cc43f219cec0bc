package client

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// modules has a Go program for each library, and a file NAME.mod for each
// version of it, as it is seen from the folder of the module e2e.
const modules = "vectors/client/modules"

// module is a Go program that Build makes. The client's version is that of the Go module versionOf, by default Go's.
type module struct{ folder, version, tags, versionOf string }

func (m module) file() string { return m.folder + "-" + m.version }

// Build makes the client's program in the cache, if it has a module.
func (c *Client) Build(ctx context.Context, cache string) error {
	if c.module == (module{}) {
		return nil
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-modfile="+c.module.version+".mod", "-tags="+c.module.tags,
		"-o", filepath.Join(cache, c.module.file()), ".")
	cmd.Dir = filepath.Join(modules, c.module.folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", c.Name, err, out)
	}
	return nil
}

// built says which version is in a program that Build has made.
func (m module) built(program string) (string, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return "", err
	}
	if m.versionOf == "" {
		return strings.TrimPrefix(info.GoVersion, "go"), nil
	}
	i := slices.IndexFunc(info.Deps, func(d *debug.Module) bool { return d.Path == m.versionOf })
	if i < 0 {
		return "", fmt.Errorf("%s is without %s", program, m.versionOf)
	}
	return strings.TrimPrefix(info.Deps[i].Version, "v"), nil
}

// ofModule is a client that a module's program is, asked with these arguments.
func ofModule(name string, m module, arguments ...string) Client {
	program := "{cache}/" + m.file()
	return Client{
		Name: fmt.Sprintf("%s(%s)", name, m.version), module: m,
		once: append(append([]string{program}, arguments...), "{url}"), version: []string{program},
	}
}

func grpcGo(version string, tags ...string) Client {
	return ofModule("grpc-go", module{"grpc", version, strings.Join(tags, ","), "google.golang.org/grpc"})
}

// clientGo is client-go, used in one of three ways.
func clientGo(how string) Client {
	c := ofModule("client-go", module{folder: "kubernetes", version: "0.36.3", versionOf: "k8s.io/client-go"}, how)
	c.Name = "client-go-" + how
	return c
}

// sdk is a library that makes an HTTP client of its own. Its version is the version of Go, since the client is
// net/http. The versions of the libraries are in the module's file.
func sdk(library string) Client {
	c := ofModule(library, module{folder: "sdk", version: "2026-11"}, library)
	c.Name = library
	return c
}

// prometheus is proxy_from_environment of Prometheus, with a version of golang.org/x/net.
func prometheus(version string) Client {
	return ofModule("x-net-httpproxy", module{folder: "prometheus", version: version, versionOf: "golang.org/x/net"})
}
