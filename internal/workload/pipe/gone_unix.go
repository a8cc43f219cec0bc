//go:build unix

package pipe

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Gone reports whether a connection has ended on both sides, or was reset, without reading from it.
func Gone(conn net.Conn) bool {
	socket, is := conn.(syscall.Conn)
	if !is {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		asked := []unix.PollFd{{Fd: int32(fd)}}
		_, _ = unix.Poll(asked, 0)
		gone = asked[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
	})
	return gone || err != nil
}
