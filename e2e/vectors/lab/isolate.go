package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Isolate makes a command start in namespaces of its own: of the network, of
// mounts and of processes. When it ends, and be it by SIGKILL, the kernel ends
// everything that it started and takes the network and the mounts away. Who is
// not root becomes so in a user namespace.
func Isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		Setpgid:    true, // Ctrl-C is for who started it
	}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
}

// routeEverythingHere makes every address local.
func routeEverythingHere() error {
	for _, name := range []string{"all", "lo"} { // some containers start without IPv6; if it stays off, listening fails
		_ = os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/disable_ipv6", []byte("0"), 0)
	}
	for _, command := range []string{
		"link set lo up",
		"route add local 0.0.0.0/0 dev lo",
		"-6 route add local ::/0 dev lo",
	} {
		if out, err := exec.Command("ip", strings.Fields(command)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", command, err, out)
		}
	}
	return nil
}

// nameService makes the C library ask the lab's name server, and starts it.
func nameService(dir string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts to ourselves: %w", err)
	}
	for name, content := range map[string]string{
		"/etc/resolv.conf":   "nameserver 127.0.0.1\noptions timeout:5 attempts:2\n",
		"/etc/hosts":         "127.0.0.1 localhost\n::1 localhost\n",
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
	} {
		file := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			return err
		}
		if err := syscall.Mount(file, name, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("put another %s in place: %w", name, err)
		}
	}
	return serveNames("127.0.0.1:53")
}
