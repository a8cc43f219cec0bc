package probe

import (
	"bufio"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// A real squid is in e2e/probe. The cases here are those that squid cannot be told to produce, or not so
// fast.

func settingsOf(t testing.TB, files map[string]string) *upstream.Settings {
	t.Helper()
	settings, err := upstream.Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	return settings
}

func pemOf(certificate *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}))
}

// answering returns a proxy that answers each CONNECT with what a function says.
func answering(t testing.TB, answer func(n int) string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	var count atomic.Int32
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close() //nolint:errcheck // of a test
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					_, _ = io.WriteString(conn, answer(int(count.Add(1))))
				}
			}()
		}
	}()
	return "http://fleet:S3CRET@" + listener.Addr().String()
}

func tryOnce(t *testing.T, proxy string, retry time.Duration, targets ...probe.Target) []probe.TargetResult {
	t.Helper()
	round := Round{NewProber(time.Second), settingsOf(t, map[string]string{"HTTPS_PROXY": proxy, "HTTP_PROXY": proxy}), "go", retry}
	results, err := round.Try(t.Context(), targets)
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range results {
		if strings.Contains(fmt.Sprint(result), "S3CRET") {
			t.Errorf("it shows the password: %+v", result)
		}
	}
	return results
}

func TestOneFailureIsTriedOnceMoreBeforeItCounts(t *testing.T) {
	target := probe.Target{URL: "tcp://a.example:443", Expect: probe.Reachable}
	restarts := func(until int) string {
		return answering(t, func(n int) string {
			if n <= until {
				return "" // it ends the connection
			}
			return "HTTP/1.1 200 OK\r\n\r\n"
		})
	}
	for until, want := range []probe.State{probe.Held, probe.Held, probe.Failed} {
		if got := tryOnce(t, restarts(until), time.Millisecond, target)[0]; got.State != want {
			t.Errorf("a proxy that ends %d connections: %+v", until, got)
		}
	}
	proxy := restarts(0)
	if got := tryOnce(t, proxy, 0, target)[0]; got.Via != probe.Proxied || !strings.HasSuffix(proxy, "@"+got.Peer) {
		t.Errorf("by the proxy %s: %+v", proxy, got)
	}
	if got := tryOnce(t, restarts(1), 0, target)[0]; got.State != probe.Failed || got.Reason != probe.ProxyNotHTTP {
		t.Errorf("without another try: %+v", got)
	}
}

// Many companies lock an account after a handful of wrong passwords.
func TestAWrongPasswordIsSentOnceForAllTargetsOfMinutes(t *testing.T) {
	var sent atomic.Int32
	proxy := answering(t, func(int) string {
		sent.Add(1)
		return "HTTP/1.1 407 no\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n"
	})
	var targets []probe.Target
	for i := range 50 {
		targets = append(targets, probe.Target{URL: fmt.Sprintf("https://%d.example", i), Expect: probe.Reachable})
	}
	round := Round{NewProber(time.Second), settingsOf(t, map[string]string{"HTTPS_PROXY": proxy}), "go", time.Millisecond}
	for range 3 {
		results, err := round.Try(t.Context(), targets)
		if err != nil {
			t.Fatal(err)
		}
		for _, result := range results {
			if result.Reason != probe.CredentialsRefused {
				t.Fatalf("%+v", result)
			}
		}
	}
	if n := sent.Load(); n != 1 {
		t.Errorf("it was sent %d times", n)
	}
}

// What the proxy says may be what it was told.
// With the same proxy and password for both, the other kind of URL is one more failure of the same login.
func TestAWrongPasswordIsSentOnceForBothKindsOfURLs(t *testing.T) {
	for name, test := range map[string]struct {
		http string // another user of the same proxy
		want int32
	}{"the same": {"fleet", 1}, "another user": {"other", 3}} { // to ask for an http URL, and to find out whose 407 it is
		var sent atomic.Int32
		proxy := answering(t, func(int) string {
			sent.Add(1)
			return "HTTP/1.1 407 no\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n"
		})
		settings := settingsOf(t, map[string]string{"HTTPS_PROXY": proxy, "HTTP_PROXY": strings.Replace(proxy, "fleet", test.http, 1)})
		var targets []probe.Target
		for i := range 10 {
			targets = append(targets, probe.Target{URL: fmt.Sprintf("%s://%d.example", []string{"http", "https"}[i%2], i), Expect: probe.Reachable})
		}
		results, err := Round{NewProber(time.Second), settings, "go", time.Millisecond}.Try(t.Context(), targets)
		if err != nil {
			t.Fatal(err)
		}
		for _, result := range results {
			if result.Reason != probe.CredentialsRefused {
				t.Errorf("%s: %+v", name, result)
			}
		}
		if sent.Load() != test.want {
			t.Errorf("%s: the password was sent %d times", name, sent.Load())
		}
	}
}

func TestWhatAProxySaysIsNotRepeated(t *testing.T) {
	for _, answer := range []string{"S3CRET\r\n\r\n", "HTTP/1.1 500 S3CRET\r\nX-Squid-Error: S3CRET\r\nProxy-Status: S3CRET; error=S3CRET\r\n\r\nS3CRET"} {
		proxy := answering(t, func(int) string { return answer })
		for _, url := range []string{"https://a.example", "http://a.example"} {
			if got := tryOnce(t, proxy, 0, probe.Target{URL: url, Expect: probe.Reachable})[0]; got.State != probe.Failed && url[:5] == "https" {
				t.Errorf("%+v", got)
			}
		}
	}
}

func TestEachClientDecidesInItsOwnWay(t *testing.T) {
	settings := settingsOf(t, map[string]string{"HTTPS_PROXY": "http://proxy.example:3128", "NO_PROXY": "10.0.0.0/8"})
	d, err := probe.ParseURL("https://10.1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	for client, want := range map[string]probe.Route{"go": probe.Direct, "relay": probe.Direct, "wget": probe.Proxied} {
		choose, err := newChooser(client, settings)
		if err != nil {
			t.Fatal(err)
		}
		if got, why := choose(d); got != want {
			t.Errorf("%s: %s (%s)", client, got, why)
		}
	}
	if _, err := newChooser("nobody", settings); err == nil || !strings.Contains(err.Error(), "known are") {
		t.Error(err)
	}
}

// 50 targets a minute have to cost less than 10 thousandths of a core: 600 ms of one.
func BenchmarkARoundOf50Targets(b *testing.B) {
	var targets []probe.Target
	var bundle strings.Builder
	for range 50 {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
		server.EnableHTTP2 = true
		server.StartTLS()
		defer server.Close()
		targets = append(targets, probe.Target{URL: server.URL, Expect: probe.Reachable, Route: probe.Direct})
		bundle.WriteString(pemOf(server.Certificate()))
	}
	round := Round{NewProber(10 * time.Second), settingsOf(b, map[string]string{"ca.crt": bundle.String()}), "go", 0}
	began := used(b)
	for b.Loop() {
		results, err := round.Try(b.Context(), targets)
		if err != nil || results[49].State != probe.Held {
			b.Fatal(results[49], err)
		}
	}
	perRound := (used(b) - began) / time.Duration(b.N)
	b.ReportMetric(float64(perRound.Milliseconds()), "cpu-ms/round") // with the servers' half of the work
	b.ReportMetric(float64(perRound)/float64(time.Minute)*1000, "mCPU")
}

func used(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// An API server has more addresses than the one that pods are told.
func TestTheAuthorityOfTheClusterCountsForWhatIsReachedDirectly(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	prober := NewProber(10 * time.Second)
	settings := settingsOf(t, map[string]string{"HTTPS_PROXY": "http://proxy.example:3128", "NO_PROXY": "127.0.0.1"})
	for _, want := range []probe.State{probe.Failed, probe.Held} {
		results, err := Round{prober, settings, "go", 0}.Try(t.Context(), []probe.Target{{URL: server.URL, Expect: probe.Reachable, Route: probe.Direct}})
		if err != nil || results[0].State != want || want == probe.Failed && results[0].Reason != probe.AuthorityUnknown {
			t.Errorf("%+v, %v", results, err)
		}
		prober.Cluster = x509.NewCertPool()
		prober.Cluster.AddCert(server.Certificate())
	}
}
