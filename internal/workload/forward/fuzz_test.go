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
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// FuzzRequests sends bytes to a relay. Whatever they are, it does not panic, what reaches the company's proxy is a request with
// one length and one host, and no answer has the password.
func FuzzRequests(f *testing.F) {
	for _, seed := range []string{
		"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\nhello",
		"POST http://a.example/ HTTP/1.1\r\nHost: b.example\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://b.example/ HTTP/1.1\r\n\r\n",
		"POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
		"POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\n",
		"GET http://a.example/ HTTP/1.1\nHost: a.example\nX: a\rb\n\n",
		"GET http://me:secret@a.example:80/ HTTP/1.0\r\n\r\n",
		"TRACE http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	company := strict{f: f}
	relay := company.relay()
	f.Fuzz(func(t *testing.T, sent []byte) {
		conn, err := net.Dial("tcp", relay)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() //nolint:errcheck // of a test
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		go func() {
			_, _ = conn.Write(sent)
			_ = conn.(*net.TCPConn).CloseWrite()
		}()
		answer, err := io.ReadAll(conn)
		var network net.Error
		if errors.As(err, &network) && network.Timeout() || bytes.Contains(answer, []byte(strictPassword)) {
			t.Errorf("%q is answered %q, %v", sent, answer, err)
		}
		if found := company.found.Swap(nil); found != nil {
			t.Errorf("%q: %s", sent, *found)
		}
	})
}

const strictPassword = "p4ssw0rd"

// strict is a company's proxy that notes why a request is wrong.
type strict struct {
	f     *testing.F
	found atomic.Pointer[string]
}

func (s *strict) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.found.Store(&text)
}

// relay starts it, and a relay before it.
func (s *strict) relay() (address string) {
	folder, url := s.f.TempDir(), "http://corp:"+strictPassword+"@"+accepting(s.f, s.answer)
	text := fmt.Sprintf("HTTP_PROXY=%[1]s\nHTTPS_PROXY=%[1]s\nNO_PROXY=\n", url)
	if err := os.WriteFile(filepath.Join(folder, upstream.SettingsFile), []byte(text), 0o600); err != nil {
		s.f.Fatal(err)
	}
	silent := slog.New(slog.DiscardHandler)
	p := New(Options{Folder: upstream.NewFolder(folder, silent), Log: silent, Name: "fuzzed"})
	server := &http.Server{ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if found := recover(); found != nil && found != http.ErrAbortHandler { //nolint:errorlint // as the server compares it
				s.note("panic: %v", found)
			}
		}()
		p.ServeHTTP(w, r)
	})}
	relay, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.f.Fatal(err)
	}
	s.f.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(relay) }()
	return relay.Addr().String()
}

func (s *strict) answer(conn net.Conn) {
	header, err := readHeader(conn)
	if err != nil {
		return
	}
	lines := strings.Split(header, "\r\n")
	count := func(name string) (n int) {
		for _, line := range lines[1:] {
			if strings.HasPrefix(strings.ToLower(line), name+":") {
				n++
			}
		}
		return n
	}
	if strings.Count(lines[0], " ") != 2 || count("host") != 1 || count("content-length")+count("transfer-encoding") > 1 || count("proxy-authorization") != 1 || strings.ContainsAny(strings.ReplaceAll(header, "\r\n", ""), "\r\n\x00") {
		s.note("the proxy is asked %q", header)
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
}

// readHeader returns the first lines of a request, up to the empty one.
func readHeader(conn net.Conn) (string, error) {
	var header strings.Builder
	reader := bufio.NewReader(conn)
	for {
		line, err := reader.ReadString('\n')
		if err != nil {
			return "", err
		}
		if line == "\r\n" {
			return header.String(), nil
		}
		header.WriteString(line)
	}
}
