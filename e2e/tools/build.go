// Package tools makes the real programs that the tests run, each from a Go module of its own below this
// folder, so that none of their dependencies meets ours. It builds and finds; it runs nothing.
package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/images/gobuild"
)

// ErrUnavailable is in the error when a program or module cannot be had on this machine, for instance
// without a network. Tests that need it skip then, except in CI.
var ErrUnavailable = errors.New("not available on this machine")

// Build returns the path of the program and builds it first if its module has changed since the last
// time. It is safe to call from several processes at once: one builds, the others wait for it.
func Build(ctx context.Context, tool Tool, progress io.Writer) (string, error) {
	root, err := repository.Root()
	if err != nil {
		return "", err
	}
	if tool.Full && testing.Testing() && testing.Short() {
		return "", fmt.Errorf("%s is a program of make test-all: a test that runs it calls tier.Full", tool.Name)
	}
	if path, found := prebuilt(tool); found {
		return path, nil
	}
	cache, err := cacheFolder("bin")
	if err != nil {
		return "", err
	}
	return buildInto(ctx, cache, tool, moduleFolder(root, tool.Module), progress)
}

// Built tells whether Build has nothing to do for any of them.
func Built(wanted ...Tool) bool {
	root, rootErr := repository.Root()
	cache, cacheErr := cacheFolder("bin")
	return rootErr == nil && cacheErr == nil && !slices.ContainsFunc(wanted, func(tool Tool) bool {
		_, found := prebuilt(tool)
		return !found && !isIn(cache, tool, moduleFolder(root, tool.Module))
	})
}

// isIn tells whether buildInto has put the program there.
func isIn(cache string, tool Tool, module string) bool {
	key, err := keyOf(tool, module)
	if err == nil {
		_, err = os.Stat(filepath.Join(cache, tool.Name, key))
	}
	return err == nil
}

// BuildAll builds two modules at a time: a program is linked on one processor. Programs of one module have much in common,
// and come one after the other.
func BuildAll(ctx context.Context, wanted []Tool, progress io.Writer) error {
	var order []string
	byModule := make(map[string][]Tool)
	for _, tool := range wanted {
		if byModule[tool.Module] == nil {
			order = append(order, tool.Module)
		}
		byModule[tool.Module] = append(byModule[tool.Module], tool)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for _, module := range order {
		group.Go(func() error {
			for _, tool := range byModule[module] {
				if _, err := Build(ctx, tool, progress); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// prebuilt finds etcd, kube-apiserver and kubectl in the folder of envtest, if KUBEBUILDER_ASSETS names one
// (https://book.kubebuilder.io/reference/envtest.html).
func prebuilt(tool Tool) (path string, found bool) {
	folder := os.Getenv("KUBEBUILDER_ASSETS")
	if folder == "" || !slices.Contains([]string{Etcd.Name, KubeAPIServer.Name, Kubectl.Name}, tool.Name) {
		return "", false
	}
	path = filepath.Join(folder, tool.Name)
	_, err := os.Stat(path)
	return path, err == nil
}

func buildInto(ctx context.Context, cache string, tool Tool, module string, progress io.Writer) (string, error) {
	if progress == nil {
		progress = io.Discard
	}
	key, err := keyOf(tool, module)
	if err != nil {
		return "", err
	}
	folder, err := folderIn(ctx, filepath.Join(cache, tool.Name), key, func(temp string) error {
		fmt.Fprintf(progress, "building %s %s (once, about %s)…\n", tool.Name, tool.Version, tool.Duration)
		begin := time.Now()
		arguments := slices.Concat([]string{"build", "-mod=readonly"}, gobuild.Quick,
			[]string{"-tags", tool.Tags, "-ldflags", "-s -w " + tool.LDFlags, "-o", filepath.Join(temp, tool.Name), tool.Package})
		if _, err := goCommand(ctx, module, arguments...); err != nil {
			return err
		}
		fmt.Fprintf(progress, "built %s %s in %s\n", tool.Name, tool.Version, time.Since(begin).Round(time.Second))
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("build %s %s: %w", tool.Name, tool.Version, err)
	}
	return filepath.Join(folder, tool.Name), nil
}

// noCollector is for the compiler: one that collects no garbage below a GiB saves a fifth of the time.
var noCollector = []string{"GOGC=off", "GOMEMLIMIT=1GiB"}

// goCommand runs the go command in a tool module. A workspace of the developer's must not choose the
// versions, and without cgo the program runs in any root file system.
func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = slices.Concat(os.Environ(), []string{"GOWORK=off", "CGO_ENABLED=0"}, noCollector)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: go %s in %s: %w\n%s", ErrUnavailable, args[0], dir, err, stderr.String())
	}
	return out, nil
}
