package pods_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// From references to the relay: what the command says, and when the copies of the Secret may go.
func TestWhoGoesThroughTheRelayAndWhoStillRefersToTheSecretIsCounted(t *testing.T) {
	tier.Full(t)
	f := newFixture(t)
	f.namespace("shop", nil)
	f.namespace("stock", nil)
	f.install()
	f.create("shop", plain("old"))
	if out, err := f.run(f.cp.Admin(), "--all"); err != nil || strings.Contains(out, "fairlead-relay") {
		t.Errorf("without a relay it says: %v\n%s", err, out)
	}

	f.install(map[string]any{"carry": "Relay"})
	controlplanetest.Await(t, "a pod that names the relay", func(ctx context.Context) (bool, error) {
		probe := plain("probe")
		stored, err := f.clients.CoreV1().Pods("stock").Create(ctx, &probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && stored.Spec.Containers[0].Env[0].Value == "http://stock@fairlead-relay.fairlead-system.svc:3128", err
	})
	f.create("shop", plain("new"))
	f.create("stock", plain("new"))
	onItsNode := plain("on-its-node")
	onItsNode.Spec.HostNetwork, onItsNode.Annotations = true, map[string]string{key: "include"}
	f.create("stock", onItsNode)

	said := f.report(f.cp.Admin(), "--all")
	var got []string
	for _, o := range said.Owners {
		got = append(got, o.Namespace+" "+o.Owner+" "+o.String())
	}
	want := []string{
		"shop Pod/new Fine : ",
		"shop Pod/old Outdated : refers to the Secret fairlead-proxy, which is no longer renewed: replace the pod",
		"stock Pod/new Fine : ",
		"stock Pod/on-its-node Uninjected Excluded: is on the network of its node, which has no relay",
	}
	if !slices.Equal(got, want) || len(said.Notes) != 0 {
		t.Errorf("%q, notes %q", got, said.Notes)
	}
	f.says("Through fairlead-relay: 2 pods (shop,stock)\nBy the Secret fairlead-proxy: 1 pod (shop)\n")
	controlplanetest.Require(t, f.clients.CoreV1().Pods("shop").Delete(t.Context(), "old", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	f.says("Through fairlead-relay: 2 pods (shop,stock)\nBy the Secret fairlead-proxy: 0 pods\n")

	f.install()
	controlplanetest.Await(t, "a pod that refers to the Secret", func(ctx context.Context) (bool, error) {
		probe := plain("probe")
		stored, err := f.clients.CoreV1().Pods("stock").Create(ctx, &probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && injected(stored.Spec.Containers[0].Env), err
	})
	f.says("Through fairlead-relay: 2 pods (shop,stock)\nBy the Secret fairlead-proxy: 0 pods\n")
	outdated := slices.DeleteFunc(f.report(f.cp.Admin()).Owners, func(r row) bool { return !strings.Contains(r.Message, "as the policy no longer says") })
	if len(outdated) != 2 {
		t.Errorf("%+v", outdated)
	}
}

func (f *fixture) says(want string) {
	f.Helper()
	if out, err := f.run(f.cp.Admin()); err != nil || !strings.Contains(out, want) {
		f.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
}
