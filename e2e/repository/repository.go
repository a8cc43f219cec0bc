// Package repository knows where the repository is that the tests are of.
package repository

import (
	"errors"
	"os"
	"path/filepath"
)

var root, errRoot = above()

// Root is the top folder of the repository: above the working directory with which the process began, which for a test
// is the folder of its package. Where a file was compiled says nothing: -trimpath leaves it out.
func Root() (string, error) { return root, errRoot }

// Path is the absolute path of a file in the repository. Outside of it, whoever opens the path is told that there is no
// such file.
func Path(elements ...string) string {
	return filepath.Join(append([]string{root}, elements...)...)
}

func above() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "e2e", "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("the working directory is not in the repository")
		}
		dir = parent
	}
}
