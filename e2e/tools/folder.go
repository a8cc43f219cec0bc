package tools

import (
	"context"
	"fmt"
	"os"
)

// Folder returns the folder <name>/<key> of the cache. What is not there yet is filled first, in another
// place: a folder that is there is whole. Only the newest folders of the same name stay. It is safe
// to call from several processes at once: one fills, the others wait for it.
func Folder(ctx context.Context, name, key string, fill func(dir string) error) (string, error) {
	cache, err := cacheFolder(name)
	if err != nil {
		return "", err
	}
	s := slot{dir: cache, key: key}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return "", fmt.Errorf("make the cache folder: %w", err)
	}
	unlock, err := Lock(ctx, s.lockFile())
	if err != nil {
		return "", fmt.Errorf("wait for another process that makes %s: %w", name, err)
	}
	defer unlock()
	if _, err := os.Stat(s.folder()); err == nil {
		return s.folder(), nil
	}
	temp, err := s.tempFolder()
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	if err := fill(temp); err != nil {
		return "", err
	}
	if err := os.Rename(temp, s.folder()); err != nil {
		return "", fmt.Errorf("put the folder in its place: %w", err)
	}
	return s.folder(), s.removeOld()
}
