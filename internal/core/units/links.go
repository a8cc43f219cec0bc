package units

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
)

// rooted is a machine's files. Links lead where they lead on that machine: an absolute one begins at the folder, and none
// leaves it. Only what cannot block is opened.
type rooted struct{ folder fs.FS }

const (
	mostLinks = 32       // as in systemd
	most      = 10_000   // that a pattern may lead through
	largest   = 64 << 20 // systemd reads no larger file of variables either
	null      = "dev/null"
)

var (
	errLinks     = errors.New("leads through more than 32 links")
	errIrregular = errors.New("is neither a file nor a folder")
	errMany      = errors.New("leads through too many folders")
	errLarge     = errors.New("is larger than 64 MiB")
)

// resolve returns the path without links, with an error if nothing is there.
func (r rooted) resolve(name string) (string, error) {
	left, done := strings.Split(name, "/"), "."
	for links := 0; len(left) > 0; {
		part := left[0]
		left = left[1:]
		if part == "" || part == "." {
			continue
		}
		if part == ".." {
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, part)
		if path.Join(next, path.Join(left...)) == null { // a machine that does not run has none
			return null, nil
		}
		info, err := fs.Lstat(r.folder, next)
		if err != nil {
			return "", err
		}
		if info.Mode().Type() != fs.ModeSymlink {
			done = next
			continue
		}
		target, err := fs.ReadLink(r.folder, next)
		if err != nil {
			return "", err
		}
		if links++; links > mostLinks {
			return "", errLinks
		}
		if path.IsAbs(target) {
			done = "."
		}
		left = append(strings.Split(target, "/"), left...)
	}
	return done, nil
}

// exists reports whether something is there, readable or not.
func (r rooted) exists(name string) bool {
	_, err := r.resolve(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// link returns where a link leads, as a path of the machine; empty, if it is none.
func (r rooted) link(name string) string {
	folder, err := r.resolve(path.Dir(name))
	if err != nil {
		return ""
	}
	target, err := fs.ReadLink(r.folder, path.Join(folder, path.Base(name)))
	if err != nil {
		return ""
	}
	if !path.IsAbs(target) {
		target = path.Join("/", folder, target)
	}
	return path.Clean(target)
}

// Open opens a file or folder.
func (r rooted) Open(name string) (fs.File, error) {
	direct, err := r.resolve(name)
	if err != nil {
		return nil, err
	}
	info, err := fs.Lstat(r.folder, direct)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir() && !info.Mode().IsRegular():
		return nil, errIrregular
	case info.Size() > largest:
		return nil, errLarge
	}
	return r.folder.Open(direct)
}

// read reads a file, and nothing where a link leads to /dev/null.
func (r rooted) read(name string) ([]byte, error) {
	if direct, err := r.resolve(name); direct == null {
		return nil, err
	}
	file, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, largest+1)) // of some files, the system does not know the size
	if err == nil && len(data) > largest {
		err = errLarge
	}
	return data, err
}

// counted opens no more than a number of files and folders.
type counted struct {
	rooted
	left *int
}

func (c counted) Open(name string) (fs.File, error) {
	if *c.left--; *c.left < 0 {
		return nil, errMany
	}
	return c.rooted.Open(name)
}

// match returns the paths of a pattern, and whether these are all: folders that link to each other can make it endless.
func (r rooted) match(pattern string) (paths []string, all bool) {
	left := most
	paths, _ = fs.Glob(counted{r, &left}, pattern)
	return paths, left >= 0
}
