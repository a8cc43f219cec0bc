package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// A control group is the one thing that the kernel does not remove with a process. It is empty then. The next machine
// removes the groups of processes that are gone.
const cgroupPrefix = "fairlead-machine-"

// hierarchies: systemd uses its own one and the unified one, where there is more than one; Memory that of memory.
var hierarchies = []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/memory"}

// joinCgroups is a script that moves the shell into the control group $1.
const joinCgroups = `for h in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do
	[ ! -e $h/cgroup.procs ] || { mkdir -p $h/$1 && echo 0 >$h/$1/cgroup.procs; } || exit 1
done; shift;`

// cgroup is the name of the control group, after a process that lives as long as the network.
func (n *Network) cgroup() string { return cgroupPrefix + strconv.Itoa(n.init) }

// removeCgroups removes the group of this network, and those that killed tests have left.
func (n *Network) removeCgroups() error {
	var errs []error
	for _, hierarchy := range hierarchies {
		folders, _ := filepath.Glob(filepath.Join(hierarchy, cgroupPrefix+"*"))
		for _, folder := range folders {
			owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(folder), cgroupPrefix), "-")
			if owner == strconv.Itoa(n.init) {
				errs = append(errs, removeEmpty(folder))
			} else if _, err := os.Readlink("/proc/" + owner + "/exe"); errors.Is(err, fs.ErrNotExist) { // a zombie has none
				_ = removeEmpty(folder) // somebody else may do so at the same time
			}
		}
	}
	return errors.Join(errs...)
}

// removeEmpty removes a control group and those in it, whoever else does so too. Their files cannot be removed, and go
// with them.
func removeEmpty(folder string) error {
	var folders []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			folders = append(folders, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	for _, path := range slices.Backward(folders) {
		if rmErr := syscall.Rmdir(path); rmErr != nil && !errors.Is(rmErr, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("remove control group %s: %w", path, rmErr))
		}
	}
	return err
}
