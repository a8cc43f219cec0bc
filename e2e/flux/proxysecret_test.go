package flux_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/command"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Argo CD takes proxy and noProxy from the Secret for repositories below its URL, and its Git client goes by them.
func TestArgoCDReadsTheSecretForItsRepositories(t *testing.T) {
	reader := controlplanetest.Tool(t, tools.ArgoCDRepository)
	proxy := startRecorder(t)
	secret := proxy.secret(t, "-o", "argocd-repo-creds", "--repository", "https://git.")
	read := exec.CommandContext(t.Context(), reader, "https://git.outside.invalid/a/b", "https://git.inside.invalid/a/b", "https://other.invalid/a/b")
	read.Stdin = bytes.NewReader(secret)
	out, err := read.Output()
	controlplanetest.Require(t, err)
	for _, line := range []string{"https://git.outside.invalid/a/b proxy: true", "https://git.inside.invalid/a/b proxy: true", "https://other.invalid/a/b proxy: false"} {
		if !strings.Contains(string(out), line) {
			t.Errorf("no %q in\n%s", line, out)
		}
	}
	if asked := slices.Compact(proxy.asked); !slices.Equal(asked, []string{"git.outside.invalid:443 me:s:c/r%t"}) {
		t.Errorf("the proxy was asked for %q", asked)
	}
}

// Flux's source-controller takes address, username and password from the Secret that a source names.
func (s *site) sourcesAskTheProxy(t *testing.T) {
	proxy := startRecorder(t)
	sources, err := controlplane.Parse(append(proxy.secret(t, "-o", "flux-proxy-secret"), sourcesOutside...))
	controlplanetest.Require(t, err)
	for _, object := range sources {
		object.SetNamespace(operator.Namespace)
	}
	controlplanetest.Require(t, s.cp.ApplyObjects(t.Context(), sources...))
	for _, host := range []string{"git.outside.invalid", "registry.outside.invalid"} {
		controlplanetest.Await(t, "source-controller to ask the proxy for "+host, func(context.Context) (bool, error) {
			asked := proxy.hosts()
			return controlplanetest.Holds(slices.Contains(asked, host+":443 me:s:c/r%t"), "it was asked for %q", asked)
		})
	}
}

const sourcesOutside = `
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: outside}
spec: {url: "https://git.outside.invalid/a/b", interval: 1m, proxySecretRef: {name: fairlead-flux-proxy}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: outside}
spec: {url: "oci://registry.outside.invalid/a/b", interval: 1m, proxySecretRef: {name: fairlead-flux-proxy}}`

// recorder is a proxy that lets nobody through, and keeps who asked for what.
type recorder struct {
	url   string
	mu    sync.Mutex
	asked []string
}

func startRecorder(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = strings.Replace(server.URL, "://", "://me:s%3Ac%2Fr%25t@", 1)
	return r
}

// secret returns the output of fairlead render for a company with this proxy.
func (r *recorder) secret(t *testing.T, output ...string) []byte {
	t.Helper()
	values := `proxy: {http: "` + r.url + `", https: "` + r.url + `", noProxy: inside.invalid}`
	cluster := filepath.Join("..", "..", "examples", "cluster.yaml")
	return command.Output(t, []byte(values), append([]string{"render", "--values", "-", "--cluster", cluster}, output...)...)
}

func (r *recorder) hosts() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.asked)
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	_, encoded, _ := strings.Cut(request.Header.Get("Proxy-Authorization"), " ")
	user, _ := base64.StdEncoding.DecodeString(encoded)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, request.Host+" "+string(user))
	w.WriteHeader(http.StatusBadGateway)
}
