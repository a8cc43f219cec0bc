package node_test

import (
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// What docs/how-to/troubleshooting.md shows of a control-plane node that does not join.
func TestANodeAsksTheProxyForEtcdUnlessTheListHasTheNodes(t *testing.T) {
	n := newNode(t)
	squid, err := n.Network.StartSquid(t.Context(), machine.SquidOptions{User: user, Password: password})
	controlplanetest.Require(t, err)
	program := controlplanetest.Tool(t, tools.Etcd)
	endpoint := net.JoinHostPort(machine.EndpointAddress, "2379")
	etcd, err := n.Network.Start(t.Context(), machine.Cluster, process.Spec{
		Name: "etcd", Path: program, Ready: n.Network.Answers(machine.Corp, endpoint),
		Args: []string{
			"--data-dir", t.TempDir(), "--listen-client-urls", "http://" + endpoint, "--advertise-client-urls", "http://" + endpoint,
			"--listen-peer-urls", "http://" + net.JoinHostPort(machine.EndpointAddress, "2380"),
		},
	})
	controlplanetest.Require(t, err)
	t.Cleanup(func() { controlplanetest.Require(t, etcd.Stop()) })

	member := filepath.Join(t.TempDir(), "member")
	if output, err := exec.CommandContext(t.Context(), "go", "build", "-o", member, "./member").CombinedOutput(); err != nil {
		t.Fatalf("build member: %v\n%s", err, output)
	}
	join := func(noProxy string) error {
		_, err := n.Network.Run(t.Context(), machine.Corp, []string{
			"HTTPS_PROXY=http://" + user + ":" + password + "@" + machine.ProxyAddress + ":3128", "NO_PROXY=" + noProxy,
		}, member, endpoint)
		return err
	}
	if err := join("100.64.0.0/13,.svc"); err == nil || !strings.Contains(err.Error(), "error syncing endpoints with etcd: context deadline exceeded") {
		t.Errorf("without the network of the nodes: %v", err)
	}
	requests, err := squid.Requests() // squid asks nobody who he is before it refuses a port
	if asked := (machine.Request{User: "-", Method: "CONNECT", Target: endpoint, Status: 403}); err != nil || !slices.Contains(requests, asked) {
		t.Errorf("squid was asked %+v (%v)", requests, err)
	}
	if err := join("100.64.0.0/13,.svc,178.170.32.0/24"); err != nil {
		t.Errorf("with the network of the nodes: %v", err)
	}
	if again, err := squid.Requests(); err != nil || len(again) != len(requests) {
		t.Errorf("squid was asked %+v then (%v)", again[len(requests):], err)
	}
}
