//go:build unix && !linux

package process

import "syscall"

func groupAlive(group int) bool { return syscall.Kill(-group, 0) == nil }
