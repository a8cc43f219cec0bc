package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// extensions are those of the files that are read of a folder, as kubectl does.
var extensions = []string{".json", ".yaml", ".yml"}

// filenameFlag adds -f.
func filenameFlag(cmd *cobra.Command, into *[]string, usage string) {
	cmd.Flags().StringSliceVarP(into, "filename", "f", nil, usage)
}

// recursiveFlag adds -R.
func recursiveFlag(flags *pflag.FlagSet, into *bool) {
	flags.BoolVarP(into, "recursive", "R", false, "include subfolders")
}

// inFolders returns the files, with those that are in a folder in its place.
func inFolders(files []string, recursive bool) ([]string, error) {
	var all []string
	for _, file := range files {
		info, err := os.Stat(file)
		if file == "-" || err != nil || !info.IsDir() { // who reads it says what is wrong
			all = append(all, file)
			continue
		}
		found, err := inFolder(file, recursive)
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
