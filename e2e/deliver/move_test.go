package deliver_test

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Cluster API's controllers run before and after the move. Between, the test says what a provider of control planes would: that
// there is one, which clusterctl asks for.
func TestAMovedClusterKeepsWhatWasDelivered(t *testing.T) {
	tier.Full(t)
	source, target := newManagement(t), newManagement(t)
	cp := controlplanetest.Start(t, controlplane.Options{})
	workload := clientFor(t, cp.Admin())
	target.namespace = source.namespace // clusterctl makes it
	for _, m := range []*management{source, target} {
		m.must(m.cp.Install(t.Context(), controlplane.Clusterctl))
		m.startOperator()
		m.start()
	}
	source.startCore()
	source.cluster("c", cp, own("c"))
	source.await("c", "True", "Delivered")
	before, err := arrived(t.Context(), workload)
	source.must(err)
	payload := source.payload("c")
	source.must(source.core.Stop())
	for _, kind := range []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"} { // of the core, which does not run
		run(source, tools.Kubectl, "delete", kind, tools.ClusterAPICore.Name)
	}
	source.hasControlPlane("c")

	run(source, tools.Clusterctl, "move", "--namespace", source.namespace, "--to-kubeconfig", target.cp.AdminKubeconfig())
	moved := target.payload("c")
	if diff := cmp.Diff(payload.Data, moved.Data); diff != "" {
		t.Error("another payload arrives") // not how: the password is in it
	}
	binding := &addonsv1.ClusterResourceSetBinding{}
	target.must(target.client.Get(t.Context(), target.key("c"), binding))

	target.startCore()
	target.await("c", "True", "Delivered")
	after, err := arrived(t.Context(), workload)
	source.must(err)
	if after.ResourceVersion != before.ResourceVersion {
		t.Error("the move changed what is in the workload cluster")
	}
	if target.payload("c").Labels["fairlead.io/delivery"] != "source" || !cmp.Equal(target.payload("c").Data, payload.Data) {
		t.Error("the target seals it again")
	}
	controlplanetest.Await(t, "the end of it in the source", func(ctx context.Context) (bool, error) {
		err := source.client.Get(ctx, source.key("c-fairlead-source"), &corev1.Secret{})
		return controlplanetest.Holds(apierrors.IsNotFound(err), "it is there (%v)", err)
	})
	target.password("moved")
	target.awaitArrived(workload, "moved")
	target.await("c", "True", "Delivered")
}

// hasControlPlane says so.
func (m *management) hasControlPlane(name string) {
	m.Helper()
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: m.key(name).Namespace, Name: name}}
	controlplanetest.ChangeStatus(m, m.client, cluster, func(c *clusterv1.Cluster) {
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
			Type: clusterv1.ClusterControlPlaneInitializedCondition, Status: metav1.ConditionTrue, Reason: "Initialized",
		})
		c.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
	})
}

// run runs a program with the kubeconfig of a management cluster.
func run(m *management, tool tools.Tool, args ...string) {
	m.Helper()
	command := exec.CommandContext(m.Context(), controlplanetest.Tool(m, tool), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+m.cp.AdminKubeconfig(), "HOME="+m.cp.Dir(), "XDG_CONFIG_HOME="+m.cp.Dir())
	if output, err := command.CombinedOutput(); err != nil {
		m.Fatalf("%v: %s", err, output)
	}
}
