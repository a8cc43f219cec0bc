package observe_test

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/observe"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/rights"
	"github.com/fairlead-io/fairlead/e2e/rights/rightstest"
	core "github.com/fairlead-io/fairlead/internal/core/probe"
)

// everywhere has the rights of observe's token by RBAC, in each namespace alike.
var everywhere = rights.Table{
	"secrets":                          "get",
	"proxyreports.fairlead.io":         "list watch",
	"proxyreports.fairlead.io/status":  "patch",
	"machines.cluster.x-k8s.io":        "list watch", // config/observe-machines
	"machines.cluster.x-k8s.io/status": "patch",      // config/observe-machines
}

// letThrough has the writes that admission allows somebody with observe's name and every right. The sweep changes
// nothing.
var letThrough = rights.Table{
	"proxyreports.fairlead.io/status":  "patch update",
	"machines.cluster.x-k8s.io/status": "patch update",
}

// What the chart makes of observe.namespaces: the same rights by a RoleBinding. The clusters of others cost no request that fails.
func TestItObservesOneNamespaceWithRightsInThatAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := *f
	other.namespace = controlplanetest.Namespace(t, f.cp)
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: observe.ServiceAccount}}
	f.must(f.client.Get(t.Context(), client.ObjectKeyFromObject(binding), binding))
	f.must(f.client.Delete(t.Context(), binding))
	f.must(f.client.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: binding.Name}, RoleRef: binding.RoleRef, Subjects: binding.Subjects,
	}))
	other.report("mine")
	f.report("mine")
	mark, err := f.cp.AuditMark()
	f.must(err)
	f.start("--period=1s", "--cluster-namespaces="+f.namespace)
	f.await("mine", "observed", func(s v1alpha1.ProxyReportStatus) bool {
		return s.Observed != nil && strings.Contains(s.Observed.Message, "no Secret mine-kubeconfig")
	})
	other.await("mine", "not observed", func(s v1alpha1.ProxyReportStatus) bool { return s.Observed == nil })
	events, err := f.cp.AuditEvents(mark, controlplane.ByUser(observe.User))
	f.must(err)
	for _, e := range events {
		if e.ObjectRef != nil && e.ObjectRef.Namespace != f.namespace && strings.HasPrefix(e.RequestURI, "/apis/fairlead.io") {
			t.Errorf("it asks for %s", e.RequestURI)
		}
	}
	if len(events) == 0 {
		t.Error("no request is recorded")
	}
}

func TestAStolenTokenMayDoExactlyWhatIsListed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	account, err := f.cp.ServiceAccount(t.Context(), operator.Namespace, observe.ServiceAccount)
	f.must(err)
	rightstest.May(t, f.cp, account, everywhere, map[string]rights.Table{f.namespace: everywhere, operator.Namespace: everywhere})
	t.Run("it changes of a status what it is there for", func(t *testing.T) { f.tryStatuses(t, f.clientFor(account)) })
	t.Run("with more rights, by mistake", func(t *testing.T) {
		thief := rightstest.Thief{Config: account, Namespace: operator.Namespace, Name: observe.ServiceAccount}
		rightstest.AsAdministrator(t, f.cp.Admin(), thief, f.namespace, rights.Union(letThrough, rights.Exempt))
	})
}

// tryStatuses tries to fake what the operator or Cluster API says.
func (f *fixture) tryStatuses(t *testing.T, thief client.Client) {
	t.Helper()
	report := f.report("c1")
	machine := f.machine("m", nil)
	controlPlane := f.machine("cp", map[string]string{clusterv1.MachineControlPlaneLabel: ""})
	now, err := json.Marshal(machine.Status.Conditions[0])
	f.must(err)
	ready := string(now)
	const verified = `{"type":"EgressVerified","status":"True","reason":"Verified","lastTransitionTime":"2026-01-01T00:00:00Z","message":""}`
	controlplanetest.Await(t, "the policy", func(ctx context.Context) (bool, error) {
		err := statusPatch(ctx, thief, report, `{"mode":"Direct"}`)
		if apierrors.IsForbidden(err) && strings.Contains(err.Error(), observe.Policy) {
			err = nil
		}
		return true, err
	})
	for name, tc := range map[string]struct {
		object  client.Object
		patch   string
		allowed bool
	}{
		"observed":                    {report, `{"observed":{"egress":"Failed","message":"x"}}`, true},
		"no observed":                 {report, `{"observed":null}`, true},
		"a condition of a report":     {report, `{"conditions":[` + ready + `,` + verified + `]}`, false},
		"no conditions":               {report, `{"conditions":null}`, false},
		"a condition beside observed": {report, `{"observed":{"egress":"Verified"},"conditions":[` + ready + `,` + verified + `]}`, false},
		"the mode":                    {report, `{"mode":"Direct"}`, false},
		"the revision":                {report, `{"revision":{"proxy":"x","number":1,"digest":"x"}}`, false},
		"all but observed":            {report, `{"mode":null,"proxyName":null,"handledRequest":null,"conditions":null}`, false},
		"the condition of a Machine":  {machine, `{"conditions":[` + ready + `,` + verified + `]}`, true},
		"that it is Ready":            {machine, `{"conditions":[` + strings.Replace(ready, "True", "False", 1) + `]}`, false},
		"no condition of a Machine":   {machine, `{"conditions":null}`, false},
		"its node":                    {machine, `{"nodeRef":{"name":"other"}}`, false},
		"its phase":                   {machine, `{"phase":"Failed"}`, false},
		"of a control plane's":        {controlPlane, `{"conditions":[` + ready + `,` + verified + `]}`, false},
	} {
		err := statusPatch(t.Context(), thief, tc.object, tc.patch)
		if refused := apierrors.IsForbidden(err) && strings.Contains(err.Error(), observe.Policy); refused == tc.allowed || tc.allowed && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := thief.Get(t.Context(), f.key("any"), &corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Errorf("that it reads every Secret by its name is what the threat model says: %v", err)
	}
}

func statusPatch(ctx context.Context, c client.Client, object client.Object, status string) error {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`))
	return c.Status().Patch(ctx, object.DeepCopyObject().(client.Object), patch, client.DryRunAll)
}

// machine is one of a MachineDeployment with the readiness gate, whose node has its name.
func (f *fixture) machine(name string, labels map[string]string) *clusterv1.Machine {
	f.Helper()
	all := map[string]string{clusterv1.ClusterNameLabel: "c1", clusterv1.MachineDeploymentNameLabel: "md"}
	maps.Copy(all, labels)
	machine := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name, Labels: all},
		Spec: clusterv1.MachineSpec{
			ClusterName: "c1", Bootstrap: clusterv1.Bootstrap{DataSecretName: &name}, Version: "v1.36.3",
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "AnyMachine", Name: name},
			ReadinessGates:    []clusterv1.MachineReadinessGate{{ConditionType: v1alpha1.ConditionEgressVerified}},
		},
	}
	f.must(f.client.Create(f.Context(), machine))
	controlplanetest.ChangeStatus(f, f.client, machine, func(m *clusterv1.Machine) {
		m.Status = clusterv1.MachineStatus{
			NodeRef:    clusterv1.MachineNodeReference{Name: name},
			Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Applied", LastTransitionTime: metav1.Now()}},
		}
	})
	return machine
}

// Whatever the roles lacked would be refused, and whatever they have too much would not be used. One API server is management and
// workload cluster.
func TestItUsesEveryRightItHasAndMissesNone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.report("c1")
	f.secret("c1", f.kubeconfig(f.cp, f.cp.Admin()))
	f.machine("m", nil)
	f.must(f.client.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m"}}))
	result := observe.Good(time.Now())
	result.Period = "1h" // nobody writes another
	until := time.Now().Add(time.Minute)
	result.Nodes = &core.Nodes{Total: 1, Verified: 1, Until: &until}
	f.must(observe.Publish(t.Context(), f.client, result))
	f.start("--period=1s", "--machines")
	controlplanetest.Await(t, "the condition of the Machine", func(ctx context.Context) (bool, error) {
		machine := &clusterv1.Machine{}
		err := f.client.Get(ctx, f.key("m"), machine)
		conditions := machine.Status.Conditions
		return controlplanetest.Holds(len(conditions) == 2 && conditions[1].Status == metav1.ConditionTrue, "%+v (%v)", conditions, err)
	})
	f.await("c1", "verified", egress("Verified"))
	rightstest.UsesAll(t, f.cp, observe.User, everywhere)
}
