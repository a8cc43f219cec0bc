package pipe

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Gone reports whether the other side has ended a connection, or reset it, without reading from it.
func Gone(conn net.Conn) bool {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		asked := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		_, _ = unix.Poll(asked, 0)
		gone = asked[0].Revents != 0
	})
	return gone || err != nil
}
