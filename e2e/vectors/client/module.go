package client

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// modules has a Go program for each library, and a file NAME.mod for each
// version of it, as it is seen from the folder of the module e2e.
const modules = "vectors/client/modules"

// module is a Go program that Build makes.
type module struct{ folder, version, tags string }

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

// ofModule is a client that a module's program is, asked with these arguments.
func ofModule(name string, m module, arguments ...string) Client {
	program := "{cache}/" + m.file()
	return Client{
		Name: fmt.Sprintf("%s(%s)", name, m.version), module: m,
		once:    append(append([]string{program}, arguments...), "{url}"),
		version: []string{program, "--version"}, pattern: number,
	}
}

func grpcGo(version string, tags ...string) Client {
	return ofModule("grpc-go", module{"grpc", version, strings.Join(tags, ",")})
}

// clientGo is client-go, used in one of three ways.
func clientGo(how string) Client {
	c := ofModule("client-go", module{folder: "kubernetes", version: "0.36.3"}, how)
	c.Name = "client-go-" + how
	return c
}

// sdk is a library that makes an HTTP client of its own. Its version is that of
// Go, whose net/http it is; those of the libraries are in the module's file.
func sdk(library string) Client {
	c := ofModule(library, module{folder: "sdk", version: "2026-11"}, library)
	c.Name = library
	return c
}

// prometheus is proxy_from_environment of Prometheus, with a version of golang.org/x/net.
func prometheus(version string) Client {
	return ofModule("x-net-httpproxy", module{folder: "prometheus", version: version})
}
