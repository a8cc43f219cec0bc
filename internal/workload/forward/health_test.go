package forward

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

func TestTheProbeIsToldWhichRevisionTheSettingsAre(t *testing.T) {
	for _, revision := range []string{"", "corp/3/0123"} {
		s := start(t, map[string]string{upstream.HTTPSFile: "http://p:1", upstream.RevisionFile: revision}, nil)
		answer := httptest.NewRecorder()
		healthServer(s.Config.Handler.(*Proxy), prometheus.NewRegistry(), t.Context()).Handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/readyz", http.NoBody))
		if got := answer.Header().Get(upstream.RevisionHeader); got != revision || answer.Code != http.StatusOK {
			t.Errorf("%d %q, want %q", answer.Code, got, revision)
		}
	}
}

// A pod that holds connections to the probes' port does not have the kubelet restart the relay.
func TestOneSourceDoesNotTakeTheProbes(t *testing.T) {
	server := healthServer(newProxy(t), prometheus.NewRegistry(), t.Context())
	connect := func(address string) (served bool) {
		near, far := net.Pipe()
		server.ConnState(&from{near, address}, http.StateNew)
		_ = far.SetDeadline(time.Now().Add(time.Millisecond))
		_, err := far.Read(make([]byte, 1))
		return !errors.Is(err, io.EOF)
	}
	served := 0
	for range 1000 {
		if connect("10.0.0.1:1") {
			served++
		}
	}
	if served != probes.PerSource || !connect("10.0.0.2:1") {
		t.Errorf("%d of one source are served", served)
	}
}
