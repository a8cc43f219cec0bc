//go:build unix && !linux

package process

import "syscall"

// attributes: elsewhere there is no parent-death signal. A test that is killed leaves its programs.
func attributes(detached bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: !detached, Setsid: detached}
}
