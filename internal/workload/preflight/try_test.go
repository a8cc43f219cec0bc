package preflight

import (
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/core/probe"
)

// A change of the number of proxies is compared with what clusters have, too: the typing error is not the management cluster's.
func TestASecondProxyThatIsNotThereIsFoundWithoutTargets(t *testing.T) {
	good, _ := refusing(t, http.StatusForbidden) // it takes the credentials, and port 443 is nobody's
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := listener.Addr().String()
	_ = listener.Close()
	url := func(address string) string { return "http://user:right@" + address }
	one := probe.Way{Revision: 1, Digest: "a", HTTP: url(good), HTTPS: url(good)}
	for name, task := range map[string]probe.Task{
		"two for one":            {Candidate: probe.Way{Revision: 2, Digest: "b", HTTP: url(good), HTTPS: url(gone)}, Control: &one},
		"one for two":            {Candidate: probe.Way{Revision: 2, Digest: "b", HTTP: url(gone), HTTPS: url(gone)}, Control: &probe.Way{Revision: 1, Digest: "a", HTTP: "http://" + good, HTTPS: url(good)}},
		"one for one, as before": {Candidate: probe.Way{Revision: 2, Digest: "b", HTTP: url(gone), HTTPS: url(gone)}, Control: &one},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if state, reason, message, _ := tries(time.Millisecond).both(t.Context(), task, false); state != probe.Failed || reason != probe.ProxyRefused {
				t.Errorf("%s %s %s", state, reason, message)
			}
		})
	}
}
