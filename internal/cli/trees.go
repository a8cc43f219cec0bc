package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// treeFile is a file with its content.
type treeFile struct {
	Name string // with slashes
	Data []byte
}

// readTree reads a file, or those files of a folder and all below it that are manifests or have this name. Folders that
// begin with a dot are left out, and so are such manifests. Names are relative to the folder.
func readTree(root, named string) ([]treeFile, error) {
	info, err := os.Stat(root)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		data, err := readFile(root, nil)
		return []treeFile{{filepath.Base(root), data}}, err
	}
	var all []treeFile
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && isHidden(entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || !isRead(name, named):
			return nil
		}
		data, err := readFile(filepath.Join(root, name), nil)
		all = append(all, treeFile{name, data})
		return err
	})
	return all, err
}

// isHidden is for folders of other programs, such as .github.
func isHidden(folder string) bool {
	return strings.HasPrefix(folder, ".") && folder != "." && folder != ".."
}

func isRead(name, named string) bool {
	base := path.Base(name)
	return base == named || slices.Contains(extensions, path.Ext(name)) && !isHidden(base)
}

// workingTree reads files and folders as readTree does. Names are as they are given; what does not exist has no files.
func workingTree(paths []string, named string) ([]treeFile, error) {
	var all []treeFile
	for _, root := range paths {
		info, err := os.Stat(root)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found, err := readTree(root, named)
		if err != nil {
			return nil, err
		}
		prefix := filepath.ToSlash(root)
		if !info.IsDir() {
			prefix = path.Dir(prefix)
		}
		for _, f := range found {
			all = append(all, treeFile{path.Join(prefix, f.Name), f.Data})
		}
	}
	return all, nil
}

// treeAt reads files and folders as workingTree does, as they are in a revision of the git repository around them.
func treeAt(revision string, paths []string, named string) ([]treeFile, error) {
	commit, err := git(nil, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	if err != nil {
		if _, err := git(nil, "rev-parse", "--git-dir"); err != nil {
			return nil, fmt.Errorf("--from: the working directory is in no git repository")
		}
		return nil, fmt.Errorf("the git repository has no revision %q", revision)
	}
	listed, err := git(nil, slices.Concat([]string{"ls-tree", "-r", "-z", strings.TrimSpace(string(commit)), "--"}, paths)...)
	if err != nil {
		return nil, err
	}
	var names []string
	var ids bytes.Buffer
	for line := range strings.SplitSeq(strings.TrimSuffix(string(listed), "\x00"), "\x00") {
		about, name, _ := strings.Cut(line, "\t")
		fields := strings.Fields(about) // mode, type and id
		if len(fields) == 3 && strings.HasPrefix(fields[0], "100") && isRead(name, named) && !slices.ContainsFunc(strings.Split(path.Dir(name), "/"), isHidden) {
			names = append(names, path.Clean(name))
			fmt.Fprintln(&ids, fields[2])
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	content, err := git(&ids, "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	return blobs(names, bufio.NewReader(bytes.NewReader(content)))
}

// blobs cuts what git prints: a line with the size, and the content.
func blobs(names []string, content *bufio.Reader) ([]treeFile, error) {
	all := make([]treeFile, len(names))
	for i, name := range names {
		header, err := content.ReadString('\n')
		if err != nil {
			return nil, err
		}
		fields := strings.Fields(header)
		size, err := strconv.Atoi(fields[len(fields)-1])
		if err != nil {
			return nil, fmt.Errorf("%s: git cannot read it", name)
		}
		all[i] = treeFile{name, make([]byte, size)}
		if _, err := io.ReadFull(content, all[i].Data); err != nil {
			return nil, err
		}
		if _, err := content.Discard(1); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// revisionNames returns the names of branches and tags; none where there is no repository.
func revisionNames() []string {
	out, _ := git(nil, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags")
	return strings.Fields(string(out))
}

func git(stdin io.Reader, arguments ...string) ([]byte, error) {
	cmd := exec.Command("git", arguments...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = stdin, &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w %s", arguments[0], err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}
