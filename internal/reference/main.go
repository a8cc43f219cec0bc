// Command reference writes the pages of docs/reference that are made of the code: the command lines, the kinds and the
// metrics. It runs in the root of the repository, as make generate does.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const header = "<!-- Made by make generate: change the code instead. -->\n\n"

func main() {
	written, err := pages(".")
	for name, text := range written {
		err = errors.Join(err, os.WriteFile(filepath.Join("docs/reference", name), []byte(text), 0o644)) //nolint:gosec // for all to read
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

// pages are the texts by the names of their files.
func pages(root string) (map[string]string, error) {
	kinds, err := api(filepath.Join(root, "config/crd"))
	if err != nil {
		return nil, err
	}
	commands, err := commandLines(root)
	if err != nil {
		return nil, err
	}
	return map[string]string{"api.md": kinds, "cli.md": commands, "metrics.md": metrics()}, nil
}
