package machine_test

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
)

// squid notes what begins, of whom, under load and while accounts change, and refuses nobody for that.
func TestSquidNotesWhatBegins(t *testing.T) {
	network := machinetest.Network(t)
	squid, err := network.StartSquid(t.Context(), machine.SquidOptions{User: "a", Password: "one", Starts: true})
	controlplanetest.Require(t, err)
	both := map[string]string{"a": "one", "b": "two"}
	controlplanetest.Require(t, squid.SetUsers(t.Context(), both))
	ctx, cancel := context.WithCancel(t.Context())
	var mutex sync.Mutex
	statuses := map[int]int{}
	var clients sync.WaitGroup
	for range 3 {
		clients.Go(func() {
			client := &http.Client{Transport: &http.Transport{
				Proxy:             http.ProxyURL(&url.URL{Scheme: "http", User: url.UserPassword("b", "two"), Host: machine.ProxyAddress + ":3128"}),
				DisableKeepAlives: true,
				DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
					return network.Dial(ctx, machine.Corp, address)
				},
			}}
			for ctx.Err() == nil {
				status := 0
				if response, err := client.Get("http://" + machine.InternetName + "/"); err == nil { //nolint:noctx // it ends with the test
					status = response.StatusCode
					_ = response.Body.Close()
				}
				mutex.Lock()
				statuses[status]++
				mutex.Unlock()
			}
		})
	}
	controlplanetest.Require(t, squid.SetUsers(t.Context(), map[string]string{"b": "two"}))
	controlplanetest.Require(t, squid.SetUsers(t.Context(), both))
	cancel()
	clients.Wait()
	starts, err := squid.Starts()
	controlplanetest.Require(t, err)
	total := statuses[http.StatusServiceUnavailable] // nobody is there
	if len(statuses) != 1 || len(starts) != total || starts[0].User != "b" || time.Since(starts[0].At) > time.Minute {
		t.Errorf("%v; %d are noted", statuses, len(starts))
	}
}
