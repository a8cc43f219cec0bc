package relay

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/pem"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/workload/pipe"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// The password has characters that are percent-encoded in a URL.
const (
	username = "corp user"
	password = `p@ss%:/?#ü`
)

func userinfo() string { return url.UserPassword(username, password).String() + "@" }

// company is a proxy with TLS or without, which knows one user and one target. It is Go's HTTP server: e2e/tunnels has
// the real squid.
type company struct {
	*httptest.Server
	hub string // where the target is

	mutex    sync.Mutex
	password string
	asked    []*http.Request
}

func newCompany(t testing.TB, withTLS bool, hub net.Listener) *company {
	t.Helper()
	c := &company{hub: hub.Addr().String(), password: password}
	c.Server = httptest.NewUnstartedServer(c)
	if withTLS {
		c.StartTLS()
	} else {
		c.Start()
	}
	t.Cleanup(c.Close)
	return c
}

func (c *company) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mutex.Lock()
	c.asked = append(c.asked, r)
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(username+":"+c.password))
	c.mutex.Unlock()
	switch {
	case r.Header.Get("Proxy-Authorization") != want:
		w.Header().Set("Proxy-Authenticate", `Basic realm="corp"`)
		http.Error(w, r.Header.Get("Proxy-Authorization"), http.StatusProxyAuthRequired)
		return
	case r.Method != http.MethodConnect || !strings.HasPrefix(r.Host, hub.Host+":"):
		http.Error(w, r.Host, http.StatusForbidden)
		return
	}
	far, err := net.Dial("tcp", c.hub)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
	early, _ := buffered.Peek(buffered.Reader.Buffered())
	_, _ = far.Write(early)
	pipe.Both(context.Background(), pipe.End{Conn: conn.(upstream.Conn)}, pipe.End{Conn: far.(upstream.Conn)}, pipe.Linger)
}

func (c *company) requests() []*http.Request {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.asked
}

func (c *company) setPassword(to string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.password = to
}

// url returns the URL of the proxy with credentials.
func (c *company) url(userinfo string) string {
	scheme, rest, _ := strings.Cut(c.URL, "://")
	return scheme + "://" + userinfo + rest
}

func (c *company) ca() string {
	if c.Certificate() == nil {
		return ""
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw}))
}

// hub is the target of all relays here, a name that nobody resolves.
var hub = Target{Host: "hub.invalid", Port: 8091}

// serve hands each connection to a function, and closes it then.
func serve(t testing.TB, handle func(net.Conn)) net.Listener {
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
			go func() {
				defer conn.Close() //nolint:errcheck // the other end may have
				handle(conn)
			}()
		}
	}()
	return listener
}

// says is a proxy that reads a request, and says this in pieces of so many bytes.
func proxyAnswering(t testing.TB, answer string, piece int) string {
	t.Helper()
	return "http://" + userinfo() + serve(t, func(conn net.Conn) {
		readRequest(conn)
		for rest := answer; rest != ""; {
			n := min(piece, len(rest))
			if _, err := io.WriteString(conn, rest[:n]); err != nil {
				return
			}
			rest = rest[n:]
		}
	}).Addr().String()
}

func readRequest(conn net.Conn) {
	var got []byte
	for next := make([]byte, 1); !bytes.HasSuffix(got, []byte("\r\n\r\n")); got = append(got, next[0]) {
		if _, err := conn.Read(next); err != nil {
			return
		}
	}
}

// put mounts a Secret there, or changes it, as the kubelet does: all files in one step.
func put(t testing.TB, folder string, files map[string]string) {
	t.Helper()
	now, err := os.MkdirTemp(folder, "..now")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(now, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(folder, name)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	next := filepath.Join(folder, "..next")
	if err := os.Symlink(filepath.Base(now), next); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(folder, "..data")); err != nil {
		t.Fatal(err)
	}
}

func settings(t testing.TB, url, ca string) string {
	t.Helper()
	folder := t.TempDir()
	files := map[string]string{upstream.HTTPSFile: url}
	if ca != "" {
		files[upstream.CAFile] = ca
	}
	put(t, folder, files)
	return folder
}

// started is a relay that accepts for hub at an address of its own.
type started struct {
	*relay
	address string
	logged  *buffer
}

// start has a relay listen until the test ends. Its log must never show the password.
func start(t testing.TB, folder string, change func(*relay)) *started {
	t.Helper()
	s := &started{logged: &buffer{}}
	s.relay = newRelay(folder, []Target{hub}, slog.New(slog.NewTextHandler(s.logged, nil)))
	s.timeout = upstream.Timeout(10 * time.Second)
	if change != nil {
		change(s.relay)
	}
	listener, err := listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = listener.Addr().String()
	life, cut := context.WithCancelCause(context.WithoutCancel(t.Context()))
	s.running.Go(func() { s.accept(life, listener, hub) })
	t.Cleanup(func() {
		_ = listener.Close()
		cut(errEnding)
		s.running.Wait()
		text, _ := s.report()
		noPassword(t, s.logged.String()+text)
	})
	return s
}

// report returns what /readyz says.
func (s *started) report() (text string, ready bool) {
	text, err := s.readiness.report(nil)
	if err != nil {
		return err.Error(), false
	}
	return text, true
}

func noPassword(t testing.TB, text string) {
	t.Helper()
	encoded := url.UserPassword(username, password).String()
	_, encodedPassword, _ := strings.Cut(encoded, ":")
	for _, secret := range []string{password, encodedPassword, base64.StdEncoding.EncodeToString([]byte(username + ":" + password)), "Basic Y29y"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is in:\n%s", secret, text)
		}
	}
}

// buffer is a log that is read while it is written.
type buffer struct {
	mutex sync.Mutex
	bytes bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.bytes.Write(p)
}

func (b *buffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.bytes.String()
}

// dial returns an agent.
func (s *started) dial(t testing.TB) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute)) // a test that hangs says where
	return conn.(*net.TCPConn)
}

// exchange says something, ends that direction, and returns all that comes back.
func (s *started) exchange(t testing.TB, said string) (string, error) {
	t.Helper()
	conn := s.dial(t)
	if _, err := io.WriteString(conn, said); err != nil {
		return "", err
	}
	if err := conn.CloseWrite(); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	return string(answer), err
}

func await(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// awaitUnready returns what /readyz says once it is not that nobody has asked.
func (s *started) awaitUnready(t testing.TB) string {
	t.Helper()
	var text string
	await(t, "a tunnel that is refused", func() bool {
		var ready bool
		text, ready = s.report()
		return !ready && !strings.Contains(text, "nobody")
	})
	return text
}
