package ocm_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/e2e/tunnels"
)

// The pod that fairlead mutate prints has the same containers as the one that Kyverno makes, and goes the same way
// where nobody else changes it.
func TestThePodThatFairleadMutatePrintsLeavesThroughTheProxy(t *testing.T) {
	tier.Full(t)
	tunnels.Complete(t)
	f := sharedFleet(t)
	t.Parallel()
	c := newCompany(t, f, f.spoke, machine.SquidOptions{})
	c.startHub(t)
	template := f.agent(t, f.spoke, addonNamespace+"-mutate", machine.HubName, proxyConfig(t))
	manifest, err := yaml.Marshal(template)
	controlplanetest.Require(t, err)
	values, err := yaml.Marshal(policyValues())
	controlplanetest.Require(t, err)
	printed := &corev1.Pod{}
	controlplanetest.Require(t, yaml.UnmarshalStrict(fairlead(t, "mutate", "-f", file(t, string(manifest)), "--policy-values", file(t, string(values))), printed))

	clients := controlplanetest.Clients(t, f.spoke)
	alone, admitted := store(t, clients, unmutated(printed)), store(t, clients, template)
	if diff := cmp.Diff(programs(admitted), programs(alone)); diff != "" {
		t.Errorf("what the containers are started with (-Kyverno +fairlead mutate):\n%s", diff)
	}
	all := c.run(t, alone, containers...)
	c.awaitReach(t, "with the pod as fairlead mutate has printed it")
	if err := c.checkHubUser(t); err != nil {
		t.Errorf("somebody of the hub: %v", err)
	}
	stop(t, all)
	c.awaitAsked(t, connect(hubAPI), connect(hubTunnel))
	tunnels.Record(t, shown(tunnels.Mutate))
}

// program is what a container is started with.
type program struct {
	Name          string
	Command, Args []string
	Env           []corev1.EnvVar
}

func programs(pod *corev1.Pod) []program {
	var all []program
	for _, c := range pod.Spec.Containers {
		all = append(all, program{c.Name, c.Command, c.Args, c.Env})
	}
	return all
}
