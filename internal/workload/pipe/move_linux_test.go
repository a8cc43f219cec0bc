package pipe

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// connected returns the two ends of a TCP connection.
func connected(t *testing.T) (near, far *net.TCPConn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // of a test
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = conn.Close(), other.Close() })
	return conn.(*net.TCPConn), other.(*net.TCPConn)
}

// read returns how many bytes this process has had copied to it (proc(5), rchar).
func read(t *testing.T) (bytes int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err == nil {
		_, err = fmt.Sscanf(string(text), "rchar: %d", &bytes)
	}
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// This process is the client, the tunnel and the destination: what the destination reads is all that it reads.
func TestTheKernelMovesWhatATunnelCarries(t *testing.T) {
	const size = 64 << 20
	client, near := connected(t)
	far, destination := connected(t)
	done := make(chan Traffic, 1)
	go func() {
		done <- Both(t.Context(), End{Name: "client", Conn: near}, End{Name: "destination", Conn: far}, time.Minute)
	}()
	go func() {
		_, _ = client.Write(make([]byte, size))
		_ = client.CloseWrite()
	}()
	before, buffer := read(t), make([]byte, 256<<10)
	received := 0
	for {
		n, err := destination.Read(buffer)
		received += n
		if err == io.EOF { //nolint:errorlint // as net says it
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_ = destination.Close()
	traffic := <-done
	if copied := read(t) - before - received; received != size || traffic.FromFirst != size || copied > size/10 {
		t.Errorf("%d of %d bytes came, %+v; the tunnel has copied %d", received, size, traffic, copied)
	}
}

// Urgent data (Oracle, telnet) is no end. Its byte itself is lost, as with every program that asks for none.
func TestUrgentDataDoesNotEndATunnel(t *testing.T) {
	client, near := connected(t)
	far, destination := connected(t)
	go Both(t.Context(), End{Name: "client", Conn: near}, End{Name: "destination", Conn: far}, time.Minute)
	raw, err := client.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = client.Write(make([]byte, 8<<10))
	_ = raw.Write(func(fd uintptr) bool { return unix.Sendto(int(fd), []byte("!"), unix.MSG_OOB, nil) == nil })
	_, _ = client.Write(make([]byte, 8<<10))
	_ = destination.SetDeadline(time.Now().Add(time.Minute))
	if n, err := io.ReadFull(destination, make([]byte, 16<<10)); err != nil {
		t.Errorf("%d bytes came: %v", n, err)
	}
}

// descriptorsOfPipes returns the pipes that this process holds open.
func descriptorsOfPipes(t *testing.T) (n int) {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range open {
		if to, err := os.Readlink("/proc/self/fd/" + each.Name()); err == nil && strings.HasPrefix(to, "pipe:") {
			n++
		}
	}
	return n
}

// Whoever does not read leaves a pipe of splice full.
func TestTunnelsThatNobodyReadsLeaveDescriptorsToOthers(t *testing.T) {
	const left = 2
	for range cap(pipes) - left {
		pipes <- struct{}{}
		t.Cleanup(func() { <-pipes })
	}
	before := descriptorsOfPipes(t)
	for range 5 {
		client, near := connected(t)
		far, destination := connected(t)
		go Both(t.Context(), End{Name: "client", Conn: near}, End{Name: "destination", Conn: far}, time.Minute)
		var full sync.WaitGroup
		for _, side := range []*net.TCPConn{client, destination} {
			full.Go(func() {
				for err := error(nil); err == nil; {
					_ = side.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)) // it is full
					_, err = side.Write(make([]byte, 256<<10))
				}
			})
		}
		full.Wait()
	}
	if n := descriptorsOfPipes(t) - before; n > 2*left {
		t.Errorf("%d descriptors of pipes", n)
	}
	client, near := connected(t)
	far, destination := connected(t)
	go Both(t.Context(), End{Name: "client", Conn: near}, End{Name: "destination", Conn: far}, time.Minute)
	const size = 8 << 20
	go func() { _, _ = client.Write(make([]byte, size)) }()
	_ = destination.SetDeadline(time.Now().Add(time.Minute))
	if n, err := io.ReadFull(destination, make([]byte, size)); err != nil {
		t.Errorf("%d bytes came: %v", n, err)
	}
}
