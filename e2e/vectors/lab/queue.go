package lab

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// everybody are the wildcard addresses; the IPv6 one is for IPv6 only.
func everybody(port int) map[int]unix.Sockaddr {
	return map[int]unix.Sockaddr{
		unix.AF_INET:  &unix.SockaddrInet4{Port: port},
		unix.AF_INET6: &unix.SockaddrInet6{Port: port},
	}
}

// listener is a listening socket. The queue of a listener of package net cannot be
// read while it accepts under a lock of ours.
type listener struct {
	file *os.File // keeps the socket open
	syscall.RawConn
}

func listen(family int, address unix.Sockaddr) (*listener, error) {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket: %w", err)
	}
	file := os.NewFile(uintptr(fd), "listener")
	if family == unix.AF_INET6 {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1)
	}
	if err == nil {
		err = unix.Bind(fd, address)
	}
	if err == nil {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("listen as everybody: %w", err)
	}
	raw, err := file.SyscallConn()
	return &listener{file, raw}, err
}

// take accepts a connection. Under the lock it goes from the queue of the listener
// into the count of those that have not been heard, so that it is always in one.
func (l *Lab) take(from *listener) (net.Conn, error) {
	var fd int
	var acceptErr error
	err := from.Read(func(listening uintptr) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		fd, _, acceptErr = unix.Accept4(int(listening), unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		if acceptErr == nil {
			l.sniffing++
		}
		return !errors.Is(acceptErr, unix.EAGAIN)
	})
	if err := errors.Join(err, acceptErr); err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "connection")
	defer file.Close() // FileConn makes one of its own
	return net.FileConn(file)
}

// queued reports whether there are connections that nobody has accepted yet.
// Of a socket that listens, the kernel shows their number in place of the
// unacknowledged segments (tcp_get_info in Linux). /proc/net/tcp shows it too, but
// to read that takes milliseconds where there is much memory.
func (l *listener) queued() bool {
	var waiting uint32
	_ = l.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			waiting = info.Unacked
		}
	})
	return waiting > 0
}
