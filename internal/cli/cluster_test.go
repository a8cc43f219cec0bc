package cli_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-io/fairlead/internal/cli"
)

// server is an API server that has nothing, and remembers what it was asked.
type server struct {
	*httptest.Server
	mutex sync.Mutex
	asked []string
}

func newServer(t *testing.T, answer http.HandlerFunc) (s *server, kubeconfig string) {
	t.Helper()
	s = &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mutex.Lock()
		s.asked = append(s.asked, r.URL.Path)
		s.mutex.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	kubeconfig = filepath.Join(t.TempDir(), "config")
	text := "{apiVersion: v1, kind: Config, current-context: a, clusters: [{name: a, cluster: {server: '" + s.URL + "'}}], " +
		"contexts: [{name: a, context: {cluster: a, namespace: shop}}, {name: b, context: {cluster: a}}]}"
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return s, kubeconfig
}

func empty(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"apiVersion": "v1", "kind": "List", "metadata": {}, "items": [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}]}`))
}

// With every verb that asks a cluster, the namespace is the one that kubectl takes from the same flags and the same
// file.
func TestTheNamespaceIsTheOneOfKubectl(t *testing.T) {
	reports, pods := "/apis/fairlead.io/v1alpha1/%proxyreports", "/api/v1/%pods"
	for _, test := range []struct {
		args      []string
		namespace string // empty: all
	}{
		{nil, "shop"},
		{[]string{"-n", "stock"}, "stock"},
		{[]string{"--context", "b"}, "default"},
		{[]string{"--context", "b", "-n", "stock"}, "stock"},
		{[]string{"-A"}, ""},
		{[]string{"-A", "-n", "stock"}, ""},
	} {
		for verb, path := range map[string]string{"status": reports, "nodes": reports, "pods": pods, "doctor tunnel x": pods} {
			if strings.HasPrefix(verb, "doctor") && slices.Contains(test.args, "-A") {
				continue // it is about one pod
			}
			s, kubeconfig := newServer(t, empty)
			args := slices.Concat(strings.Fields(verb), []string{"--kubeconfig", kubeconfig}, test.args)
			var out bytes.Buffer
			cli.Run(args, strings.NewReader(""), &out, &out)
			within := ""
			if test.namespace != "" {
				within = "namespaces/" + test.namespace + "/"
			}
			if want := strings.ReplaceAll(path, "%", within); len(s.asked) == 0 || s.asked[0] != want {
				t.Errorf("%q asked %q, want %s: %s", args, s.asked, want, out.String())
			}
		}
	}
}

// Whoever looked at one namespace without having named it is told which.
func TestNothingIsFoundSomewhere(t *testing.T) {
	_, kubeconfig := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		items := ""
		if r.URL.Path == "/api/v1/namespaces" {
			items = `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}`
		}
		_, _ = w.Write([]byte(`{"apiVersion": "v1", "kind": "List", "metadata": {}, "items": [` + items + `]}`))
	})
	for verb, want := range map[string]string{
		"nodes": "Nothing is counted yet in the namespace shop.\n", "nodes -A": "Nothing is counted yet.\n",
		"nodes --outdated": "No machine is outdated in the namespace shop.\n", "pods": "Nothing is found in 0 pods in the namespace shop.\n",
	} {
		var out bytes.Buffer
		if status := cli.Run(append(strings.Fields(verb), "--kubeconfig", kubeconfig), strings.NewReader(""), &out, &out); status != 0 || out.String() != want {
			t.Errorf("%s: status %d, %q", verb, status, out.String())
		}
	}
}

// A server that accepts, and does not answer, ends with --request-timeout, as kubectl does.
func TestARequestEndsInItsTime(t *testing.T) {
	for verb, status := range map[string]int{"status": 1, "nodes": 1, "pods": 1, "doctor tunnel x": 2} {
		done := make(chan struct{})
		s, kubeconfig := newServer(t, func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-done:
			}
		})
		var out bytes.Buffer
		args := append(strings.Fields(verb), "--kubeconfig", kubeconfig, "--request-timeout", "1s")
		if got := cli.Run(args, strings.NewReader(""), &out, &out); got != status || len(s.asked) != 1 {
			t.Errorf("%s: status %d after %d requests: %s", verb, got, len(s.asked), out.String())
		}
		close(done)
	}
}
