package forward

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/workload/headers"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// counting is a listener that knows how many bytes its connections have read.
type counting struct {
	net.Listener
	read atomic.Int64
}

func (l *counting) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &countingConn{conn.(*net.TCPConn), l}, nil
}

type countingConn struct {
	*net.TCPConn
	of *counting
}

func (c *countingConn) Read(into []byte) (int, error) {
	n, err := c.TCPConn.Read(into)
	c.of.read.Add(int64(n))
	return n, err
}

// full returns a header with as many fields and bytes as there may be, behind these lines.
func full(lines string) string {
	size := (headers.MaxBytes - len(lines) - 1024) / (headers.MaxFields - 10)
	var text strings.Builder
	text.WriteString(lines)
	for i := range headers.MaxFields - 10 {
		fmt.Fprintf(&text, "X-%d: %s\r\n", i, strings.Repeat("a", size-10))
	}
	return text.String()
}

// A relay has so much memory for each connection that it takes, whatever its client and its destination do. Else they end it,
// and with it all tunnels.
func TestNoConnectionTakesMoreThanItsShare(t *testing.T) {
	const get, connect = "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n", "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n"
	silent := func(conn net.Conn) {
		for piece := make([]byte, 256); ; { // io.Copy would take more, which is not the relay's
			if _, err := conn.Read(piece); err != nil {
				return
			}
		}
	}
	answers := func(text string) func(net.Conn) {
		return func(conn net.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
				return
			}
			_, _ = io.WriteString(conn, text)
			silent(conn)
		}
	}
	again := func(conn net.Conn) {
		for reader := bufio.NewReader(conn); ; {
			if _, err := http.ReadRequest(reader); err != nil {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	}
	for name, one := range map[string]struct {
		company func(net.Conn)
		request string
		answer  string // that the client reads, or as far as it reads it
	}{
		"nothing is said":                      {silent, "", ""},
		"a header goes on":                     {silent, full(get), ""},
		"tiny fields go on":                    {silent, get + strings.Repeat("a:\r\n", headers.MaxFields-1), ""},
		"a tunnel awaits its answer":           {silent, full(connect) + "\r\n", ""},
		"a request awaits its answer":          {silent, full(get) + "\r\n", ""},
		"a body goes on":                       {silent, full("POST http://example.com/ HTTP/1.1\r\nHost: example.com\r\nContent-Length: 1000000000\r\n") + "\r\n" + strings.Repeat("a", 1<<10), ""},
		"an answer's header goes on":           {answers(full("HTTP/1.1 200 OK\r\n")), full(get) + "\r\n", ""},
		"an answer's body goes on":             {answers(full("HTTP/1.1 200 OK\r\n") + "\r\nabc"), full(get) + "\r\n", "HTTP/1.1 200 OK\r\n"},
		"both bodies go on":                    {answers(full("HTTP/1.1 200 OK\r\n") + "\r\nabc"), full("POST http://example.com/ HTTP/1.1\r\nHost: example.com\r\nContent-Length: 1000000000\r\n") + "\r\n" + strings.Repeat("a", 1<<10), "HTTP/1.1 200 OK\r\n"},
		"a tunnel is open":                     {answers(full("HTTP/1.1 200 OK\r\n") + "\r\n"), full(connect) + "\r\n", "HTTP/1.1 200 Connection established\r\n\r\n"},
		"a WebSocket is open":                  {answers(full("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n") + "\r\n"), full(get+"Connection: Upgrade\r\nUpgrade: websocket\r\n") + "\r\nearly", "HTTP/1.1 101 Switching Protocols\r\n"},
		"a connection that is kept for a next": {again, full(get) + "\r\n", "HTTP/1.1 200 OK\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			company := accepting(t, func(conn net.Conn) {
				if asked.Add(1) == 1 { // or else one request alone finds out about the credential
					answers("HTTP/1.1 200 OK\r\n\r\n")(conn)
					return
				}
				one.company(conn)
			})
			url := "http://corp:p@" + company
			p := New(Options{Folder: folderOf(t, map[string]string{upstream.HTTPFile: url, upstream.HTTPSFile: url}), Log: slog.New(slog.DiscardHandler), Name: pseudonym})
			below, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			listener := &counting{Listener: below}
			go func() {
				_ = p.Serve(t.Context(), []net.Listener{listener}, Limits{1 << 20, 1 << 20, time.Hour}, Drain{})
			}()
			_ = tunnel(t, listener.Addr().String()).Close()
			for p.connections.count() > 0 {
				time.Sleep(time.Millisecond)
			}
			listener.read.Store(0)
			before := held()
			const n = 100
			for range n {
				conn, err := net.Dial("tcp", listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close() //nolint:errcheck // all of them, at the end
				_, _ = io.WriteString(conn, one.request)
				if one.answer != "" {
					if _, err := io.ReadFull(conn, make([]byte, len(one.answer))); err != nil {
						t.Fatal(err)
					}
				}
			}
			for listener.read.Load() < int64(n*len(one.request)) || p.connections.count() < n {
				time.Sleep(time.Millisecond)
			}
			if each := (held() - before) / n; each > perConnection {
				t.Errorf("%d KiB each, and %d are counted with", each>>10, perConnection>>10)
			}
		})
	}
}

// held returns what lives in this process: of clients and of the company's proxy, too, which are a few buffers each.
func held() int {
	var now runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&now)
	return int(now.HeapAlloc + now.StackInuse)
}

func TestOneAddressHasTheSameShareOfFewerConnections(t *testing.T) {
	for connections, want := range map[int]int{9000: 2000, 4500: 1000, 9: 2, 1: 1} {
		if got := DefaultLimits.within(connections); got.Connections != connections || got.PerSource != want {
			t.Errorf("of %d: %+v", connections, got)
		}
	}
}

// What the chart gives the relay is enough for a node: 110 pods, and many connections of each.
func TestTheChartsLimitHasRoomForThousands(t *testing.T) {
	text, err := os.ReadFile("../../../charts/fairlead-policies/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values struct {
		Relay struct {
			Resources struct{ Limits map[string]resource.Quantity }
		}
	}
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	memory := values.Relay.Resources.Limits["memory"]
	if got := DefaultLimits.in(uint64(memory.Value())); got.Connections != 3072 {
		t.Errorf("with %s: %+v", &memory, got)
	}
	if got := DefaultLimits.in(256 << 20); got.Connections != 1024 {
		t.Errorf("with 256Mi: %+v", got)
	}
}

func TestAHeaderOfTooManyFieldsIsRefused(t *testing.T) {
	p := newProxy(t)
	address, _, _ := serve(t, p, DefaultLimits, Drain{})
	fields := strings.Repeat("a:\r\n", headers.MaxFields+1)
	for _, request := range []string{
		"CONNECT example.com:443 HTTP/1.1\r\n" + fields + "\r\n",
		"GET http://example.com/ HTTP/1.1\r\n" + fields, // without end
	} {
		if status, _, _ := raw(t, address, request); status != http.StatusBadRequest {
			t.Errorf("%.7s: %d", request, status)
		}
	}
	// The next request of a connection, too.
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // of a test
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n"+fields)
	if _, err := io.Copy(io.Discard, reader); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Error(err)
	}
}

func TestAnAnswerOfTooManyFieldsIsABadGateway(t *testing.T) {
	url := "http://corp:p@" + answering(t, "HTTP/1.1 200 OK\r\n"+strings.Repeat("a:\r\n", headers.MaxFields+1)+"\r\n")
	s := start(t, map[string]string{upstream.HTTPFile: url, upstream.HTTPSFile: url}, nil)
	if status, _, _ := raw(t, s.Listener.Addr().String(), "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n"); status != http.StatusBadGateway {
		t.Error(status)
	}
}

// A request may be in the server's buffer before anybody counts.
func TestPipelinedFieldsAreCounted(t *testing.T) {
	address, _, _ := serve(t, newProxy(t), DefaultLimits, Drain{})
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // of a test
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET http://127.0.0.1/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"+strings.Repeat("a:\r\n", 2*headers.MaxFields)+"\r\n")
	if all, err := io.ReadAll(conn); err != nil || !strings.Contains(string(all), headers.ErrTooMany.Error()) {
		t.Errorf("%.400q, %v", all, err)
	}
}
