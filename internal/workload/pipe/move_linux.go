package pipe

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// small is the size below which a piece is copied: the pipe of splice would cost more than it saves.
const small = 4 << 10 // bytes

// most bytes are moved at once, as many as the pipe of splice holds: they are counted afterwards.
const most = 1 << 20 // bytes

// pipes are the pipes that splice may hold at once, of two file descriptors each. Where a side does not read, it holds one for as long as
// that lasts; then what others carry is copied.
var pipes = make(chan struct{}, 500)

var buffers = sync.Pool{New: func() any { return new([small]byte) }}

// move copies until from ends. Between two TCP connections the kernel moves the bytes (splice), but for small pieces. An idle
// tunnel holds neither a pipe with its two file descriptors, nor a buffer: io.Copy would, while it waits.
func move(to counted, from net.Conn) error {
	source, fromTCP := from.(*net.TCPConn)
	target, toTCP := to.Conn.(*net.TCPConn)
	if !fromTCP || !toTCP {
		_, err := io.Copy(to, from)
		return err
	}
	raw, err := source.SyscallConn()
	if err != nil {
		return err
	}
	for {
		moved, err := copyPiece(to, raw)
		if err != nil || moved == 0 {
			return err
		}
		for moved >= small { // there may be more
			waiting, err := await(raw)
			if err != nil {
				return err
			}
			if waiting == 0 { // the end, or urgent data, which only a read gets over
				break
			}
			select {
			case pipes <- struct{}{}:
				moved, err = io.CopyN(target, source, int64(min(waiting, most)))
				<-pipes
				to.bytes.Add(moved)
			default:
				moved, err = copyPiece(to, raw)
			}
			if err != nil {
				return err
			}
		}
	}
}

// copyPiece waits until there is something to read, and copies it, up to a small piece; 0 at the end.
func copyPiece(to io.Writer, from syscall.RawConn) (int64, error) {
	var piece *[small]byte
	n, err := receive(from, func(fd int) (n int, err error) {
		piece = buffers.Get().(*[small]byte)
		if n, err = unix.Read(fd, piece[:]); err != nil {
			buffers.Put(piece)
			piece = nil
		}
		return n, err
	})
	if piece == nil {
		return 0, err
	}
	defer buffers.Put(piece)
	if n > 0 {
		n, err = to.Write(piece[:n])
	}
	return int64(n), err
}

// await waits until there is something to read, and returns how many bytes; 0 at the end, and before urgent data.
func await(from syscall.RawConn) (waiting int, err error) {
	return receive(from, func(fd int) (int, error) {
		var peeked [1]byte
		if n, _, err := unix.Recvfrom(fd, peeked[:], unix.MSG_PEEK|unix.MSG_DONTWAIT); err != nil || n == 0 {
			return n, err
		}
		return unix.IoctlGetInt(fd, unix.SIOCINQ)
	})
}

// receive calls the function until it does not say that there is nothing yet.
func receive(from syscall.RawConn, call func(fd int) (int, error)) (n int, err error) {
	var failed error
	err = from.Read(func(fd uintptr) bool {
		n, failed = call(int(fd))
		return !errors.Is(failed, unix.EAGAIN)
	})
	return n, errors.Join(err, failed)
}

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
