package forward

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/workload/headers"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// talking dials a relay whose company's proxy is this function.
func talking(t *testing.T, company func(net.Conn)) net.Conn {
	t.Helper()
	url := "http://corp:p4ssw0rd@" + accepting(t, company)
	s := start(t, map[string]string{upstream.HTTPFile: url, upstream.HTTPSFile: url}, nil)
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return conn
}

// The next hop of an Upgrade is the company's proxy. In another protocol, a client would speak to it past every check.
func TestNoOtherProtocolIsSpokenToTheProxy(t *testing.T) {
	for protocol, want := range map[string]int{"h2c": http.StatusBadGateway, "TLS/1.0": http.StatusBadGateway, "websocket": http.StatusSwitchingProtocols, "WebSocket": http.StatusSwitchingProtocols} {
		conn := talking(t, func(conn net.Conn) {
			request, err := http.ReadRequest(bufio.NewReader(conn))
			if err != nil {
				return
			}
			if request.Header.Get("Http2-Settings") != "" {
				t.Error("its settings are sent")
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+protocol+"\r\n\r\n")
		})
		fmt.Fprintf(conn, "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: %s\r\nHTTP2-Settings: AAMA\r\n\r\n", protocol)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || answer.StatusCode != want {
			t.Errorf("%s: %v, %v", protocol, answer, err)
		}
	}
}

// What is sent right behind a CONNECT is for the tunnel. If there is none, it is no request.
func TestWhatFollowsARefusedCONNECTIsNoRequest(t *testing.T) {
	conn := talking(t, func(net.Conn) { t.Error("the proxy is asked") })
	fmt.Fprint(conn, "CONNECT 127.0.0.1:443 HTTP/1.1\r\nHost: a\r\n\r\nGET http://127.0.0.1/ HTTP/1.1\r\nHost: a\r\n\r\n")
	all, _ := io.ReadAll(conn)
	if n := strings.Count(string(all), "HTTP/1.1 "); n != 1 {
		t.Errorf("%d answers: %s", n, all)
	}
}

// RFC 9112, section 6.1, also where something came before the answer.
func TestWhoSendsALengthAndACodingAsksOnce(t *testing.T) {
	for _, interim := range []string{"", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"} {
		conn := talking(t, func(conn net.Conn) {
			for reader := bufio.NewReader(conn); ; {
				request, err := http.ReadRequest(reader)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, request.Body)
				_, _ = io.WriteString(conn, interim+"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			}
		})
		one := "POST http://example.com/ HTTP/1.1\r\nHost: example.com\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
		_, _ = io.WriteString(conn, one+one)
		all, _ := io.ReadAll(conn)
		if strings.Count(string(all), "200 OK") != 1 || !strings.Contains(string(all), "Connection: close") {
			t.Errorf("interim %q: %s", interim, all)
		}
	}
}

// A client that asks first sends no body before the proxy has said that it may come.
func TestABodyComesWhenTheProxySaysSo(t *testing.T) {
	for answer, want := range map[string]string{
		"HTTP/1.1 417 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n": "HTTP/1.1 417 Expectation Failed\r\n",
		"HTTP/1.1 100 Continue\r\n\r\n":                                     "HTTP/1.1 100 Continue\r\n",
	} {
		conn := talking(t, func(conn net.Conn) {
			if _, err := readHeader(conn); err == nil {
				_, _ = io.WriteString(conn, answer)
				_, _ = io.Copy(io.Discard, conn)
			}
		})
		fmt.Fprint(conn, "POST http://example.com/ HTTP/1.1\r\nHost: example.com\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
		if line, err := bufio.NewReader(conn).ReadString('\n'); line != want {
			t.Errorf("%q, %v; want %q", line, err, want)
		}
	}
}

func TestTrailersOfARequestArrive(t *testing.T) {
	got := make(chan http.Header, 1)
	far := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		got <- r.Trailer
	}))
	defer far.Close()
	s := start(t, map[string]string{upstream.HTTPFile: far.URL, upstream.HTTPSFile: far.URL}, nil)
	_, _, _ = raw(t, s.Listener.Addr().String(), "POST http://example.com/ HTTP/1.1\r\nHost: example.com\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n")
	if trailer := <-got; trailer.Get("X-Sum") != "1" {
		t.Error(trailer)
	}
}

func TestTheProxyGetsTheSpellingThatWasDecidedAbout(t *testing.T) {
	var asked atomic.Value
	far := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked.Store(r.RequestURI + " " + r.Host) }))
	defer far.Close()
	s := start(t, map[string]string{upstream.HTTPFile: far.URL, upstream.HTTPSFile: far.URL}, nil)
	for host, want := range map[string]string{"EXAMPLE.com.": "example.com", "example.com:00080": "example.com", "example.com:80": "example.com", "example.com:8080": "example.com:8080"} {
		_, _, _ = raw(t, s.Listener.Addr().String(), "GET http://"+host+"/x HTTP/1.1\r\nHost: x\r\n\r\n")
		if got := asked.Load(); got != "http://"+want+"/x "+want {
			t.Errorf("%s: %q", host, got)
		}
	}
}

// One client that asks many destinations directly leaves few connections behind.
func TestIdleConnectionsToDestinationsAreFew(t *testing.T) {
	p := newProxy(t)
	var open atomic.Int64
	destination := func() string {
		return accepting(t, func(conn net.Conn) {
			open.Add(1)
			defer open.Add(-1)
			for reader := bufio.NewReader(conn); ; {
				if _, err := http.ReadRequest(reader); err != nil {
					return
				}
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			}
		})
	}
	direct := p.direct.(headers.Transport)
	defer direct.CloseIdleConnections()
	direct.DialContext = func(ctx context.Context, _, address string) (net.Conn, error) { // 127.0.0.1 is nobody's destination
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	for range maxIdle + 20 {
		address := destination()
		settings, _ := p.Folder.Read()
		is := carried{settings: settings}
		is.decision.Direct, is.decision.Dial = true, address
		request := httptest.NewRequest(http.MethodGet, "http://"+address+"/", nil)
		p.plain.ServeHTTP(httptest.NewRecorder(), request.WithContext(context.WithValue(t.Context(), key{}, is)))
	}
	for open.Load() > maxIdle { // one that is closed is closed by and by
		time.Sleep(time.Millisecond)
	}
}

// An interim answer must not take away that the connection ends, if the last one never comes.
func TestWhoSendsALengthAndACodingAsksOnceWhereTheAnswerFails(t *testing.T) {
	conn := talking(t, func(conn net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		_, _ = io.WriteString(conn, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nno HTTP\r\n\r\n")
	})
	one := "POST http://example.com/ HTTP/1.1\r\nHost: example.com\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
	_, _ = io.WriteString(conn, one+one)
	all, err := io.ReadAll(conn)
	if n := strings.Count(string(all), "HTTP/1.1 502 "); n != 1 || err != nil {
		t.Errorf("%d answers, %v: %s", n, err, all)
	}
}
