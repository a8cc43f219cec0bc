// Package tunnels runs agents of tunnels behind a real squid: a table of agents, the ways in which they are told of the
// proxy, and the engines that change their pods. Agents and the hub's servers are the real programs. A pod is a vendor's,
// stored by a real API server where real Kyverno has the chart's policies, or printed by fairlead mutate.
//
// docs/reference/tunnels.md is made of the table.
package tunnels_test

import (
	"flag"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "12"); err != nil { // they wait, and do not compute
		panic(err)
	}
	controlplanetest.Main(m)
}

func TestAgentsLeaveByAProxy(t *testing.T) {
	c := newCluster(t, plain, controlplane.Options{
		Content: kyverno.Content, Hosts: []string{tunnelName, machine.ServiceAddress},
	}, func(*machine.Authority) map[string]any {
		values := policies.Sidecars()
		// inject-proxy-env keeps out of the way, so that the tunnels' policies are what is seen.
		values["optIn"], values["proxy"] = true, proxyValues(plainURL(credential))
		return values
	})
	c.hub = newHub(t, c.cp)
	c.run(t, map[string]func(*testing.T, *cluster){
		"konnectivity v0.34.0, idle without the keepalive":                       konnectivity034.idle,
		"OCM, a hub takes the AddOnDeploymentConfig":                             ocmConfig,
		"OCM, with AddOnDeploymentConfig alone service-proxy cannot ask the hub": ocmAlone,
	})
}

func TestAgentsLeaveByAProxyThatSpeaksTLS(t *testing.T) {
	tier.Full(t)
	c := newCluster(t, secure, controlplane.Options{Content: kyverno.Content, Hosts: []string{tunnelName}}, func(a *machine.Authority) map[string]any {
		return map[string]any{
			"proxy":     proxyValues(secureURL(credential)),
			"trustedCA": map[string]any{"enabled": true, "bundle": string(a.PEM())},
			"tunnels": map[string]any{"families": map[string]any{
				"konnectivity-agent": map[string]any{"throughTLS": "Sidecar"}, "chisel": map[string]any{"through": "Sidecar"},
			}},
		}
	})
	c.run(t, map[string]func(*testing.T, *cluster){
		"the relay, as many tunnels as there can be": relayFull,
	})
}

func TestAnAPIServerReachesItsClusterThroughATunnelThatLeavesByAProxy(t *testing.T) {
	tier.Full(t)
	t.Run("a webhook behind the tunnel keeps the agent away unless its manifest is mutated beforehand", deadlock)
}

// run shows the rows of the table that belong on the cluster, and more.
func (c *cluster) run(t *testing.T, more map[string]func(*testing.T, *cluster)) {
	t.Helper()
	if t.Name() != string(c.stage) {
		t.Fatalf("the table says that it is %s", c.stage)
	}
	for _, row := range table {
		for by, shown := range map[engine]bool{byKyverno: row.kyverno, byMutate: row.mutate} {
			if row.run == nil || row.on != c.stage || !shown {
				continue
			}
			t.Run(row.agent+" "+row.version+", "+string(row.way)+", by "+string(by), func(t *testing.T) {
				if !row.short || by != byKyverno {
					tier.Full(t)
				}
				t.Parallel()
				row.run(t, c, by)
			})
		}
	}
	for name, show := range more {
		t.Run(name, func(t *testing.T) {
			tier.Full(t)
			t.Parallel()
			show(t, c)
		})
	}
}
