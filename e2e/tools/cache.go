package tools

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/images/gobuild"
)

// cacheFolder is outside of the checkout, so that a fresh clone builds nothing again: $XDG_CACHE_HOME/fairlead, by
// default ~/.cache/fairlead.
func cacheFolder(name string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w", err)
	}
	return filepath.Join(cache, "fairlead", name), nil
}

// kept is how many folders of one name stay: checkouts of several versions are at work side by side.
const kept = 4

// keyOf is <version>-<hash of what the program is built from>.
func keyOf(tool Tool, module string) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.GOOS, runtime.GOARCH, tool.Package, tool.LDFlags, gobuild.Quick)
	if tool.Tags != "" {
		fmt.Fprintln(hash, tool.Tags)
	}
	files := []string{filepath.Join(module, "go.mod"), filepath.Join(module, "go.sum")}
	if strings.HasPrefix(tool.Package, "./") { // ours, and not only as new as what it requires
		own, err := filepath.Glob(filepath.Join(module, tool.Package, "*.go"))
		if err != nil {
			return "", err
		}
		files = append(files, own...)
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("read the tool module of %s: %w", tool.Name, err)
		}
		fmt.Fprintf(hash, "%d\n%s", len(content), content)
	}
	return fmt.Sprintf("%s-%.6x", tool.Version, hash.Sum(nil)), nil
}

const temporary = ".building-"

// removeOld deletes the oldest folders but key, and what an interrupted build left. The caller holds the lock. A program of
// them that still runs is not disturbed: its file lives until it ends.
func removeOld(dir, key string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list the cache: %w", err)
	}
	var errs []error
	var builds []fs.FileInfo
	for _, entry := range entries {
		info, err := entry.Info()
		switch {
		case !entry.IsDir() || entry.Name() == key:
		case err != nil:
			errs = append(errs, err)
		case strings.HasPrefix(entry.Name(), temporary):
			errs = append(errs, os.RemoveAll(filepath.Join(dir, entry.Name())))
		default:
			builds = append(builds, info)
		}
	}
	slices.SortFunc(builds, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, build := range builds[min(len(builds), kept-1):] {
		errs = append(errs, os.RemoveAll(filepath.Join(dir, build.Name())))
	}
	return errors.Join(errs...)
}
