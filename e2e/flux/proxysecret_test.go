package flux_test

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fluxcd/pkg/runtime/secrets"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Flux's controllers read proxySecretRef with this library.
func TestFluxReadsTheSecretForItsSources(t *testing.T) {
	fairlead, err := tools.Program(t.Context(), "fairlead")
	if err != nil {
		t.Fatal(err)
	}
	values := filepath.Join("..", "..", "examples", "secret-values.yaml")
	cmd := exec.CommandContext(t.Context(), fairlead, "render", "--values", values,
		"--cluster", filepath.Join("..", "..", "examples", "cluster.yaml"), "-o", "flux-proxy-secret")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{}
	if err := yaml.UnmarshalStrict(bytes.TrimPrefix(out, []byte("---\n")), secret); err != nil {
		t.Fatal(err)
	}
	got, err := secrets.ProxyURLFromSecret(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	if want := "http://myProxyUser:mySuperSecretPassword@192.168.52.220:3128"; got.String() != want {
		t.Errorf("Flux's proxy is %s, not %s", got, want)
	}
}

// Argo CD takes proxy and noProxy from the Secret for repositories below its URL, and its Git client goes by them.
func TestArgoCDReadsTheSecretForItsRepositories(t *testing.T) {
	reader, err := tools.Build(t.Context(), tools.ArgoCDRepository, os.Stderr)
	controlplanetest.Require(t, err)
	fairlead, err := tools.Program(t.Context(), "fairlead")
	controlplanetest.Require(t, err)
	proxy := &recorder{}
	server := httptest.NewServer(proxy)
	defer server.Close()
	url := strings.Replace(server.URL, "://", "://me:s%3Ac%2Fr%25t@", 1)
	render := exec.CommandContext(t.Context(), fairlead, "render", "--values", "-", "--cluster", filepath.Join("..", "..", "examples", "cluster.yaml"),
		"-o", "argocd-repo-creds", "--repository", "https://git.")
	render.Stdin = strings.NewReader(`proxy: {http: "` + url + `", https: "` + url + `", noProxy: inside.invalid}`)
	secret, err := render.Output()
	controlplanetest.Require(t, err)
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

// recorder is a proxy that lets nobody through, and keeps who asked for what.
type recorder struct {
	mu    sync.Mutex
	asked []string
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	_, encoded, _ := strings.Cut(request.Header.Get("Proxy-Authorization"), " ")
	user, _ := base64.StdEncoding.DecodeString(encoded)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, request.Host+" "+string(user))
	w.WriteHeader(http.StatusBadGateway)
}
