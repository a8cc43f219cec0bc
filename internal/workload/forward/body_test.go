package forward

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/workload/headers"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

const posts = "POST http://example.com/ HTTP/1.1\r\nHost: example.com\r\n"

// ways to send three bytes of a body that goes on.
var begun = []string{"Content-Length: 10\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"}

// serving returns a proxy as it runs, in front of this one of a company.
func serving(t *testing.T, company string) (p *Proxy, address string) {
	t.Helper()
	url := "http://corp:p@" + company
	p = New(Options{Folder: folderOf(t, map[string]string{upstream.HTTPFile: url, upstream.HTTPSFile: url}), Log: slog.New(slog.DiscardHandler), Name: pseudonym})
	address, _, _ = serve(t, p, DefaultLimits, Drain{})
	return p, address
}

func dialed(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	return conn
}

// An answer that comes before the end of the body says that the connection ends: its client sends nothing more on it.
func TestAnEarlyAnswerEndsTheConnection(t *testing.T) {
	early := accepting(t, func(conn net.Conn) {
		request, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		_, _ = io.Copy(io.Discard, request.Body)
	})
	for company, status := range map[string]int{early: http.StatusOK, "127.0.0.1:1": http.StatusBadGateway} {
		for _, request := range begun {
			_, address := serving(t, company)
			conn := dialed(t, address)
			fmt.Fprint(conn, posts+request)
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("%d, %q: %v", status, request, err)
			}
			if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != status || !answer.Close {
				t.Errorf("%q: %s, close %v, %v", request, answer.Status, answer.Close, err)
			}
		}
	}
}

// Most bodies have come when a quick destination answers, and have not all been passed on yet.
func TestAnAnswerWaitsAMomentForALittleRest(t *testing.T) {
	for rest, want := range map[string]string{"abc": "", strings.Repeat("a", little+1): "close"} {
		request := httptest.NewRequest(http.MethodPost, "http://example.com/", strings.NewReader(rest))
		recorder := httptest.NewRecorder()
		sent := bodyOf(recorder, request)
		sent.moment, sent.interrupt = 20*time.Second, func(time.Time) error { return nil }
		if want == "" {
			go func() { _, _ = io.Copy(io.Discard, sent) }()
		}
		writerOf(recorder, request, sent).WriteHeader(http.StatusOK)
		if got := recorder.Header().Get("Connection"); got != want {
			t.Errorf("%d bytes: %q", len(rest), got)
		}
	}
}

func TestNoAnswerIsLostWhileTheProxyIsDown(t *testing.T) {
	_, address := serving(t, "127.0.0.1:1")
	var dials atomic.Int64
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: address}), DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		dials.Add(1)
		return new(net.Dialer).DialContext(ctx, network, address)
	}}}
	const requests = 50
	for range requests {
		answer, err := client.Post("http://example.com/", "a/b", strings.NewReader("abcde"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
	if dials.Load() == requests {
		t.Error("each request takes a connection of its own")
	}
}

// A client that reads when it has sent all is not reset before.
func TestARefusalOfAnUploadArrives(t *testing.T) {
	_, address := serving(t, accepting(t, func(conn net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		_, _ = io.WriteString(conn, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
		_, _ = io.Copy(io.Discard, conn)
	}))
	conn := dialed(t, address)
	fmt.Fprint(conn, posts+"Transfer-Encoding: chunked\r\n\r\n")
	for range 512 { // more than all buffers hold
		if _, err := io.WriteString(conn, "10000\r\n"+strings.Repeat("a", 64<<10)+"\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Fprint(conn, "0\r\n\r\n")
	if text, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 413") {
		t.Errorf("%q, %v", text, err)
	}
}

// Within a body that its destination does not read, and with a request behind it, nothing is read from a client: that it has gone is seen
// otherwise.
func TestAClientThatHasGoneHoldsNothing(t *testing.T) {
	for _, resets := range []bool{true, false} {
		goes(t, posts+begun[0], "", resets)
		goes(t, "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n", "\r\n", resets)
	}
}

// goes sends a request, something behind it once the destination is asked, and goes.
func goes(t *testing.T, request, behind string, resets bool) {
	t.Helper()
	reached, done := make(chan struct{}), make(chan struct{})
	defer close(done)
	settings := folderOf(t, map[string]string{upstream.HTTPFile: "", upstream.HTTPSFile: ""})
	p := New(Options{Folder: settings, Log: slog.New(slog.DiscardHandler), Name: pseudonym})
	p.direct = transport(func(r *http.Request) (*http.Response, error) { // it reads what a destination's window has room for
		if r.Body != nil {
			_, _ = io.ReadFull(r.Body, make([]byte, 3))
		}
		close(reached)
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-done:
			return nil, io.EOF
		}
	})
	p.Direct, p.watch = true, time.Millisecond
	p.SetPolicy(p.Policy)
	address, _, _ := serve(t, p, DefaultLimits, Drain{})
	conn := dialed(t, address)
	fmt.Fprint(conn, request)
	<-reached
	fmt.Fprint(conn, behind)
	if resets {
		_ = conn.(*net.TCPConn).SetLinger(0)
	}
	_ = conn.Close()
	for end := time.Now().Add(20 * time.Second); p.connections.count() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q: its connection still counts after 20 s (reset: %v)", request, resets)
		}
	}
}

// A client that pauses hears at once that there will be no answer, or no more of it.
func TestAClientThatPausesHearsOfTheEnd(t *testing.T) {
	const broken = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"
	for _, said := range []string{"", "nonsense\r\n\r\n", "HTTP/1.1 200 OK\r\n" + strings.Repeat("a:\r\n", headers.MaxFields+1), broken} {
		for _, request := range begun {
			_, address := serving(t, accepting(t, func(conn net.Conn) {
				_, _ = readHeader(conn)
				_, _ = io.WriteString(conn, said)
				if said != "" && said != broken {
					_, _ = io.Copy(io.Discard, conn)
				}
			}))
			conn := dialed(t, address)
			fmt.Fprint(conn, posts+request)
			text, err := io.ReadAll(conn)
			if want := map[bool]string{true: "HTTP/1.1 502", false: "HTTP/1.1 200"}[said != broken]; err != nil || !strings.HasPrefix(string(text), want) {
				t.Errorf("%q, %q: %q, %v", said, request, text, err)
			}
		}
	}
}

func TestABodyThatItsClientBreaksOffIsNoFailure(t *testing.T) {
	for _, request := range begun {
		var logged locked
		ended := make(chan struct{})
		url := "http://corp:p@" + accepting(t, func(conn net.Conn) {
			_, _ = io.Copy(io.Discard, conn)
			close(ended)
		})
		s := start(t, map[string]string{upstream.HTTPFile: url, upstream.HTTPSFile: url}, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&logged, nil)) })
		conn := dialed(t, s.Listener.Addr().String())
		fmt.Fprint(conn, posts+request)
		_ = conn.(*net.TCPConn).CloseWrite()
		if text, _ := io.ReadAll(conn); !bytes.HasPrefix(text, []byte("HTTP/1.1 502")) {
			t.Errorf("%q: %q", request, text)
		}
		<-ended
		if s.observed() != "" || logged.String() != "" {
			t.Errorf("%q: %s, %s", request, s.observed(), logged.String())
		}
	}
}

// HTTP/1.0 has no interim answers (RFC 9110, section 15.2). To a client that awaits 100 (Continue), net/http writes its own meanwhile.
func TestInterimAnswersAreForThoseWhoReadThem(t *testing.T) {
	const hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
	company := answering(t, hints+"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	for request, want := range map[string]string{
		"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n": "HTTP/1.1 103",
		"GET http://example.com/ HTTP/1.0\r\n\r\n":                                           "HTTP/1.0 200",
		posts + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n":                          "HTTP/1.1 100",
	} {
		_, address := serving(t, company)
		conn := dialed(t, address)
		fmt.Fprint(conn, request)
		if text, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(text), want) || !strings.HasSuffix(string(text), "ok") {
			t.Errorf("%q: %q, %v", request, text, err)
		}
	}
}
