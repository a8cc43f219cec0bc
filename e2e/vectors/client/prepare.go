package client

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed npm/package.json npm/package-lock.json
var npm embed.FS

// Prepare puts the packages from npm into the cache, in the versions of npm/,
// unless they are there already.
func Prepare(ctx context.Context, cache string, progress io.Writer) error {
	lock, err := npm.ReadFile("npm/package-lock.json")
	if err != nil {
		return err
	}
	done := filepath.Join(cache, "installed.json") // the lock file of what is there
	if before, err := os.ReadFile(done); err == nil && bytes.Equal(before, lock) {
		return nil
	}
	fmt.Fprintln(progress, "installing Node.js and its clients (once, 200 MB)…")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		content, err := npm.ReadFile("npm/" + name)
		if err == nil {
			err = os.WriteFile(filepath.Join(cache, name), content, 0o644)
		}
		if err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir = cache
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return os.WriteFile(done, lock, 0o644)
}
