package forward

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// What no client sends that is one: a status, or the end of the connection, and nothing is asked of the company's proxy.
func TestBadRequestsReachNobody(t *testing.T) {
	c := newCompany(t, "127.0.0.1:1", "p")
	s := start(t, map[string]string{upstream.HTTPFile: c.url("p"), upstream.HTTPSFile: c.url("p")}, nil)
	for name, row := range map[string]struct {
		request string
		want    int
	}{
		"a header of 1 MiB":          {"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\nX: " + strings.Repeat("a", 1<<20) + "\r\n\r\n", 431},
		"1 MiB of headers":           {"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n" + strings.Repeat("X: a\r\n", 1<<17) + "\r\n", 431},
		"a URL of 1 MiB":             {"GET http://example.com/" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\nHost: example.com\r\n\r\n", 431},
		"user information":           {"CONNECT me:secret@example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n", 400},
		"user information of a URL":  {"GET http://me:secret@example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n", 400},
		"no port":                    {"CONNECT example.com HTTP/1.1\r\nHost: example.com\r\n\r\n", 400},
		"a path alone":               {"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", 400},
		"an octal address":           {"GET http://0177.0.0.1/ HTTP/1.1\r\nHost: 0177.0.0.1\r\n\r\n", 400},
		"a zone":                     {"CONNECT [fe80::1%25eth0]:443 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		"an address with a root dot": {"CONNECT 169.254.169.254.:443 HTTP/1.1\r\nHost: x\r\n\r\n", 403},
		"another scheme":             {"GET ftp://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n", 501},
		"CONNECT with a body":        {"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\nContent-Length: 1\r\n\r\nx", 400},
	} {
		status, _, body := raw(t, s.Listener.Addr().String(), row.request)
		if status != row.want && (row.want != 403 || status != 400) || strings.Contains(body, "secret") {
			t.Errorf("%s: %d %q, want %d", name, status, body, row.want)
		}
	}
	if asked := c.log(); len(asked) > 0 {
		t.Errorf("the proxy was asked %q", asked)
	}
}

func TestARequestInPiecesIsARequest(t *testing.T) {
	far := httptest.NewServer(hello())
	defer far.Close()
	c := newCompany(t, far.Listener.Addr().String(), "p")
	s := start(t, map[string]string{upstream.HTTPFile: c.url("p"), upstream.HTTPSFile: c.url("p")}, nil)
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // of a test
	for _, b := range []byte("GET http://example.com/a HTTP/1.1\r\nHost: example.com\r\n\r\n") {
		if _, err := conn.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != 200 {
		t.Fatalf("%v, %v", answer, err)
	}
	_ = answer.Body.Close()
}

// Who sends its header slowly, or nothing, has no connection after a while.
func TestSlowClientsAreLeft(t *testing.T) {
	proxy := newProxy(t)
	limits := DefaultLimits
	limits.Header = 50 * time.Millisecond
	address, end, _ := serve(t, proxy, limits, Drain{})
	defer end()
	for _, begin := range []string{"", "GET http://exam", "CONNECT example.com:443 HTTP/1.1\r\nHost: e"} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		_, _ = io.WriteString(conn, begin) // on a busy machine it is left already
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q: %v", begin, err)
		}
		_ = conn.Close()
	}
}

// A proxy that is none, or one that says something odd: 502, a reason, a line in the log, and no password in either.
func TestAProxyThatAnswersOddlyIsABadGateway(t *testing.T) {
	for name, row := range map[string]struct{ answer, want string }{
		"garbage":         {"\x16\x03\x01\x02garbage\r\n\r\n", "HTTP"},
		"half an answer":  {"HTTP/1.1 200 O", "before its answer is complete"},
		"nothing":         {"", "before its answer is complete"},
		"NTLM":            {"HTTP/1.1 407 No\r\nProxy-Authenticate: NTLM\r\nContent-Length: 0\r\n\r\n", "it offers NTLM"},
		"Negotiate":       {"HTTP/1.1 407 No\r\nProxy-Authenticate: Negotiate\r\nContent-Length: 0\r\n\r\n", "it offers Negotiate"},
		"a header of MiB": {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("a", 2<<20) + "\r\n\r\n", ""},
	} {
		proxy := answering(t, row.answer)
		var logged locked
		url := "http://corp:p4ssw0rd@" + proxy
		s := start(t, map[string]string{upstream.HTTPFile: url, upstream.HTTPSFile: url}, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&logged, nil)) })
		for _, request := range []string{
			"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n",
			"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
		} {
			status, _, body := raw(t, s.Listener.Addr().String(), request)
			connect := strings.HasPrefix(request, "CONNECT")
			if status != http.StatusBadGateway || connect && !strings.Contains(body, row.want) {
				t.Errorf("%s, %.7s: %d %q", name, request, status, body)
			}
			if text := body + logged.String(); strings.Contains(text, "p4ssw0rd") || strings.Contains(text, "Y29ycDpwNHNzdzByZA") {
				t.Errorf("%s: a password in %s", name, text)
			}
		}
		if strings.Count(logged.String(), "no way") != 2 {
			t.Errorf("%s is not logged: %s", name, logged.String())
		}
	}
}

// RFC 9110, section 9.3.6: what follows a 2xx is the tunnel's, whatever the header says of a body.
func TestALengthInTheAnswerToCONNECTIsNoBody(t *testing.T) {
	url := "http://corp:p@" + answering(t, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nhello from afar")
	s := start(t, map[string]string{upstream.HTTPSFile: url}, nil)
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // of a test
	fmt.Fprint(conn, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n")
	said, err := io.ReadAll(conn)
	if err != nil || !bytes.HasSuffix(said, []byte("\r\n\r\nhello from afar")) || bytes.Contains(said, []byte("Content-Length")) {
		t.Errorf("%q, %v", said, err)
	}
}

// answering returns a proxy that says this to everybody, and ends the connection.
func answering(t *testing.T, answer string) string {
	t.Helper()
	return accepting(t, func(conn net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		_, _ = io.WriteString(conn, answer)
	})
}
