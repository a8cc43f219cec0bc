package observe

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/probe"
)

// away is a stand-in for the API server of a workload cluster: e2e/observe has the real one.
type away struct {
	*httptest.Server

	mu   sync.Mutex
	open map[net.Conn]bool
	most int
	all  int
	gone chan struct{} // a connection has ended
}

// serve starts one. With a certificate, it is not the one that its kubeconfig trusts.
func serve(t *testing.T, handler http.HandlerFunc, change ...func(*tls.Config)) *away {
	t.Helper()
	a := &away{Server: httptest.NewUnstartedServer(handler), open: map[net.Conn]bool{}, gone: make(chan struct{}, 1)}
	a.Config.ErrorLog = log.New(io.Discard, "", 0)
	a.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	for _, c := range change {
		c(a.TLS)
	}
	a.Config.ConnState = func(c net.Conn, state http.ConnState) {
		a.mu.Lock()
		defer a.mu.Unlock()
		switch state {
		case http.StateNew:
			a.open[c] = true
			a.most, a.all = max(a.most, len(a.open)), a.all+1
		case http.StateClosed, http.StateHijacked:
			delete(a.open, c)
			select {
			case a.gone <- struct{}{}:
			default:
			}
		case http.StateActive, http.StateIdle:
		}
	}
	a.StartTLS()
	t.Cleanup(a.Close)
	return a
}

func (a *away) connections() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.open)
}

func (a *away) kubeconfig(cluster ...string) []byte {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw})
	lines := append([]string{"server: " + a.URL, "certificate-authority-data: " + base64.StdEncoding.EncodeToString(authority)}, cluster...)
	return kubeconfigWith(lines, []string{"token: the-token"})
}

// result is one that is as it should be.
func result(change ...func(*probe.Result)) probe.Result {
	r := probe.Result{
		Version: 1, Time: time.Now(), Since: time.Now().Add(-time.Hour), Period: "1m",
		Targets: []probe.TargetResult{{Target: probe.Target{URL: "https://a.example", Expect: probe.Reachable}, State: probe.Held}},
	}
	for _, c := range change {
		c(&r)
	}
	return r
}

func configMap(t *testing.T, r probe.Result) []byte {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err = json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{probe.ResultKey: string(text)}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func answering(status int, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}
}

const loopback = "127.0.0.1"

// certificate is one of an authority of its own.
func certificate(t *testing.T, until time.Time, host string) func(*tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host}, NotBefore: until.Add(-time.Hour), NotAfter: until,
		IsCA: true, BasicConstraintsValid: true,
	}
	if host == loopback {
		template.IPAddresses = []net.IP{net.ParseIP(loopback)}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *tls.Config) { c.Certificates = []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}} }
}

func TestWhyAClusterWasNotReadIsSaidInWordsOfOurs(t *testing.T) {
	const secret = "text-of-whoever-answers"
	good := configMap(t, result())
	closed := serve(t, nil)
	closed.URL = "https://127.0.0.1:1" // the port of one that was closed could be the next server's
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() }) // it accepts nobody
	silent := serve(t, nil).kubeconfig()
	silent = bytes.ReplaceAll(silent, silent[bytes.Index(silent, []byte("https://")):bytes.Index(silent, []byte("\n    certificate-authority-data"))], []byte("https://"+listener.Addr().String()))
	trusting := func(a *away) []byte { return a.kubeconfig() }
	other := serve(t, answering(200, good))
	othersAuthority := func(a *away) []byte { return bytes.ReplaceAll(other.kubeconfig(), []byte(other.URL), []byte(a.URL)) }
	for name, tc := range map[string]struct {
		kubeconfig []byte
		result     string
		message    string
	}{
		"no kubeconfig":           {nil, resultKubeconfig, "no Secret c1-kubeconfig with the key value"},
		"a bad one":               {[]byte("{"), resultKubeconfig, "cannot be read"},
		"nobody listens":          {trusting(closed), resultRefused, "nobody listens"},
		"no answer":               {silent, resultTimeout, "does not answer"},
		"no name":                 {kubeconfigWith([]string{"server: https://no-such-host.invalid"}, []string{"token: t"}), resultLookup, "not found"},
		"another authority":       {othersAuthority(serve(t, answering(200, good), certificate(t, time.Now().Add(time.Minute), loopback))), resultCertificate, "another authority"},
		"another name":            {trusting(serve(t, answering(200, good), certificate(t, time.Now().Add(time.Minute), "other.example"))), resultCertificate, "another name"},
		"expired":                 {serve(t, answering(200, good), certificate(t, time.Now().Add(-time.Minute), "a")).kubeconfig("tls-server-name: a"), resultCertificate, "expired"},
		"it asks for another one": {trusting(serve(t, answering(200, good), func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert })), resultCertificate, "refuses the TLS connection"},
		"revoked":                 {trusting(serve(t, answering(401, []byte(secret)))), resultUnauthorized, "expired or revoked"},
		"no right":                {trusting(serve(t, answering(403, []byte(secret)))), resultForbidden, "may not"},
		"no probe":                {trusting(serve(t, answering(404, []byte(secret)))), resultNotInstalled, "no probe runs there"},
		"overloaded":              {trusting(serve(t, answering(503, []byte(secret)))), resultUnavailable, "status 503"},
		"led elsewhere":           {trusting(serve(t, http.RedirectHandler(other.URL, http.StatusFound).ServeHTTP)), resultUnavailable, "status 302"},
		"no JSON":                 {trusting(serve(t, answering(200, []byte(secret)))), resultInvalid, "not answer with the JSON"},
		"no result":               {trusting(serve(t, answering(200, []byte(`{"data":{"`+secret+`":""}}`)))), resultNoResult, "no result.json yet"},
		"an empty one":            {trusting(serve(t, answering(200, []byte(`{"metadata":{"name":"fairlead-probe"}}`)))), resultNoResult, "no result.json yet"},
		"another result":          {trusting(serve(t, answering(200, []byte(`{"data":{"result.json":"`+secret+`"}}`)))), resultInvalid, "not the JSON"},
		"of tomorrow":             {trusting(serve(t, answering(200, configMap(t, result(func(r *probe.Result) { r.Version = 2 }))))), resultInvalid, "version 2"},
		"a proxy that is not":     {serve(t, answering(200, good)).kubeconfig("proxy-url: " + strings.Replace(closed.URL, "https", "http", 1)), resultProxy, "the proxy of the kubeconfig"},
		"it hangs up":             {trusting(serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })), resultUnavailable, "the connection"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // shorter than the program's own
			defer cancel()
			s := &Sweeper{Options: Options{ProbeNamespace: "fairlead-system"}}
			_, opened, err := s.read(ctx, "c1", tc.kubeconfig)
			opened.close()
			if err == nil {
				t.Fatal("it is read")
			}
			f := classify(err)
			if f.result != tc.result || !strings.Contains(f.message, tc.message) || strings.Contains(f.message, secret) {
				t.Errorf("%s: %s (%v), want %s: %s", f.result, f.message, err, tc.result, tc.message)
			}
		})
	}
}

func TestAResultIsReadWithTheCredentialsOfTheKubeconfig(t *testing.T) {
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/namespaces/elsewhere/configmaps/fairlead-probe" || r.Header.Get("Authorization") != "Bearer the-token" || r.Method != http.MethodGet {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write(configMap(t, result()))
	})
	s := &Sweeper{Options: Options{ProbeNamespace: "elsewhere"}}
	got, opened, err := s.read(t.Context(), "c1", a.kubeconfig())
	if err != nil || len(got.Targets) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if a.connections() != 1 {
		t.Error("there is no connection, so that nothing is shown of its end")
	}
	opened.close()
	<-a.gone // the server notices it a moment later
	if a.connections() != 0 {
		t.Errorf("%d connections stay open", a.connections())
	}
}

func TestNothingOfAnEarlierObservationStays(t *testing.T) {
	fields, err := merged(&v1alpha1.Observed{})
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[v1alpha1.Observed]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if value, ok := fields[name]; !ok || value != nil {
			t.Errorf("%s: %v", name, value)
		}
	}
}

// A workload cluster may be hostile.
func TestOfAnAnswerWithoutEndLittleIsRead(t *testing.T) {
	for name, tc := range map[string]struct {
		endless func(http.ResponseWriter, func([]byte) bool)
		result  string
	}{
		"a body": {func(_ http.ResponseWriter, write func([]byte) bool) {
			for write(make([]byte, 64<<10)) {
			}
		}, resultInvalid},
		"a header": {func(w http.ResponseWriter, write func([]byte) bool) {
			for i := range 100 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1000))
			}
			write(nil)
		}, resultUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			var written atomic.Int64
			a := serve(t, func(w http.ResponseWriter, r *http.Request) {
				tc.endless(w, func(b []byte) bool {
					n, err := w.Write(b)
					written.Add(int64(n))
					return err == nil && r.Context().Err() == nil
				})
			})
			s := &Sweeper{Options: Options{ProbeNamespace: "fairlead-system"}}
			_, opened, err := s.read(t.Context(), "c1", a.kubeconfig())
			opened.close()
			if err == nil || classify(err).result != tc.result {
				t.Errorf("%v", err)
			}
			a.Close()                    // waits for the handler
			if written.Load() > 32<<20 { // what the kernel holds is in it
				t.Errorf("%d bytes were taken", written.Load())
			}
		})
	}
}
