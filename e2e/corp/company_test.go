package corp_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/command"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
)

// The password needs care in URLs (@ : / ? # % and ü), and with the kubelet, for which $$ and $(NAME) mean something.
// SSL_CERT_FILE is a variable that the pods have.
const (
	username   = "pods@corp.example"
	password   = `p@ss %2F$(SSL_CERT_FILE)$$x:/?#"\ü`
	credential = "pods%40corp.example:p%40ss%20%252F$(SSL_CERT_FILE)$$x%3A%2F%3F%23%22%5C%C3%BC"
)

const (
	outside = "outside\n"
	inside  = "inside\n"
)

// company is its networks and its proxy. What pods reach says where it is: outside or inside.
type company struct {
	network *machine.Network
	squid   *machine.Squid
	caFile  string
}

func newCompany(t *testing.T) *company {
	t.Helper()
	c := &company{network: machinetest.Network(t), caFile: filepath.Join(t.TempDir(), "ca.crt")}
	authority, err := machine.NewAuthority("Example Web CA")
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, os.WriteFile(c.caFile, authority.PEM(), 0o600))
	machinetest.Web(t, c.network, machine.Internet, machine.InternetAddress, machine.InternetName, authority, outside)
	machinetest.Web(t, c.network, machine.Cluster, machine.ServiceAddress, machine.ServiceName, authority, inside)
	c.squid, err = c.network.StartSquid(t.Context(), machine.SquidOptions{User: username, Password: password})
	controlplanetest.Require(t, err)
	return c
}

// since returns what squid was asked after the first so many requests.
func (c *company) since(t *testing.T, first int) []machine.Request {
	t.Helper()
	requests, err := c.squid.Requests()
	controlplanetest.Require(t, err)
	return requests[first:]
}

// awaitRequests returns what squid was asked after the first so many requests, once it is so much: it notes a request
// a moment after its end. If something has failed, they may never come.
func (c *company) awaitRequests(t *testing.T, first, count int) []machine.Request {
	t.Helper()
	if t.Failed() {
		return c.since(t, first)
	}
	controlplanetest.Await(t, fmt.Sprintf("%d requests in squid's log", count), func(context.Context) (bool, error) {
		requests := c.since(t, first)
		return controlplanetest.Holds(len(requests) >= count, "there are %d: %+v", len(requests), requests)
	})
	return c.since(t, first)
}

// clusterValues are the values that the chart takes from the Secret <cluster>-cluster-values of the example's
// cluster. The command that writes that Secret makes them from the company's settings.
func clusterValues(t *testing.T) []byte {
	t.Helper()
	url := fmt.Sprintf("http://%s@%s:%d", credential, machine.ProxyAddress, machine.ProxyPort)
	settings := fmt.Sprintf("proxy:\n  http: %q\n  https: %q\n  noProxy: corp.example\n", url, url)
	file := filepath.Join(t.TempDir(), "secret-values.yaml")
	controlplanetest.Require(t, os.WriteFile(file, []byte(settings), 0o600))
	return command.Output(t, nil, "render", "--values", file, "--cluster", filepath.Join("..", "..", "examples", "cluster.yaml"), "-o", "values")
}
