package tools

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/images/gobuild"
)

// upToDate has the paths of what this process has built. Sources do not change under a test, and go build takes seconds to say
// that nothing is to be done.
var upToDate sync.Map

// Released has Program build what is released, for who measures it.
var Released bool

// Program builds a program of this repository below operator/cmd, and returns its path.
func Program(ctx context.Context, name string) (string, error) {
	root, err := repository.Root()
	if err != nil {
		return "", err
	}
	folder, flags := "bin", append(slices.Clone(gobuild.Quick), "-ldflags=-s -w")
	if Released {
		folder, flags = "released", nil
	}
	path := filepath.Join(root, ".cache", folder, name)
	if _, built := upToDate.Load(path); built {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	unlock, err := Lock(ctx, path+".lock") // who comes second finds it up to date, and does not write what may run by now
	if err != nil {
		return "", fmt.Errorf("wait for another build of %s: %w", name, err)
	}
	defer unlock()
	err = gobuild.Build(ctx, gobuild.Options{Repository: root, Program: name, File: path, Flags: flags, Environment: noCollector})
	if err != nil {
		return "", err
	}
	upToDate.Store(path, true)
	return path, nil
}
