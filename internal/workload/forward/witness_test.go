package forward

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// A tunnel that was opened with the old credential is seen as long as it is open: the old one may not be revoked unseen.
func TestAnOpenTunnelIsCountedForTheCredentialItWasOpenedWith(t *testing.T) {
	far := httptest.NewTLSServer(hello())
	defer far.Close()
	c := newCompany(t, far.Listener.Addr().String(), "old", "new")
	folder := t.TempDir()
	write := func(password string) {
		t.Helper()
		text := fmt.Sprintf("HTTPS_PROXY=%s\nFINGERPRINT_KEY=fleet\nNO_PROXY=\n", c.url(password))
		beside := filepath.Join(folder, "beside")
		if err := os.WriteFile(beside, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(beside, filepath.Join(folder, upstream.SettingsFile)); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	proxy := New(Options{Folder: upstream.NewFolder(folder, slog.New(slog.DiscardHandler)), Log: slog.New(slog.DiscardHandler), Name: "relay"})
	metrics := newMetrics(proxy)
	proxy.Observe = metrics.observe
	s := &started{Server: httptest.NewServer(proxy)}
	defer s.Close()

	old := s.client("shop")
	get(t, old, "https://example.com/")
	write("new")
	fresh := s.client("shop")
	get(t, fresh, "https://example.com/")

	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)
	count := func() (tunnels, prints int) {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				if strings.Contains(metric.String(), "old") || strings.Contains(metric.String(), "corp") {
					t.Errorf("a metric has a credential: %s", metric)
				}
				if family.GetName() == "fairlead_relay_credential_tunnels" {
					tunnels += int(metric.GetGauge().GetValue())
					prints++
				}
			}
		}
		return tunnels, prints
	}
	if tunnels, prints := count(); tunnels != 2 || prints != 2 {
		t.Errorf("%d tunnels of %d credentials", tunnels, prints)
	}
	old.CloseIdleConnections()
	fresh.CloseIdleConnections()
	for tunnels, _ := count(); tunnels > 0; tunnels, _ = count() {
		runtime.Gosched()
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP fairlead_relay_requests_total Requests by decision (proxy, direct, refused) and result: ok, the reason of a refusal, the proxy's status, backoff, tls, timeout, failed.
# TYPE fairlead_relay_requests_total counter
fairlead_relay_requests_total{decision="proxy",result="ok"} 2
`), "fairlead_relay_requests_total"); err != nil {
		t.Error(err)
	}
}

func TestTheAccessLogHasNoPathAndNoCredential(t *testing.T) {
	plain, secure := httptest.NewServer(hello()), httptest.NewTLSServer(hello())
	defer plain.Close()
	defer secure.Close()
	toPlain, toSecure := newCompany(t, plain.Listener.Addr().String(), "pass"), newCompany(t, secure.Listener.Addr().String(), "pass")
	var logged locked
	s := start(t, map[string]string{upstream.HTTPFile: toPlain.url("pass"), upstream.HTTPSFile: toSecure.url("pass")}, func(o *Options) {
		o.Access = slog.New(slog.NewTextHandler(&logged, nil))
		o.Log = o.Access
	})
	client := s.client("shop")
	get(t, client, "http://example.com/secret-path")
	get(t, client, "https://example.org/secret-path")
	raw(t, s.Listener.Addr().String(), "CONNECT me:hidden@example.net:443 HTTP/1.1\r\nHost: example.net\r\n\r\n")
	client.CloseIdleConnections()
	for strings.Count(logged.String(), "msg=access") < 2 {
		runtime.Gosched()
	}
	for _, want := range []string{
		"namespace=shop method=GET host=example.com port=80 decision=proxy status=200 sent=0 received=19",
		"namespace=shop method=CONNECT host=example.org port=443 decision=proxy status=200 sent=",
	} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("there is no %q in\n%s", want, logged.String())
		}
	}
	for _, never := range []string{"secret-path", "pass ", "hidden", http.StatusText(http.StatusProxyAuthRequired)} {
		if strings.Contains(logged.String(), never) {
			t.Errorf("there is %q in\n%s", never, logged.String())
		}
	}
}

type locked struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (l *locked) Write(text []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(text)
}

func (l *locked) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}
