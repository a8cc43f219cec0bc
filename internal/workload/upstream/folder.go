package upstream

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Folder is where the settings are: a mounted Secret, or the files of a machine. It is looked at again each time, and all
// that read the same share one Settings.
type Folder struct {
	path string
	log  *slog.Logger

	mutex   sync.Mutex
	stamp   string // of the files that were read last
	files   map[string]string
	last    *Settings
	problem error
}

// NewFolder returns the folder of that path. The log is told when its settings change, and when they cannot be read.
func NewFolder(path string, log *slog.Logger) *Folder { return &Folder{path: path, log: log} }

// Read returns the current settings, of one moment. Where they cannot be read, it returns the previous ones, and
// [Folder.Problem] says why; without any there is an error. It names the file, and nothing of what is in it but its shape.
func (f *Folder) Read() (*Settings, error) {
	f.mutex.Lock() // while files are read, too: hundreds of connections come at once
	defer f.mutex.Unlock()
	before := f.problem
	f.problem = f.read()
	if f.last == nil {
		return nil, f.problem
	}
	if f.problem != nil && (before == nil || before.Error() != f.problem.Error()) {
		f.log.Error("the settings cannot be read: those of before count on", "reason", f.problem)
	}
	return f.last, nil
}

// Problem returns why the settings of the latest Read are older than the files; nil if they are not.
func (f *Folder) Problem() error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.problem
}

func (f *Folder) read() error {
	stamp := f.stampNow()
	if stamp != "" && stamp == f.stamp {
		return f.problem
	}
	files, err := readFiles(f.path)
	if err != nil {
		f.stamp = "" // what was read before may come back as it was
		return err
	}
	f.stamp = stamp
	if f.last != nil && maps.Equal(files, f.files) {
		return nil
	}
	settings, err := parse(f.path, files)
	if err != nil {
		return err
	}
	if f.last != nil {
		settings.remember(f.last)
		settings.follow(f.last)
		f.log.Info("the settings have changed", "proxy", settings.HTTPS.URL.String())
	}
	for _, warning := range settings.Warnings {
		f.log.Warn("the credentials of before are ignored", "reason", warning)
	}
	f.files, f.last = files, settings
	return nil
}

// tick is longer than a tick of any file system's clock: two files that came within it look the same.
const tick = 100 * time.Millisecond

// stampNow changes when somebody puts other files into the place of those that are here; empty if nobody can tell. The
// kubelet and fairlead-operator follow never write into a file.
func (f *Folder) stampNow() string {
	if target, err := os.Readlink(filepath.Join(f.path, "..data")); err == nil {
		return target
	}
	var stamp strings.Builder
	for _, name := range []string{SettingsFile, CAFile} {
		found, err := os.Stat(filepath.Join(f.path, name))
		switch {
		case err != nil && name == SettingsFile:
			return ""
		case err != nil:
			stamp.WriteString("none ")
		case time.Since(found.ModTime()) < tick:
			return ""
		default:
			fmt.Fprintf(&stamp, "%d %d ", found.ModTime().UnixNano(), found.Size())
		}
	}
	return stamp.String()
}

// Keys are the keys of the Secret fairlead-source, in the order of the lines of SettingsFile.
var Keys = []string{HTTPFile, HTTPSFile, HTTPPreviousFile, HTTPSPreviousFile, KeyFile, MarkFile, MarkPreviousFile, RevisionFile, NoProxyFile}

// Parse reads files by their names, as a folder would have them. The error shows no value.
func Parse(files map[string]string) (*Settings, error) { return parse("", files) }

// readFiles reads all files behind one look at the link ..data, which is switched over to others. Where that happens
// meanwhile, what it led to is gone, and it is read again.
func readFiles(folder string) (map[string]string, error) {
	for {
		now := filepath.Join(folder, "..data")
		target, err := os.Readlink(now)
		if err != nil {
			return readAll(folder, folder)
		}
		files, err := readAll(filepath.Join(folder, target), folder)
		if again, _ := os.Readlink(now); again == target {
			return files, err
		}
	}
}

func readAll(from, shown string) (map[string]string, error) {
	files, keys := map[string]string{}, append(slices.Clone(Keys), CAFile)
	content, err := os.ReadFile(filepath.Join(from, SettingsFile))
	switch {
	case err == nil:
		if files = parseLines(string(content)); files == nil {
			return nil, fmt.Errorf("%s: it is cut off, or lacks a line %s= or, as the last one, %s=", filepath.Join(shown, SettingsFile), HTTPSFile, NoProxyFile)
		}
		keys = []string{CAFile}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, shownAs(err, shown, SettingsFile)
	}
	for _, name := range keys {
		content, err := os.ReadFile(filepath.Join(from, name))
		switch {
		case errors.Is(err, fs.ErrNotExist) && name != HTTPSFile:
		case err != nil:
			return nil, shownAs(err, shown, name)
		default:
			files[name] = string(content)
		}
	}
	return files, nil
}

// parseLines reads NAME=value. It returns nil for what may have been cut off: part of a URL is a URL, too.
func parseLines(text string) map[string]string {
	values, last := map[string]string{}, ""
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok {
			values[name], last = value, name
		}
	}
	if _, ok := values[HTTPSFile]; !ok || last != NoProxyFile || !strings.HasSuffix(text, "\n") {
		return nil
	}
	return values
}

// shownAs names the file as people know it, and not what ..data leads to.
func shownAs(err error, folder, name string) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		path.Path = filepath.Join(folder, name)
	}
	return err
}
