package tools

import (
	"context"
	"io"
	"os"
	"path/filepath"
)

// Link makes a folder for the PATH with what the documentation calls: kubectl, helm, fairlead, and more.
func Link(ctx context.Context, dir string, progress io.Writer, more ...Tool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	fairlead, err := Program(ctx, "fairlead")
	if err != nil {
		return err
	}
	paths := map[string]string{"fairlead": fairlead}
	for _, tool := range append(more, Kubectl, Helm) {
		if paths[tool.Name], err = Build(ctx, tool, progress); err != nil {
			return err
		}
	}
	for name, path := range paths {
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}
