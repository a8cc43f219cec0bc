package node

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
)

// mounts returns a mount namespace for the container: this machine's files, and those of the pod.
func (n *Node) mounts(pod *corev1.Pod, container *corev1.Container) (*os.File, error) {
	hosts, err := n.hosts(pod)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(n.outside(pod, "hosts"), hosts, 0o644); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(n.outside(pod, "root"), 0o755); err != nil {
		return nil, err
	}
	for _, mount := range container.VolumeMounts {
		if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name }) {
			return nil, fmt.Errorf("volumeMount %s: the pod has no such volume", mount.Name)
		}
	}
	return n.Network.Mounts(func() error { return makeRoot(pod, container) })
}

// makeRoot runs in the container's mount namespace.
func makeRoot(pod *corev1.Pod, container *corev1.Container) error {
	r := &root{path: inside(pod, "root"), own: map[string]bool{}}
	if err := r.copy("/"); err != nil {
		return err
	}
	volumeMounts := slices.Clone(container.VolumeMounts)
	slices.SortStableFunc(volumeMounts, func(a, b corev1.VolumeMount) int { return cmp.Compare(a.MountPath, b.MountPath) })
	for _, mount := range volumeMounts {
		source := filepath.Join(inside(pod, "volumes", mount.Name), mount.SubPath)
		if err := r.bind(source, mount.MountPath); err != nil {
			return fmt.Errorf("volumeMount %s at %s: %w", mount.Name, mount.MountPath, err)
		}
	}
	if err := r.bind(inside(pod, "hosts"), "/etc/hosts"); err != nil {
		return fmt.Errorf("hostAliases: %w", err)
	}
	if container.WorkingDir != "" {
		if _, err := r.folder(container.WorkingDir); err != nil {
			return fmt.Errorf("workingDir: %w", err)
		}
	}
	if err := unix.Mount(r.path, "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("become the root: %w", err)
	}
	return nil
}

// root is a folder in memory with all that is in /. Where the pod has a folder that this machine has not, the one above
// becomes such a folder too: nothing is ever made on this machine's disk.
type root struct {
	path string
	own  map[string]bool // folders that are in memory, or a volume
}

// copy makes a folder one in memory, which has what this machine has there.
func (r *root) copy(folder string) error {
	target := filepath.Join(r.path, folder)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", target, "tmpfs", 0, "mode=0755"); err != nil {
		return fmt.Errorf("mount a folder in memory: %w", err)
	}
	if err := unix.Mount("", target, "", unix.MS_UNBINDABLE, ""); err != nil { // it is in /run: it would hold itself
		return err
	}
	for _, entry := range entries {
		if err := replicate(filepath.Join(folder, entry.Name()), filepath.Join(target, entry.Name()), entry.Type()); err != nil {
			return err
		}
	}
	r.own[folder] = true
	return nil
}

func replicate(source, target string, kind fs.FileMode) error {
	if kind&fs.ModeSymlink != 0 {
		to, err := os.Readlink(source)
		if err == nil {
			err = os.Symlink(to, target)
		}
		return err
	}
	if err := place(target, kind.IsDir()); err != nil {
		return err
	}
	return unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, "")
}

// place makes something to mount at.
func place(target string, folder bool) error {
	if folder {
		return os.Mkdir(target, 0o755)
	}
	return os.WriteFile(target, nil, 0o600)
}

// bind lets a path of the root be a file or folder.
func (r *root) bind(source, path string) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	path = filepath.Clean(path) // with a slash at its end it would be its own folder
	parent, err := r.folder(filepath.Dir(path))
	if err != nil {
		return err
	}
	path = filepath.Join(parent, filepath.Base(path))
	target := filepath.Join(r.path, path)
	if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) {
		if err := r.open(parent); err != nil {
			return err
		}
		if err := place(target, info.IsDir()); err != nil {
			return err
		}
	}
	r.own[path] = info.IsDir()
	return unix.Mount(source, target, "", unix.MS_BIND, "")
}

// folder makes a folder, with those above it, and returns its path without links.
func (r *root) folder(path string) (string, error) {
	path = filepath.Clean(path)
	if path == "/" {
		return path, nil
	}
	parent, err := r.folder(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	path = filepath.Join(parent, filepath.Base(path))
	info, err := os.Lstat(filepath.Join(r.path, path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := r.open(parent); err != nil {
			return "", err
		}
		r.own[path] = true
		return path, os.Mkdir(filepath.Join(r.path, path), 0o755)
	case err != nil:
		return "", err
	case info.Mode()&fs.ModeSymlink == 0:
		return path, nil
	}
	to, err := os.Readlink(filepath.Join(r.path, path))
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(parent, to)
	}
	return r.folder(to)
}

// open lets something be made in a folder that is there.
func (r *root) open(folder string) error {
	if r.own[folder] {
		return nil
	}
	return r.copy(folder)
}
