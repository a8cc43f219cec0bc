package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// ModuleDir is the directory of a module, in the version that the tool module asks for, in the module
// cache: for files that come with a program, such as its CRDs. Nothing may be written there.
func ModuleDir(ctx context.Context, toolModule, module string) (string, error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	out, err := goCommand(ctx, moduleFolder(root, toolModule), "mod", "download", "-json", module)
	if err != nil {
		return "", fmt.Errorf("download %s: %w", module, err)
	}
	var answer struct{ Dir string }
	if err := json.Unmarshal(out, &answer); err != nil {
		return "", fmt.Errorf("read the answer of go mod download %s: %w", module, err)
	}
	if answer.Dir == "" {
		return "", fmt.Errorf("download %s: no directory in the answer", module)
	}
	return answer.Dir, nil
}

// moduleFolder is the folder of a tool module.
func moduleFolder(root, name string) string { return filepath.Join(root, "e2e", "tools", name) }

// repository is the top folder of the repository: from where this file was compiled, or, when the
// binary was built elsewhere or with -trimpath, above the working directory.
func repository() (string, error) {
	_, file, _, _ := runtime.Caller(0)
	starts := []string{filepath.Dir(file)}
	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, wd)
	}
	for _, start := range starts {
		for dir := start; filepath.IsAbs(dir); dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(dir, "e2e", "tools", Etcd.Module, "go.mod")); err == nil {
				return dir, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", errors.New("the repository with e2e/tools is neither where this was compiled nor above the working directory")
}
