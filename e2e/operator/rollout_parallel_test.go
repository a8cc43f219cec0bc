package operator_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// Machines of the first wave come first, then those of two clusters at a time. One cluster is stuck: it is skipped, and
// named, and halts nobody.
func TestMachinesOfTwoClustersAreRolledAtATimeAndOneThatIsStuckIsSkipped(t *testing.T) {
	tier.Full(t)
	f := newOwnFixture(t, "--rollout-interval=1s")
	f.installRollout()
	f.awaitRolloutPolicy(true)
	f.exampleProxy(rolling, canaryAndRest, func(p *v1alpha1.CorporateProxy) {
		p.Spec.Rollout.Machines = v1alpha1.MachineRollout{MaxParallel: 2, ProgressDeadline: &metav1.Duration{Duration: 45 * time.Second}} // in which a busy machine replaces those that go on
	})
	clusters := map[string]built{}
	for _, name := range []string{"a", "b", "c", "z"} { // by name, the canary would be the last
		clusters[name] = f.build(name)
	}
	canary := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "z"}}
	modify(f, canary, func(c *clusterv1.Cluster) { c.Labels[stageLabel] = "canary" })
	mark, err := f.cp.AuditMark()
	f.must(err)
	f.changeSource("c", otherPassword("changed"))
	since := map[string]*metav1.Time{}
	for name := range clusters {
		since[name] = f.awaitNodes(name, 1, 1, 0, 0).Since
	}
	roll := func(name string) { f.awaitRolled(clusters[name].owners[0], since[name]) }
	replaced := func(name string) { f.replace(clusters[name], clusters[name].owners[0]) }

	roll("z")
	if patched := f.ownerPatches(mark); !slices.Equal(patched, []string{"z-cp"}) {
		t.Errorf("%v were rolled beside the first wave", patched)
	}
	replaced("z")
	roll("a")
	roll("b")
	if patched := f.ownerPatches(mark); !slices.Equal(patched, []string{"z-cp", "a-cp", "b-cp"}) {
		t.Errorf("%v were rolled, though two may be at a time", patched)
	}
	replaced("b") // a stays as it is
	roll("c")
	replaced("c")
	f.awaitReport("a", "it is skipped", func(r *v1alpha1.ProxyReport) bool {
		return r.Status.Rollout != nil && r.Status.Rollout.Skipped != nil && strings.Contains(rolloutMessage(r), "skipped after 45s without progress: rolling KubeadmControlPlane a-cp")
	})
	for _, name := range []string{"b", "c", "z"} {
		f.awaitReport(name, "it is done", func(r *v1alpha1.ProxyReport) bool {
			return r.Status.Nodes.Outdated == 0 && r.Status.Rollout.After == nil
		})
	}
}
