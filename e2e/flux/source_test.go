package flux_test

import (
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
)

// source stands in for source-controller, which registry_test.go runs: it serves packaged charts over HTTP, under the name that a test
// wants, and writes what source-controller writes into the status of an OCIRepository.
type source struct {
	address string // on this machine
	handler http.Handler

	mu       sync.Mutex
	archives map[string][]byte // by path
	asked    []string          // hosts, in the order of the requests
}

func newSource(t *testing.T) *source {
	t.Helper()
	s := &source{archives: map[string][]byte{}}
	s.handler = http.HandlerFunc(s.answer)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	controlplanetest.Require(t, err)
	s.address = listener.Addr().String()
	s.serve(t, listener)
	return s
}

// serve answers wherever the listener is.
func (s *source) serve(t *testing.T, listener net.Listener) {
	t.Helper()
	server := &http.Server{Handler: s.handler}
	go func() { _ = server.Serve(listener) }() // until it is closed
	t.Cleanup(func() { _ = server.Close() })
}

func (s *source) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Host)
	archive, found := s.archives[r.URL.Path]
	if !found {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(archive)
}

// hosts are those by which it was asked since the last time.
func (s *source) hosts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return slices.Compact(asked)
}

// pack packages a chart and notes in the OCIRepository's status where it is.
func (s *source) pack(t *testing.T, repository *unstructured.Unstructured, chart, host string) {
	t.Helper()
	dir := t.TempDir()
	_, err := helm.Run(t.Context(), "package", chart, "--destination", dir, "--version", "0.1.0")
	controlplanetest.Require(t, err)
	files, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	archive, err := os.ReadFile(files[0])
	controlplanetest.Require(t, err)
	path := fmt.Sprintf("/ocirepository/%s/%s/chart.tar.gz", repository.GetNamespace(), repository.GetName())
	s.mu.Lock()
	s.archives[path] = archive
	s.mu.Unlock()
	now, digest := time.Now().UTC().Format(time.RFC3339), fmt.Sprintf("sha256:%x", sha256.Sum256(archive))
	repository.Object["status"] = map[string]any{
		"artifact": map[string]any{
			"url": "http://" + host + path, "path": path[1:], "revision": "0.1.0@" + digest, "digest": digest,
			"lastUpdateTime": now, "size": int64(len(archive)),
		},
		"conditions": []any{map[string]any{
			"type": "Ready", "status": "True", "reason": "Succeeded", "message": "stored artifact", "lastTransitionTime": now,
		}},
	}
}

// publish creates the OCIRepository with its status.
func (s *source) publish(t *testing.T, site *site, repository *unstructured.Unstructured) {
	t.Helper()
	status, _, _ := unstructured.NestedMap(repository.Object, "status")
	controlplanetest.Require(t, site.client.Create(t.Context(), repository))
	status["observedGeneration"] = repository.GetGeneration()
	repository.Object["status"] = status
	controlplanetest.Require(t, site.client.Status().Update(t.Context(), repository))
}

// smallChart writes a chart with our value paths.
func smallChart(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "small")
	controlplanetest.Require(t, os.MkdirAll(filepath.Join(dir, "templates"), 0o755))
	for name, content := range map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: small\nversion: 0.1.0\n",
		"templates/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-settings}\n" +
			"data:\n  noProxy: {{ .Values.cluster.proxy.noProxy | quote }}\n",
	} {
		controlplanetest.Require(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	return dir
}
