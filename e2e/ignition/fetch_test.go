package ignition_test

import (
	"encoding/base64"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/render/ignition"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// internet is a proxy, and what is behind it: one site for every name, with a
// certificate that nobody else trusts.
type internet struct {
	proxy, site *httptest.Server
	mu          sync.Mutex
	asked       []string // target and credentials
}

const password = `S3%C"R\E'T#$x`

func newInternet(t *testing.T) *internet {
	t.Helper()
	in := &internet{}
	in.site = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "secure") }))
	t.Cleanup(in.site.Close)
	in.proxy = httptest.NewServer(http.HandlerFunc(in.serve))
	t.Cleanup(in.proxy.Close)
	return in
}

func (in *internet) serve(w http.ResponseWriter, r *http.Request) {
	login, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(r.Header.Get("Proxy-Authorization"), "Basic "))
	in.mu.Lock()
	in.asked = append(in.asked, r.Method+" "+r.Host+" "+string(login))
	in.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, ".ign") {
		_, _ = io.WriteString(w, `{"ignition":{"version":"3.3.0"}}`)
		return
	}
	if r.Method != http.MethodConnect {
		_, _ = io.WriteString(w, "plain")
		return
	}
	site, err := net.Dial("tcp", in.site.Listener.Addr().String())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(site, client); _ = site.Close() }()
	_, _ = io.Copy(client, site)
	_ = client.Close()
}

func (in *internet) configuration(t *testing.T) resolve.Effective {
	t.Helper()
	proxy, err := proxyurl.Parse(in.proxy.URL)
	if err == nil {
		proxy, err = proxy.WithCredentials("me", password)
	}
	controlplanetest.Require(t, err)
	direct := noproxy.List{{Entry: noproxy.Entry{Kind: noproxy.Domain, Name: "direct.example"}}}
	return resolve.Effective{
		Namespace: "org-acme", Cluster: "mycluster", Mode: resolve.ModeProxied, Proxy: "default", HTTP: proxy, HTTPS: proxy,
		NoProxy: noproxy.Lists{Any: direct, Go: direct},
		Node:    resolve.Node{TrustedCA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: in.site.Certificate().Raw})},
	}
}

// merging is a config of somebody's own that fetches a file, and merges ours as
// docs/reference/secrets.md says.
func merging(ours []byte, source string) ignitionConfig {
	var config ignitionConfig
	config.Ignition.Version = "3.3.0"
	config.Ignition.Timeout = map[string]int{"httpTotal": 2}
	config.Ignition.Config = map[string]any{"merge": []any{map[string]any{"source": "data:;base64," + base64.StdEncoding.EncodeToString(ours)}}}
	config.Storage.Files = []map[string]any{{"path": "/fetched", "contents": map[string]any{"source": source}}}
	return config
}

func TestIgnitionFetchesThroughTheProxyItself(t *testing.T) {
	in := newInternet(t)
	ours := rendered(t, "ours", in.configuration(t), ignition.Flatcar)
	// The site's certificate is for example.com.
	for source, want := range map[string]string{"http://files.example/x": "plain", "https://example.com/x": "secure"} {
		root, config := t.TempDir(), merging(ours, source)
		config.Ignition.Config["merge"] = append(config.Ignition.Config["merge"].([]any), map[string]any{"source": "http://more.example/more.ign"})
		if said, err := apply(t, root, config); err != nil {
			t.Fatalf("%s: %v\n%s", source, err, said)
		}
		if content, _ := read(t, root, "/fetched"); content != want {
			t.Errorf("%s: %q", source, content)
		}
		if content, _ := read(t, root, "/etc/fairlead/proxy.env"); !strings.Contains(content, "HTTP_PROXY=") {
			t.Errorf("ours is not merged: %q", content)
		}
	}
	for _, want := range []string{"GET files.example me:" + password, "GET more.example me:" + password, "CONNECT example.com:443 me:" + password} {
		if !slices.Contains(in.asked, want) {
			t.Errorf("the proxy was asked %q, not %q", in.asked, want)
		}
	}
}

// Nobody answers for these names here, so a fetch without the proxy fails.
func TestIgnitionGoesDirectWhereTheListSaysSo(t *testing.T) {
	in := newInternet(t)
	ours := rendered(t, "ours", in.configuration(t), ignition.FedoraCoreOS)
	nothing := []byte(`{"ignition":{"version":"3.3.0"}}`)
	for _, config := range []ignitionConfig{merging(ours, "http://direct.example/x"), merging(nothing, "http://files.example/x")} {
		if said, err := apply(t, t.TempDir(), config); err == nil {
			t.Errorf("fetched:\n%s", said)
		}
	}
	if len(in.asked) != 0 {
		t.Errorf("the proxy was asked %q", in.asked)
	}
}
