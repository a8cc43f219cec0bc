package controlplane

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Content is the initial content of many control planes. It is installed once and its data kept: each control plane
// that starts with it gets a copy. Its objects are then the same in all of them, with UIDs and times.
type Content struct {
	Name string
	// Read returns YAML documents. If they are others than before, they are installed anew.
	Read func(context.Context) ([]byte, error)
	// Labels are added to each object.
	Labels map[string]string
}

// FromModule reads the .yaml files of a Go module that a tool has: files, and all of folders.
func FromModule(tool, module string, paths ...string) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		dir, err := tools.ModuleDir(ctx, tool, module)
		if err != nil {
			return nil, err
		}
		return readFS(os.DirFS(dir), paths...)
	}
}

// Install applies the content, unless the control plane has started with it.
func (cp *ControlPlane) Install(ctx context.Context, content Content) error {
	if slices.ContainsFunc(cp.options.Content, func(c Content) bool { return c.Name == content.Name }) {
		return nil
	}
	manifest, err := content.Read(ctx)
	if err != nil {
		return fmt.Errorf("read %s: %w", content.Name, err)
	}
	objects, err := Parse(manifest)
	if err != nil {
		return fmt.Errorf("read %s: %w", content.Name, err)
	}
	if len(content.Labels) > 0 {
		for _, object := range objects {
			labels := maps.Clone(content.Labels)
			maps.Copy(labels, object.GetLabels())
			object.SetLabels(labels)
		}
	}
	if err := cp.ApplyObjects(ctx, objects...); err != nil {
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
		manifest, err := content.Read(ctx)
		if err != nil {
			return fmt.Errorf("read %s: %w", content.Name, err)
		}
		name += "-" + content.Name
		fmt.Fprintf(sum, "%s %v %d\n%s", content.Name, content.Labels, len(manifest), manifest)
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
	if err := errors.Join(first.StopAPIServer(), first.stop(&first.etcd)); err != nil {
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
