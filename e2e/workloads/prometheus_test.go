package workloads_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// A password that is changed by whoever does not decode it, or decodes it twice.
const password = `p%40"$#: {{x}}`

// monitoring is a proxy, and the configuration of the cluster that it is for.
type monitoring struct {
	testing.TB
	effective resolve.Effective
	program   string
}

// newMonitoring starts a proxy that answers every request itself, if the password is right.
func newMonitoring(t *testing.T) monitoring {
	t.Helper()
	program := controlplanetest.Tool(t, tools.PrometheusClients)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", r.Header.Get("Proxy-Authorization"))
		if user, given, _ := r.BasicAuth(); user != "me" || given != password || !r.URL.IsAbs() {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(proxy.Close)
	url, err := parse(t, proxy.URL).WithCredentials("me", password)
	controlplanetest.Require(t, err)
	return monitoring{t, effective(t, url), program}
}

// run asks for a URL with every client of a configuration, in an injected pod's environment.
func (m monitoring) run(kind, configuration, url string) (map[string]string, error) {
	m.Helper()
	file := filepath.Join(m.TempDir(), kind+".yaml")
	controlplanetest.Require(m, os.WriteFile(file, []byte(configuration), 0o600))
	cmd := exec.CommandContext(m.Context(), m.program, kind, file, url)
	for name, value := range render.PodSecret(m.effective).Data {
		cmd.Env = append(cmd.Env, name+"="+string(value))
	}
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	answers := map[string]string{}
	controlplanetest.Require(m, json.Unmarshal(out, &answers))
	for client, answer := range answers {
		if strings.Contains(answer, "lookup") || strings.Contains(answer, "dial") {
			answers[client] = "direct"
		}
	}
	return answers, nil
}

// all says the same of every client.
func all(answer string, clients ...string) map[string]string {
	same := map[string]string{}
	for _, client := range clients {
		same[client] = answer
	}
	return same
}

const (
	outside = "http://outside.invalid/"
	inside  = "http://web.default.svc/"
	line    = "proxy_from_environment: true"
)

var proxied = http.StatusText(http.StatusTeapot)

func (m monitoring) expect(what, kind, configuration, url string, want map[string]string) {
	m.Helper()
	got, err := m.run(kind, configuration, url)
	if err != nil {
		m.Fatalf("%s: %v", what, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		m.Errorf("%s: %s", what, diff)
	}
}

func TestEveryClientOfPrometheusUsesTheProxyWithTheSnippetAndNoneWithout(t *testing.T) {
	tier.Full(t)
	m := newMonitoring(t)
	snippet, err := render.Prometheus(m.effective)
	controlplanetest.Require(t, err)
	clients := []string{"scrape_configs[0]", "remote_write[0]", "remote_read[0]", "alerting.alertmanagers[0]"}
	m.expect("with it", "prometheus", string(snippet), outside, all(proxied, clients...))
	m.expect("with it, inside the cluster", "prometheus", string(snippet), inside, all("direct", clients...))
	without := strings.ReplaceAll(string(snippet), line, "follow_redirects: true")
	m.expect("without it", "prometheus", without, outside, all("direct", clients...))
	for _, beside := range []string{"proxy_url: http://proxy.example:3128", "no_proxy: .svc"} {
		both := strings.Replace(string(snippet), line, line+"\n  "+beside, 1)
		if _, err := m.run("prometheus", both, outside); err == nil {
			t.Errorf("%s stands beside it, and Prometheus takes it", beside)
		}
	}
}

func TestReceiversOfAlertmanagerUseTheProxyWithTheSnippetUnlessTheyHaveTheirOwnSettings(t *testing.T) {
	tier.Full(t)
	m := newMonitoring(t)
	snippet, err := render.Alertmanager(m.effective)
	controlplanetest.Require(t, err)
	const receivers = `
route: {receiver: plain}
receivers:
- name: plain
  webhook_configs: [{url: "http://outside.invalid/"}]
- name: own
  webhook_configs: [{url: "http://outside.invalid/", http_config: {follow_redirects: true}}]
- name: both
  webhook_configs: [{url: "http://outside.invalid/", http_config: {follow_redirects: true, proxy_from_environment: true}}]
`
	m.expect("with it", "alertmanager", string(snippet)+receivers, outside, map[string]string{"plain": proxied, "own": "direct", "both": proxied})
	m.expect("with it, inside the cluster", "alertmanager", string(snippet)+receivers, inside, all("direct", "plain", "own", "both"))
	m.expect("without it", "alertmanager", receivers, outside, map[string]string{"plain": "direct", "own": "direct", "both": proxied})
}
