package process

import "syscall"

// attributes puts a program into a process group of its own, so that Stop reaches its children and
// Ctrl-C in a terminal does not reach it before the test can clean up.
func attributes(detached bool) *syscall.SysProcAttr {
	if detached {
		return &syscall.SysProcAttr{Setsid: true} // a session is a group too, and has no terminal
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL} // see fork
}
