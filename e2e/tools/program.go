package tools

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Program builds a program of this repository below operator/cmd, and returns its path. The environment is go's, as
// NAME=value.
func Program(ctx context.Context, name string, environment ...string) (string, error) {
	_, here, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(here), "..", "..")
	path := filepath.Join(root, ".cache", "bin", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	unlock, err := Lock(ctx, path+".lock") // who comes second finds it up to date, and does not write what may run by now
	if err != nil {
		return "", fmt.Errorf("wait for another build of %s: %w", name, err)
	}
	defer unlock()
	build := exec.CommandContext(ctx, "go", "build", "-o", path, "./operator/cmd/"+name)
	build.Dir = root
	build.Env = append(os.Environ(), environment...)
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, output)
	}
	return path, nil
}
