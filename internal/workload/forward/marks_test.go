package forward

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// marked is a proxy whose settings come with fingerprints.
type marked struct {
	*testing.T
	folder   string
	server   *started
	registry *prometheus.Registry
}

func newMarked(t *testing.T, lines ...string) *marked {
	t.Helper()
	m := &marked{T: t, folder: t.TempDir(), registry: prometheus.NewRegistry()}
	m.set(lines...)
	proxy := New(Options{Folder: upstream.NewFolder(m.folder, slog.New(slog.DiscardHandler)), Log: slog.New(slog.DiscardHandler), Name: "relay"})
	m.registry.MustRegister(newMetrics(proxy))
	m.server = &started{Server: httptest.NewServer(proxy)}
	t.Cleanup(m.server.Close)
	return m
}

func (m *marked) set(lines ...string) {
	m.Helper()
	beside := filepath.Join(m.folder, "beside")
	err := os.WriteFile(beside, []byte(strings.Join(lines, "\n")+"\nNO_PROXY=\n"), 0o600)
	if err == nil {
		err = os.Rename(beside, filepath.Join(m.folder, upstream.SettingsFile))
	}
	if err != nil {
		m.Fatal(err)
	}
}

// credentials returns the metrics of credentials: name without its beginning, labels, value if it is no time.
func (m *marked) credentials() string {
	m.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		m.Fatal(err)
	}
	var all []string
	for _, family := range families {
		name, ok := strings.CutPrefix(family.GetName(), "fairlead_relay_credential_")
		if !ok {
			continue
		}
		for _, metric := range family.GetMetric() {
			text := strings.TrimSuffix(name, "_timestamp_seconds")
			for _, label := range metric.GetLabel() {
				text += " " + label.GetValue()
			}
			if !strings.HasSuffix(name, "_seconds") {
				text += fmt.Sprint("=", metric.GetGauge().GetValue())
			}
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}

func (m *marked) await(want string) {
	m.Helper()
	for range 1_000_000 {
		if m.credentials() == want {
			return
		}
		runtime.Gosched()
	}
	m.Errorf("%s\nwant %s", m.credentials(), want)
}

// A tunnel keeps the fingerprint that came with its account, after the settings have another one, and one without any.
func TestCredentialsHaveTheFingerprintsOfTheManagementCluster(t *testing.T) {
	far := httptest.NewTLSServer(hello())
	defer far.Close()
	c := newCompany(t, far.Listener.Addr().String(), "old", "new", "third")
	m := newMarked(t, "HTTPS_PROXY="+c.url("old"), "FINGERPRINT=key.a")
	old := m.server.client("shop")
	get(t, old, "https://example.com/")
	m.await("configured current key.a=1, last_accepted key.a, tunnels key.a=1")

	m.set("HTTPS_PROXY="+c.url("new"), "HTTPS_PROXY_PREVIOUS="+c.url("old"), "FINGERPRINT=key.b", "FINGERPRINT_PREVIOUS=key.a")
	m.await("configured current key.b=1, configured previous key.a=1, last_accepted key.a, tunnels key.a=1")
	m.set("HTTPS_PROXY="+c.url("new"), "FINGERPRINT=key.b")
	get(t, m.server.client("shop"), "https://example.com/")
	m.await("configured current key.b=1, last_accepted key.a, last_accepted key.b, tunnels key.a=1, tunnels key.b=1")
	m.set("HTTPS_PROXY="+c.url("third"), "FINGERPRINT=not one word")
	if text := m.credentials(); !strings.Contains(text, "tunnels key.a=1") || strings.Contains(text, "not one") || strings.Count(text, "configured") != 1 {
		t.Error(text)
	}
	old.CloseIdleConnections()
}

// An account that the proxy refuses is seen as refused, and no tunnel of it.
func TestARefusedCredentialIsSeen(t *testing.T) {
	c := newCompany(t, "127.0.0.1:1", "right")
	m := newMarked(t, "HTTPS_PROXY="+c.url("wrong"), "FINGERPRINT=key.a")
	if _, err := m.server.client("shop").Get("https://example.com/"); err == nil {
		t.Error("there is a way")
	}
	m.await("configured current key.a=1, last_refused key.a")
}

// A request that waits for the proxy's answer counts for the account that it began with.
func TestARequestUnderWayIsSeen(t *testing.T) {
	asked, answers := make(chan struct{}, 1), make(chan struct{})
	company := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		<-answers
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer company.Close()
	account := func(name string) string {
		return strings.Replace(company.URL, "http://", "http://"+name+":password@", 1)
	}
	m := newMarked(t, "HTTPS_PROXY="+account("a"), "FINGERPRINT=key.a")
	go func() { _, _ = m.server.client("shop").Get("https://example.com/") }() //nolint:bodyclose // there is none
	<-asked
	m.set("HTTPS_PROXY="+account("b"), "FINGERPRINT=key.b")
	m.await("configured current key.b=1, requests key.a=1")
	close(answers)
	m.await("configured current key.b=1")
}
