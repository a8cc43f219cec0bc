package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/yamldoc"
)

// extensions are the extensions of the files that are read of a folder, as kubectl does.
var extensions = []string{".json", ".yaml", ".yml"}

// longestFile is the longest file that is read, in bytes: the objects of some 50,000 clusters.
const longestFile = 512 << 20

// readFile reads a file, or stdin for "-".
func readFile(name string, stdin io.Reader) ([]byte, error) {
	if name == "-" {
		return readAll("stdin", stdin, longestFile)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Mode()&fs.ModeDevice != 0 && name != os.Stdin.Name() {
		return nil, fmt.Errorf("%s is a device, not a file", name)
	}
	return readAll(name, file, longestFile)
}

func readAll(name string, from io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s has more than %d MiB", name, most>>20)
	}
	return data, err
}

// readValues reads a file of values, a map. What is lost in it is a warning. No error quotes the text, which may have a password.
func readValues(name string, stdin io.Reader, warnings io.Writer) ([]byte, error) {
	data, err := readFile(name, stdin)
	if err != nil {
		return nil, err
	}
	return data, warnOfValues(name, data, warnings)
}

// warnOfValues prints a warning for each value that is lost in a file of values.
func warnOfValues(name string, data []byte, warnings io.Writer) error {
	_, remarks, err := yamldoc.Read[map[string]any](data, 0, json.Unmarshal)
	if err != nil {
		return fmt.Errorf("%s: not valid YAML, or not a map", name)
	}
	for _, r := range remarks {
		fmt.Fprintln(warnings, "warning:", r.In(name))
	}
	return nil
}

// readDocuments reads the Kubernetes objects of files, and of those in folders. What is lost in them is a warning.
func readDocuments(names []string, recursive bool, stdin io.Reader, warnings io.Writer) ([]document.Document, error) {
	strict := func(file string, data []byte, _ bool) ([]document.Document, error) { return document.Parse(file, data) }
	return parseFiles(names, recursive, stdin, warnings, strict)
}

// readManifests reads what may have settings in it: Kubernetes objects, and other YAML, such as the values of a chart. Of a folder,
// a file that is neither, such as a template, is a warning.
func readManifests(names []string, recursive bool, stdin io.Reader, warnings io.Writer) ([]document.Document, error) {
	return parseFiles(names, recursive, stdin, warnings, func(file string, data []byte, named bool) ([]document.Document, error) {
		found, err := document.ParseAny(file, data)
		if err != nil && !named {
			fmt.Fprintf(warnings, "warning: %v: nothing in this file is looked at\n", err)
			err = nil
		}
		return found, err
	})
}

// parseFiles has each file parsed; named tells whether the file itself is named, and not its folder.
func parseFiles(
	names []string, recursive bool, stdin io.Reader, warnings io.Writer, parse func(file string, data []byte, named bool) ([]document.Document, error),
) ([]document.Document, error) {
	files, err := inFolders(names, recursive)
	if err != nil {
		return nil, err
	}
	var all []document.Document
	for _, file := range files {
		data, err := readFile(file, stdin)
		if err != nil {
			return nil, err
		}
		found, err := parse(file, data, slices.Contains(names, file))
		if err != nil {
			return nil, err
		}
		document.Warn(found, warnings)
		all = append(all, found...)
	}
	return all, nil
}

// inFolders returns the files, with those that are in a folder in its place.
func inFolders(names []string, recursive bool) ([]string, error) {
	var all []string
	for _, name := range names {
		info, err := os.Stat(name)
		if name == "-" || err != nil || !info.IsDir() { // who reads it says what is wrong
			all = append(all, name)
			continue
		}
		found, err := inOneFolder(name, recursive)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func inOneFolder(folder string, recursive bool) ([]string, error) {
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
		if !recursive {
			err = fmt.Errorf("%w; --recursive reads its folders, too", err)
		}
	}
	return found, err
}
