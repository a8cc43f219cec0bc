package forward

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
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
	conn := dialed(t, address)
	_, _ = io.WriteString(conn, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n")
	answer := make([]byte, len("HTTP/1.1 200 Connection established\r\n\r\n"))
	if _, err := io.ReadFull(conn, answer); err != nil {
		t.Fatalf("%q: %v", answer, err)
	}
	return conn
}

// accepting has a function for each connection, which it ends.
func accepting(t testing.TB, serve func(net.Conn)) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			go func() {
				defer conn.Close() //nolint:errcheck // of a test
				serve(conn)
			}()
		}
	}()
	return listener.Addr().String()
}

func echoServer(t *testing.T) string {
	t.Helper()
	return accepting(t, func(conn net.Conn) { _, _ = io.Copy(conn, conn) })
}

func newProxy(t *testing.T) *Proxy {
	t.Helper()
	c := newCompany(t, echoServer(t), "p")
	s := start(t, map[string]string{upstream.HTTPSFile: c.url("p")}, nil)
	return s.Config.Handler.(*Proxy)
}

func checkEcho(t *testing.T, conn net.Conn) {
	t.Helper()
	said := make([]byte, 5)
	_, _ = io.WriteString(conn, "hello")
	if _, err := io.ReadFull(conn, said); err != nil || string(said) != "hello" {
		t.Errorf("%q (%v)", said, err)
	}
}

func TestNewTunnelsAreTakenUntilTheDelayIsOver(t *testing.T) {
	address, end, _ := serve(t, newProxy(t), DefaultLimits, Drain{Delay: time.Hour})
	end()
	for range 20 {
		checkEcho(t, tunnel(t, address))
	}
}

func TestTunnelsGoOnWhileTheServerDrains(t *testing.T) {
	address, end, done := serve(t, newProxy(t), DefaultLimits, Drain{Delay: time.Millisecond, Grace: time.Minute})
	conn := tunnel(t, address)
	end()
	for refused := false; !refused; {
		late, err := net.Dial("tcp", address)
		if refused = err != nil; !refused {
			_ = late.Close()
		}
	}
	checkEcho(t, conn)
	select {
	case err := <-done:
		t.Fatalf("it ended with open tunnels: %v", err)
	default:
	}
	_ = conn.Close()
	if err := <-done; err != nil {
		t.Error(err)
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

func TestThereAreSoManyConnectionsAndTheyComeBack(t *testing.T) {
	p := newProxy(t)
	address, _, _ := serve(t, p, Limits{Connections: 2, PerSource: 1}, Drain{}) // one machine has one address for all: 127.0.0.1
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

// from is a connection of a pod.
type connFrom struct {
	net.Conn
	address string
}

func (f *connFrom) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(f.address))
}

func TestASourceHasSoManyConnections(t *testing.T) {
	var c connections
	limits := Limits{Connections: 10, PerSource: 2}
	for i, want := range []bool{true, true, false} {
		if got := c.add(&connFrom{address: "[::ffff:10.0.0.1]:" + strconv.Itoa(1000+i)}, limits); got != want {
			t.Errorf("%d of one pod: %v", i, got)
		}
	}
	if !c.add(&connFrom{address: "10.0.0.2:1"}, limits) || c.refused != 1 || c.count() != 3 {
		t.Errorf("another pod: %d refused, %d open", c.refused, c.count())
	}
}

// A client that says Upgrade and is not upgraded is still counted.
func TestWhoIsNotUpgradedIsCounted(t *testing.T) {
	far := httptest.NewServer(hello())
	defer far.Close()
	c := newCompany(t, far.Listener.Addr().String(), "p")
	p := newProxy(t)
	p.Folder = folderOf(t, map[string]string{upstream.HTTPFile: c.url("p"), upstream.HTTPSFile: c.url("p")})
	address, _, _ := serve(t, p, DefaultLimits, Drain{})
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // of a test
	fmt.Fprint(conn, "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != http.StatusOK || p.connections.count() != 1 {
		t.Errorf("%v, %v, %d connections", answer, err, p.connections.count())
	}
}
