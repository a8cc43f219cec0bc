package node

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// data is a link to the folder with the files. Every file's path leads through it, so that one rename changes all of
// them (pkg/volume/util/atomic_writer.go of the kubelet).
const data = "..data"

// write makes the folder hold these files, by path, and no others.
func write(folder string, files map[string]file) error {
	before, err := os.Readlink(filepath.Join(folder, data))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	now, err := os.MkdirTemp(folder, "..")
	if err != nil {
		return err
	}
	if err := writeFiles(now, files); err != nil {
		return err
	}
	next := filepath.Join(folder, "..data_tmp")
	if err := os.Symlink(filepath.Base(now), next); err != nil {
		return err
	}
	if err := os.Rename(next, filepath.Join(folder, data)); err != nil {
		return err
	}
	if err := link(folder, files); err != nil {
		return err
	}
	if before == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(folder, before))
}

func writeFiles(folder string, files map[string]file) error {
	if err := os.Chmod(folder, 0o755); err != nil {
		return err
	}
	for path, f := range files {
		path = filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.content, f.mode); err != nil {
			return err
		}
		if err := os.Chmod(path, f.mode); err != nil { // whatever the umask
			return err
		}
	}
	return nil
}

// link makes the first elements of all paths lead to the current files, and removes links that lead nowhere.
func link(folder string, files map[string]file) error {
	for path := range files {
		first, _, _ := strings.Cut(filepath.Clean(path), "/")
		if err := os.Symlink(filepath.Join(data, first), filepath.Join(folder, first)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := filepath.Join(folder, entry.Name())
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}
