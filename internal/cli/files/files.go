// Package files reads what the command line names: files, folders of them, standard input.
package files

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/document"
)

// extensions are those of the files that are read of a folder, as kubectl does.
var extensions = []string{".json", ".yaml", ".yml"}

// Read reads a file, or stdin for "-".
func Read(name string, stdin io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(name)
}

// Documents reads the Kubernetes objects of files, and of those in folders.
func Documents(names []string, recursive bool, stdin io.Reader) ([]document.Document, error) {
	names, err := InFolders(names, recursive)
	if err != nil {
		return nil, err
	}
	var all []document.Document
	for _, name := range names {
		data, err := Read(name, stdin)
		if err != nil {
			return nil, err
		}
		documents, err := document.Parse(name, data)
		if err != nil {
			return nil, err
		}
		all = append(all, documents...)
	}
	return all, nil
}

// InFolders returns the files, with those that are in a folder in its place.
func InFolders(names []string, recursive bool) ([]string, error) {
	var all []string
	for _, name := range names {
		info, err := os.Stat(name)
		if name == "-" || err != nil || !info.IsDir() { // who reads it says what is wrong
			all = append(all, name)
			continue
		}
		found, err := inFolder(name, recursive)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func inFolder(folder string, recursive bool) ([]string, error) {
	var found []string
	err := fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && !recursive:
			return fs.SkipDir
		case !entry.IsDir() && slices.Contains(extensions, filepath.Ext(path)):
			found = append(found, filepath.Join(folder, path))
		}
		return nil
	})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s is a directory without files that end with %s", folder, strings.Join(extensions, ", "))
	}
	return found, err
}
