package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/fairlead-io/fairlead/e2e/repository"
)

// ModuleDir is the directory of a module, in the version that the tool module asks for, in the module
// cache: for files that come with a program, such as its CRDs. Nothing may be written there.
func ModuleDir(ctx context.Context, toolModule, module string) (string, error) {
	root, err := repository.Root()
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
