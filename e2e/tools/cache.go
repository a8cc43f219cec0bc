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

// kept is how many builds of one program stay: checkouts of several versions are at work side by side.
const kept = 4

// slot is the place of one build of one program:
//
//	<cache>/<program>/<version>-<hash of what it is built from>/<program>
type slot struct {
	tool Tool
	dir  string // <cache>/<program>
	key  string // <version>-<hash>
}

func cacheSlot(cache string, tool Tool, module string) (slot, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.GOOS, runtime.GOARCH, tool.Package, tool.LDFlags)
	if tool.Tags != "" {
		fmt.Fprintln(hash, tool.Tags)
	}
	files := []string{filepath.Join(module, "go.mod"), filepath.Join(module, "go.sum")}
	if strings.HasPrefix(tool.Package, "./") { // ours, and not only as new as what it requires
		own, err := filepath.Glob(filepath.Join(module, tool.Package, "*.go"))
		if err != nil {
			return slot{}, err
		}
		files = append(files, own...)
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			return slot{}, fmt.Errorf("read the tool module of %s: %w", tool.Name, err)
		}
		fmt.Fprintf(hash, "%d\n%s", len(content), content)
	}
	s := slot{
		tool: tool,
		dir:  filepath.Join(cache, tool.Name),
		key:  fmt.Sprintf("%s-%.6x", tool.Version, hash.Sum(nil)),
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return slot{}, fmt.Errorf("make the cache folder: %w", err)
	}
	return s, nil
}

func (s slot) folder() string   { return filepath.Join(s.dir, s.key) }
func (s slot) program() string  { return filepath.Join(s.folder(), s.tool.Name) }
func (s slot) lockFile() string { return filepath.Join(s.dir, ".lock") }

func (s slot) filled() bool {
	_, err := os.Stat(s.program())
	return err == nil
}

const temporary = ".building-"

func (s slot) tempFolder() (string, error) {
	dir, err := os.MkdirTemp(s.dir, temporary)
	if err != nil {
		return "", fmt.Errorf("make a folder to build in: %w", err)
	}
	return dir, os.Chmod(dir, 0o755)
}

// removeOld deletes the oldest builds and what an interrupted build left. The caller holds the lock. A program of them
// that still runs is not disturbed: its file lives until it ends.
func (s slot) removeOld() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("list the cache: %w", err)
	}
	var errs []error
	var builds []fs.FileInfo
	for _, entry := range entries {
		info, err := entry.Info()
		switch {
		case !entry.IsDir() || entry.Name() == s.key:
		case err != nil:
			errs = append(errs, err)
		case strings.HasPrefix(entry.Name(), temporary):
			errs = append(errs, os.RemoveAll(filepath.Join(s.dir, entry.Name())))
		default:
			builds = append(builds, info)
		}
	}
	slices.SortFunc(builds, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, build := range builds[min(len(builds), kept-1):] {
		errs = append(errs, os.RemoveAll(filepath.Join(s.dir, build.Name())))
	}
	return errors.Join(errs...)
}
