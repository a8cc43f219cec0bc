package forward

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/core/egress"
	"github.com/fairlead-io/fairlead/internal/workload/headers"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// company is a proxy that knows some passwords, and reaches one server whatever it is asked for. It is Go's: the end-to-end
// tests have squid.
type company struct {
	*httptest.Server
	mutex     sync.Mutex
	passwords map[string]bool
	asked     []string // method, destination and user
	refused   int
}

func newCompany(t *testing.T, far string, passwords ...string) *company {
	t.Helper()
	c := &company{passwords: map[string]bool{}}
	for _, password := range passwords {
		c.passwords[password] = true
	}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password := credentialsOf(r)
		c.mutex.Lock()
		c.asked = append(c.asked, r.Method+" "+r.RequestURI+" "+user+":"+password)
		fine := c.passwords[password]
		if !fine {
			c.refused++
		}
		c.mutex.Unlock()
		switch {
		case !fine:
			w.Header().Set("Proxy-Authenticate", `Basic realm="corp"`)
			w.WriteHeader(http.StatusProxyAuthRequired)
		case r.Method == http.MethodConnect:
			tunnelTo(w, far)
		default:
			request, _ := http.NewRequestWithContext(r.Context(), r.Method, "http://"+far+r.URL.Path, r.Body)
			response, err := http.DefaultTransport.RoundTrip(request)
			if err != nil {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			defer response.Body.Close()
			_, _ = io.Copy(w, response.Body)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func credentialsOf(r *http.Request) (user, password string) {
	decoded, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(r.Header.Get("Proxy-Authorization"), "Basic "))
	user, password, _ = strings.Cut(string(decoded), ":")
	return user, password
}

func tunnelTo(w http.ResponseWriter, far string) {
	conn, err := net.Dial("tcp", far)
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	near, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(near, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(conn, near); _ = conn.(*net.TCPConn).CloseWrite() }()
	go func() { _, _ = io.Copy(near, conn); _ = near.Close() }()
}

func (c *company) log() []string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return append([]string{}, c.asked...)
}

// url returns the company's proxy with credentials.
func (c *company) url(password string) string {
	return "http://" + url.UserPassword("corp", password).String() + "@" + c.Listener.Addr().String()
}

// started is a relay and what it has told.
type started struct {
	*httptest.Server
	mutex    sync.Mutex
	outcomes [][2]string // decision and result
}

func folderOf(t *testing.T, files map[string]string) *upstream.Folder {
	t.Helper()
	folder := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return upstream.NewFolder(folder, slog.New(slog.DiscardHandler))
}

func start(t *testing.T, files map[string]string, change func(*Options)) *started {
	t.Helper()
	s := &started{}
	options := Options{
		Folder: folderOf(t, files), Log: slog.New(slog.DiscardHandler), Name: "relay-under-test",
		Policy: egress.Policy{Domain: "cluster.local"},
		Observe: func(decision, result string) {
			s.mutex.Lock()
			defer s.mutex.Unlock()
			s.outcomes = append(s.outcomes, [2]string{decision, result})
		},
	}
	if change != nil {
		change(&options)
	}
	s.Server = httptest.NewUnstartedServer(New(options))
	s.Config.MaxHeaderBytes = headers.MaxBytes
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (s *started) observed() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var all []string
	for _, o := range s.outcomes {
		all = append(all, o[0]+" "+o[1])
	}
	return strings.Join(all, ", ")
}

// client asks through the relay as a pod of a namespace.
func (s *started) client(namespace string) *http.Client {
	proxy, _ := url.Parse(s.URL)
	if namespace != "" {
		proxy.User = url.User(namespace)
	}
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
}

func get(t *testing.T, client *http.Client, url string) (int, string) {
	t.Helper()
	response, err := client.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return response.StatusCode, strings.TrimSpace(string(body))
}

func hello() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello ", r.URL.Path, " ", r.Header.Get("Proxy-Authorization"))
	})
}

func TestBothKindsOfRequestsGoThroughTheProxyWithTheCredential(t *testing.T) {
	plain, secure := httptest.NewServer(hello()), httptest.NewTLSServer(hello())
	defer plain.Close()
	defer secure.Close()
	toPlain, toSecure := newCompany(t, plain.Listener.Addr().String(), "p@ss"), newCompany(t, secure.Listener.Addr().String(), "p@ss")
	s := start(t, map[string]string{upstream.HTTPFile: toPlain.url("p@ss"), upstream.HTTPSFile: toSecure.url("p@ss")}, nil)
	for _, url := range []string{"http://example.com/a", "https://example.com/a"} {
		if status, body := get(t, s.client("shop"), url); status != 200 || body != "hello /a" {
			t.Errorf("%s: %d %q", url, status, body)
		}
	}
	if got := strings.Join(append(toPlain.log(), toSecure.log()...), "; "); got != "GET http://example.com/a corp:p@ss; CONNECT example.com:443 corp:p@ss" {
		t.Errorf("the proxies were asked %s", got)
	}
	if got := s.observed(); got != "proxy ok, proxy ok" {
		t.Error(got)
	}
}

func TestThePreviousCredentialIsTriedOnceTheNewOneIsRefused(t *testing.T) {
	far := httptest.NewTLSServer(hello())
	defer far.Close()
	c := newCompany(t, far.Listener.Addr().String(), "old")
	s := start(t, map[string]string{upstream.HTTPSFile: c.url("new"), upstream.HTTPSPreviousFile: c.url("old")}, nil)
	began := time.Now()
	for range 20 {
		if status, body := get(t, s.client(""), "https://example.com/a"); status != 200 {
			t.Fatalf("%d %q", status, body)
		}
	}
	const refused = "CONNECT example.com:443 corp:new"
	log := c.log()
	tried := len(slices.DeleteFunc(slices.Clone(log), func(line string) bool { return line != refused }))
	if most := 1 + int(time.Since(began)/(5*time.Second)); len(log) != 20+tried || log[0] != refused || tried > most { // upstream's first pause
		t.Errorf("%d requests, with %d of the new one: %q", len(log), tried, log)
	}
}

// A company locks an account after a handful of wrong passwords.
func TestAWrongPasswordIsTriedAHandfulOfTimesHoweverManyAsk(t *testing.T) {
	c := newCompany(t, "127.0.0.1:1", "right")
	s := start(t, map[string]string{upstream.HTTPFile: c.url("wrong"), upstream.HTTPSFile: c.url("wrong")}, nil)
	var running sync.WaitGroup
	for range 50 {
		running.Go(func() {
			if status, body := get(t, s.client(""), "http://example.com/"); status != http.StatusBadGateway || strings.Contains(body, "wrong") {
				t.Errorf("%d %q", status, body)
			}
		})
	}
	running.Wait()
	if log := c.log(); len(log) < 1 || len(log) > 3 { // one, another one if that has no answer for long, and a CONNECT
		t.Errorf("%d requests had the wrong password, and not 1 to 3", len(log))
	}
}

func TestWhatIsRefusedIsToldToTheClientAndCounted(t *testing.T) {
	c := newCompany(t, "127.0.0.1:1", "p")
	s := start(t, map[string]string{upstream.HTTPFile: c.url("p"), upstream.HTTPSFile: c.url("p"), upstream.NoProxyFile: ".svc"}, func(p *Options) {
		p.Exists = func(_ context.Context, name string) bool { return strings.HasPrefix(name, "backend.") }
	})
	for _, row := range []struct {
		request, reason string
		status          int
	}{
		{"GET http://backend/ HTTP/1.1\r\nHost: backend\r\nProxy-Authorization: Basic c2hvcDo=\r\n\r\n", "ShortName", 403},
		{"GET http://a.b.svc/ HTTP/1.1\r\nHost: a.b.svc\r\n\r\n", "ServiceName", 403},
		{"CONNECT 127.0.0.1:443 HTTP/1.1\r\nHost: 127.0.0.1:443\r\n\r\n", "Loopback", 403},
		{"CONNECT [::ffff:7f00:1]:443 HTTP/1.1\r\nHost: a\r\n\r\n", "Loopback", 403},
		{"CONNECT 0177.0.0.1:443 HTTP/1.1\r\nHost: a\r\n\r\n", "OddAddress", 400},
		{"CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: a\r\n\r\n", "Metadata", 403},
		{"CONNECT example.com HTTP/1.1\r\nHost: example.com\r\n\r\n", "BadRequest", 400},
		{"CONNECT me:secret@example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n", "BadRequest", 400},
		{"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\nContent-Length: 3\r\n\r\nabc", "BadRequest", 400},
		{"GET / HTTP/1.1\r\nHost: relay\r\n\r\n", "BadRequest", 400},
		{"GET https://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n", "NotSupported", 501},
		{"GET http://me:secret@example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n", "BadRequest", 400},
		{"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\nVia: 1.1 other, 1.1 relay-under-test\r\n\r\n", "Itself", 508},
	} {
		status, header, body := raw(t, s.Listener.Addr().String(), row.request)
		if status != row.status || !strings.Contains(header.Get("Proxy-Status"), row.reason) || strings.Contains(body, "secret") {
			t.Errorf("%q: %d %q %q", row.request, status, header.Get("Proxy-Status"), body)
		}
		if got := s.observed(); !strings.HasSuffix(got, "refused "+row.reason) {
			t.Errorf("%q: observed %s", row.request, got)
		}
	}
	if log := c.log(); len(log) > 0 {
		t.Errorf("the proxy was asked %q", log)
	}
}

// raw sends a text as it is.
func raw(t *testing.T, address, request string) (status int, header http.Header, body string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // it has been read
	_, _ = io.WriteString(conn, request)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%q: %v", request, err)
	}
	defer response.Body.Close()
	content, _ := io.ReadAll(response.Body)
	return response.StatusCode, response.Header, string(content)
}

func TestAClientOutsideTheNetworksIsRefused(t *testing.T) {
	s := start(t, map[string]string{upstream.HTTPSFile: ""}, func(p *Options) {
		p.Policy.Sources = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	})
	if status, body := get(t, s.client(""), "http://example.com/"); status != 403 || !strings.Contains(body, "none of the networks") {
		t.Errorf("%d %q", status, body)
	}
}

// A name that is opted in leads nowhere if its address is forbidden, whatever it was a moment before.
func TestADirectNameIsCheckedByTheAddressThatItHasWhenItIsDialled(t *testing.T) {
	far := httptest.NewServer(hello())
	defer far.Close()
	s := start(t, map[string]string{upstream.HTTPSFile: "", upstream.NoProxyFile: "localtest.invalid"}, func(p *Options) {
		p.Policy.Direct.Domains = []string{"localtest.invalid"}
	})
	p := s.Config.Handler.(*Proxy)
	_, err := p.dialDirectly(t.Context(), far.Listener.Addr().String()) // what a look-up might say
	if err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("%v", err)
	}
}

// A relay beside one client does what that would without it. What is never reached is not reached so either.
func TestARelayBesideOneClientDialsDirectlyWhatTheListCovers(t *testing.T) {
	for _, row := range []struct {
		proxy, target    string
		direct, answered bool
	}{
		{"http://proxy.example:3128", "hub.example:443", false, true},
		{"http://proxy.example:3128", "hub.listed.example:443", true, true},
		{"http://proxy.example:3128", "hub.other.svc:443", true, true},
		{"", "hub.example:443", true, true},
		{"", "169.254.169.254:443", false, false},
		{"", "localhost:443", false, false},
	} {
		for _, beside := range []bool{true, false} {
			folder := folderOf(t, map[string]string{upstream.HTTPSFile: row.proxy, upstream.NoProxyFile: ".listed.example,.svc"})
			proxy := New(Options{Folder: folder, Log: slog.New(slog.DiscardHandler), Name: pseudonym, Direct: beside})
			settings, err := proxy.Folder.Read()
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(http.MethodConnect, "http://"+row.target, nil)
			r.RequestURI = row.target
			decision, refusal := proxy.decide(r, settings)
			if want := row.answered && (beside || !strings.Contains(row.target, ".svc")); decision.Direct != (row.direct && beside) || (refusal == nil) != want {
				t.Errorf("%+v, beside one client %v: %+v, %v", row, beside, decision, refusal)
			}
		}
	}
}
