package lab

import (
	"net"

	"golang.org/x/sys/unix"
)

// queued reports whether a listener has connections that nobody has accepted yet.
// Of a socket that listens, the kernel shows their number in place of the
// unacknowledged segments (tcp_get_info in Linux). /proc/net/tcp shows it too, but
// to read that takes milliseconds where there is much memory.
func queued(listener *net.TCPListener) bool {
	raw, err := listener.SyscallConn()
	if err != nil {
		return false
	}
	var waiting uint32
	_ = raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			waiting = info.Unacked
		}
	})
	return waiting > 0
}
