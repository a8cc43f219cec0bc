package forward

import (
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

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
