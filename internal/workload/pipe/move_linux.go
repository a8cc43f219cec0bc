package pipe

import (
	"errors"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// move copies until from ends. Between two TCP connections the kernel moves the bytes (splice), and an idle tunnel holds no
// pipe for it: io.Copy would take one with two file descriptors and keep it while it waits.
func move(to, from net.Conn) (int64, error) {
	source, plain := from.(*net.TCPConn)
	target, both := to.(*net.TCPConn)
	if !plain || !both {
		return io.Copy(to, from)
	}
	raw, err := source.SyscallConn()
	if err != nil {
		return 0, err
	}
	var total int64
	for {
		waiting, err := await(raw)
		if err != nil || waiting == 0 {
			return total, err
		}
		moved, err := io.CopyN(target, source, int64(waiting))
		total += moved
		if err != nil {
			return total, err
		}
	}
}

// await waits until there is something to read, and returns how many bytes; 0 at the end.
func await(raw syscall.RawConn) (waiting int, err error) {
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		var peeked [1]byte
		n, _, err := unix.Recvfrom(int(fd), peeked[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return false
		case err != nil || n == 0:
			failed = err
		default:
			waiting, failed = unix.IoctlGetInt(int(fd), unix.SIOCINQ)
		}
		return true
	})
	return waiting, errors.Join(err, failed)
}
