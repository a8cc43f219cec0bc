package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// attributes puts a program into a process group of its own, so that Stop reaches its children and
// Ctrl-C in a terminal does not reach it before the test can clean up.
func attributes(detached bool) *syscall.SysProcAttr {
	if detached {
		return &syscall.SysProcAttr{Setsid: true} // a session is a group too, and has no terminal
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL} // see fork
}

// groupAlive tells whether anybody in the process group still runs. The kernel's own answer is not
// enough: it counts zombies, and where nobody reaps orphans those stay.
func groupAlive(group int) bool {
	if syscall.Kill(-group, 0) != nil {
		return false
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return false
	}
	for _, file := range stats {
		content, err := os.ReadFile(file)
		if err != nil {
			continue // has just ended
		}
		// "pid (name) state parent group …", and the name may have anything in it.
		fields := bytes.Fields(content[bytes.LastIndexByte(content, ')')+1:])
		if len(fields) > 2 && string(fields[2]) == strconv.Itoa(group) && !bytes.ContainsAny(fields[0], "ZX") {
			return true
		}
	}
	return false
}
