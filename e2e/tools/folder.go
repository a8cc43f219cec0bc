package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Folder returns the folder <name>/<key> of the cache. What is not there yet is filled first, in another
// place: a folder that is there is whole. Only the newest folders of the same name stay. It is safe
// to call from several processes at once: one fills, the others wait for it.
func Folder(ctx context.Context, name, key string, fill func(dir string) error) (string, error) {
	cache, err := cacheFolder(name)
	if err != nil {
		return "", err
	}
	return folderIn(ctx, cache, key, fill)
}

// folderIn is Folder for <dir>/<key>.
func folderIn(ctx context.Context, dir, key string, fill func(dir string) error) (string, error) {
	folder := filepath.Join(dir, key)
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the cache folder: %w", err)
	}
	unlock, err := Lock(ctx, filepath.Join(dir, ".lock"))
	if err != nil {
		return "", fmt.Errorf("wait for another process that makes %s: %w", dir, err)
	}
	defer unlock()
	if _, err := os.Stat(folder); err == nil { // by whoever had the lock before
		return folder, nil
	}
	temp, err := os.MkdirTemp(dir, temporary)
	if err != nil {
		return "", fmt.Errorf("make a folder to build in: %w", err)
	}
	defer os.RemoveAll(temp)
	if err := errors.Join(os.Chmod(temp, 0o755), fill(temp)); err != nil {
		return "", err
	}
	if err := os.Rename(temp, folder); err != nil {
		return "", fmt.Errorf("put the folder in its place: %w", err)
	}
	return folder, removeOld(dir, key)
}
