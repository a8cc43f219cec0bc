package machine

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Mounts makes a mount namespace that begins as the network's and is gone with the last process in it, once the file
// is closed. setup sees what is mounted there, and mounts what nobody else sees.
func (n *Network) Mounts(setup func() error) (file *os.File, err error) {
	err = onThread(func() (err error) {
		file, err = n.mounts(setup)
		return err
	})
	return file, err
}

func (n *Network) mounts(setup func() error) (*os.File, error) {
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/mnt", n.init))
	if err != nil {
		return nil, fmt.Errorf("open the network's mounts: %w", err)
	}
	defer namespace.Close()                     // it has been entered
	own, err := os.Open("/proc/thread-self/ns") // afterwards, /proc is that of other processes
	if err != nil {
		return nil, err
	}
	defer own.Close()
	// A thread that shares its root and working directory with others cannot have mounts of its own.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return nil, fmt.Errorf("leave the working directory of others: %w", err)
	}
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNS); err != nil {
		return nil, fmt.Errorf("enter the network's mounts: %w", err)
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return nil, fmt.Errorf("copy the network's mounts: %w", err)
	}
	if err := setup(); err != nil {
		return nil, err
	}
	fd, err := unix.Openat(int(own.Fd()), "mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("hold the mounts: %w", err)
	}
	return os.NewFile(uintptr(fd), "mounts"), nil
}
