package forward

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// serve starts a server; end tells it to end, and done has its error.
func serve(t *testing.T, p *Proxy, limits Limits, drain Drain) (address string, end func(), done chan error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done = make(chan error, 1)
	go func() { done <- p.Serve(ctx, []net.Listener{listener}, limits, drain) }()
	t.Cleanup(cancel)
	return listener.Addr().String(), cancel, done
}

func tunnel(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.WriteString(conn, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n")
	answer := make([]byte, len("HTTP/1.1 200 Connection established\r\n\r\n"))
	if _, err := io.ReadFull(conn, answer); err != nil {
		t.Fatalf("%q: %v", answer, err)
	}
	return conn
}

func echoServer(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn); _ = conn.Close() }()
		}
	}()
	return listener.Addr().String()
}

func newProxy(t *testing.T) *Proxy {
	t.Helper()
	c := newCompany(t, echoServer(t), "p")
	s := start(t, map[string]string{upstream.HTTPSFile: c.url("p")}, nil)
	return s.Config.Handler.(*Proxy)
}

func TestATunnelGoesOnWhileTheServerDrainsAndNewOnesAreTakenUntilItsDelayIsOver(t *testing.T) {
	address, end, done := serve(t, newProxy(t), DefaultLimits, Drain{Delay: 300 * time.Millisecond, Grace: 20 * time.Second})
	first := tunnel(t, address)
	end()
	second := tunnel(t, address)
	for _, conn := range []net.Conn{first, second} {
		said := make([]byte, 5)
		_, _ = io.WriteString(conn, "hello")
		if _, err := io.ReadFull(conn, said); err != nil || string(said) != "hello" {
			t.Errorf("%q (%v)", said, err)
		}
	}
	select {
	case err := <-done:
		t.Fatalf("it ended with open tunnels: %v", err)
	default:
	}
	_, _ = first.Close(), second.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", address); err == nil {
		t.Error("it still listens")
	}
}

func TestTunnelsThatGoOnForEverEndWithTheGraceTime(t *testing.T) {
	address, end, done := serve(t, newProxy(t), DefaultLimits, Drain{Grace: 50 * time.Millisecond})
	tunnel(t, address)
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestASourceHasSoManyConnectionsAndGetsThemBack(t *testing.T) {
	p := newProxy(t)
	address, _, _ := serve(t, p, Limits{Connections: 10, PerSource: 2}, Drain{})
	one, two := tunnel(t, address), tunnel(t, address)
	third, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer third.Close() //nolint:errcheck // it is closed already
	_ = third.SetDeadline(time.Now().Add(20 * time.Second))
	if n, err := third.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Error("a third connection is served")
	}
	_ = one.Close()
	for p.connections.count() > 1 {
		time.Sleep(time.Millisecond)
	}
	tunnel(t, address)
	_ = two
}
