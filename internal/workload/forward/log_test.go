package forward

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// No log and no metric has what only the company's proxy may know, wherever a client or the proxy puts it: a password, a user
// that is itself the secret, and what a client says beside the host that it asks for.
func TestNoSecretIsInALogOrAMetric(t *testing.T) {
	const client = "c4nary"
	say := func(conn net.Conn, answer string) {
		request, err := readHeader(conn)
		if err != nil {
			return
		}
		_, credential, _ := strings.Cut(request, "Proxy-Authorization: Basic ")
		credential, _, _ = strings.Cut(credential, "\r\n")
		decoded, _ := base64.StdEncoding.DecodeString(credential)
		_, _ = io.WriteString(conn, strings.NewReplacer("SECRET", credential, "USER", strings.TrimSuffix(string(decoded), ":")).Replace(answer))
	}
	for _, userinfo := range []string{"t0ken", "corpuser:p4ssw0rd"} {
		for name, answer := range map[string]string{
			"refused":                "HTTP/1.1 407 SECRET\r\nProxy-Authenticate: Basic realm=\"USER\"\r\nX: SECRET\r\nContent-Length: 0\r\n\r\n",
			"forbidden":              "HTTP/1.1 403 SECRET USER\r\nX-USER: SECRET\r\nContent-Length: 4\r\n\r\nUSER",
			"broken":                 "",
			"no HTTP":                "SECRET USER\r\n\r\n",
			"a header that is none":  "HTTP/1.1 200 OK\r\nSECRET USER\r\n\r\n",
			"a trailer that is none": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n2\r\nok\r\n0\r\nSECRET USER\r\n\r\n",
			"more than its length":   "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokSECRET USER",
		} {
			var logged locked
			url := "http://" + userinfo + "@" + accepting(t, func(conn net.Conn) { say(conn, answer) })
			log := slog.New(slog.NewTextHandler(&logged, nil))
			s := start(t, map[string]string{upstream.HTTPFile: url, upstream.HTTPSFile: url}, func(o *Options) { o.Log, o.Access = log, log })
			registry := prometheus.NewRegistry()
			metrics := newMetrics(s.Config.Handler.(*Proxy))
			registry.MustRegister(metrics)
			s.Config.Handler.(*Proxy).Observe = metrics.observe
			basic := base64.StdEncoding.EncodeToString([]byte("shop:" + client))
			for _, first := range []string{"GET http://example.com/" + client + "?" + client + " HTTP/1.1\r\nHost: example.com\r\n", "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n"} {
				_, _, _ = raw(t, s.Listener.Addr().String(), first+"Proxy-Authorization: Basic "+basic+"\r\nAuthorization: "+client+"\r\nX-"+client+": "+client+"\r\n\r\n")
			}
			for strings.Count(logged.String(), "msg=") < 2 { // that of an answer comes after the answer
				runtime.Gosched()
			}
			families, err := registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			text := logged.String() + fmt.Sprint(families)
			user, password, _ := strings.Cut(userinfo, ":")
			for _, never := range []string{user, password, client, basic, base64.StdEncoding.EncodeToString([]byte(user + ":" + password))} {
				if never != "" && strings.Contains(text, never) {
					t.Errorf("%s, %s: %q is in\n%s", userinfo, name, never, text)
				}
			}
		}
	}
}

// A refused request is a line that is no longer than what it names can be.
func TestALineOfTheLogIsShort(t *testing.T) {
	var logged locked
	s := start(t, map[string]string{upstream.HTTPSFile: ""}, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&logged, nil)) })
	long := strings.Repeat("\x01", 4<<10)
	user := base64.StdEncoding.EncodeToString([]byte(long + ":"))
	for _, request := range []string{
		"GET http://127.0.0.1/ HTTP/1.1\r\nHost: a\r\nProxy-Authorization: Basic " + user + "\r\n\r\n",
		"GET http://" + strings.Repeat("a", 4<<10) + "/ HTTP/1.1\r\nHost: a\r\n\r\n",
		strings.Repeat("A", 4<<10) + " http://127.0.0.1/ HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		_, _, _ = raw(t, s.Listener.Addr().String(), request)
	}
	for line := range strings.Lines(logged.String()) {
		if len(line) > 2<<10 {
			t.Errorf("%d bytes: %.300s", len(line), line)
		}
	}
	if strings.Count(logged.String(), "no way") != 3 {
		t.Errorf("not a line for each of three\n%s", logged.String())
	}
}

func TestOneClientHasSoManyLines(t *testing.T) {
	var l lines
	began := time.Now()
	admitted := func(client string, n int) (told int) {
		for range n {
			if tell, _ := l.admit(netip.MustParseAddr(client), began); tell {
				told++
			}
		}
		return told
	}
	l.since = began
	l.by = map[netip.Addr]int{}
	if got := admitted("10.0.0.1", 1000); got != linesPerClient {
		t.Errorf("%d lines of one", got)
	}
	if got := admitted("10.0.0.2", 1); got != 1 {
		t.Error("no line of another one")
	}
	for i := range 1000 {
		admitted(fmt.Sprintf("10.1.%d.%d", i/256, i%256), 1)
	}
	if l.all != linesOfAll {
		t.Errorf("%d lines of all", l.all)
	}
	if tell, more := l.admit(netip.MustParseAddr("10.0.0.1"), began.Add(linesInterval)); !tell || more != 995+1000-(linesOfAll-linesPerClient-1) {
		t.Errorf("the next interval: %v, %d more", tell, more)
	}
}

// What failed on a direct way did not fail at the company's proxy.
func TestADirectWayThatFailsIsCountedAsOne(t *testing.T) {
	s := start(t, map[string]string{upstream.HTTPSFile: "", upstream.NoProxyFile: "192.0.2.1"}, func(o *Options) { o.Direct = true })
	s.Config.Handler.(*Proxy).direct = transport(func(*http.Request) (*http.Response, error) { return nil, errors.New("none") })
	get(t, s.client(""), "http://192.0.2.1/")
	if got := s.observed(); got != "direct failed" {
		t.Error(got)
	}
}

// The client of an answer that breaks off sees an end, and nobody would know why.
func TestAnAnswerThatBreaksOffIsTold(t *testing.T) {
	var logged locked
	url := "http://corp:p@" + answering(t, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
	s := start(t, map[string]string{upstream.HTTPFile: url, upstream.HTTPSFile: url}, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&logged, nil)) })
	_, _, _ = raw(t, s.Listener.Addr().String(), "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n")
	for !strings.Contains(logged.String(), "msg=") {
		runtime.Gosched()
	}
	if want := "the answer has broken off after 3 bytes: unexpected EOF"; !strings.Contains(logged.String(), want) {
		t.Errorf("%q is not in %s", want, logged.String())
	}
}

// net/http ends the connection of a request that panics, and its log is what strangers say, which goes nowhere.
func TestAPanicIsTold(t *testing.T) {
	var logged locked
	s := start(t, nil, func(o *Options) {
		o.Log = slog.New(slog.NewTextHandler(&logged, nil))
		o.Observe = func(string, string) { panic("an error of ours") }
	})
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // of a test
	fmt.Fprint(conn, "GET http://127.0.0.1/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	_, _ = io.Copy(io.Discard, conn)
	if text := logged.String(); !strings.Contains(text, "msg=panic") || !strings.Contains(text, "answer.go") {
		t.Errorf("where it was is not in %s", text)
	}
}
