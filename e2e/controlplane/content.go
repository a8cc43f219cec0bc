package controlplane

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Content is what many control planes begin with. It is installed once; whoever starts with it gets a copy of that one's
// data, which costs half as much as to start without, and a quarter of installing it. Objects are then the same in all of
// them, with UIDs and times.
type Content struct {
	Name string
	// Digest writes down all that Install reads: with another sum, it is installed anew.
	Digest  func(context.Context, io.Writer) error
	Install func(context.Context, *ControlPlane) error
}

// Install installs the content, unless the control plane has started with it.
func (cp *ControlPlane) Install(ctx context.Context, content Content) error {
	if slices.ContainsFunc(cp.options.Content, func(c Content) bool { return c.Name == content.Name }) {
		return nil
	}
	if err := content.Install(ctx, cp); err != nil {
		return fmt.Errorf("install %s: %w", content.Name, err)
	}
	return nil
}

// fill gives etcd the data to start with.
func (cp *ControlPlane) fill(ctx context.Context) error {
	if len(cp.options.Content) == 0 {
		return nil
	}
	name, sum := "etcd", sha256.New()
	fmt.Fprintln(sum, cp.programs)
	for _, content := range cp.options.Content {
		name += "-" + content.Name
		if err := content.Digest(ctx, sum); err != nil {
			return fmt.Errorf("read %s: %w", content.Name, err)
		}
	}
	folder, err := tools.Folder(ctx, name, fmt.Sprintf("%.6x", sum.Sum(nil)), func(temp string) error { return cp.make(ctx, temp) })
	if err != nil {
		return err
	}
	return copyData(ctx, filepath.Join(folder, "etcd"), cp.dir.file("etcd"))
}

// make installs the content on another control plane, and keeps its data.
func (cp *ControlPlane) make(ctx context.Context, folder string) (err error) {
	first, err := Start(ctx, Options{Progress: cp.options.Progress})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, first.Stop()) }()
	for _, content := range cp.options.Content {
		if err := first.Install(ctx, content); err != nil {
			return err
		}
	}
	if err := errors.Join(first.StopAPIServer(), first.stopEtcd()); err != nil {
		return err
	}
	return copyData(ctx, first.dir.file("etcd"), filepath.Join(folder, "etcd"))
}

// copyData leaves out the zeros: etcd keeps room in its files.
func copyData(ctx context.Context, from, to string) error {
	if out, err := exec.CommandContext(ctx, "cp", "--archive", "--sparse=always", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy the data of etcd: %w: %s", err, out)
	}
	return nil
}

// DigestFS writes down the files of a folder, and of the folders in it.
func DigestFS(w io.Writer, folder fs.FS) error {
	return fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s %d\n%s", name, len(content), content)
		return err
	})
}
