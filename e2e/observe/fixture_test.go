package observe_test

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/deployment"
	"github.com/fairlead-io/fairlead/e2e/observe"
	"github.com/fairlead-io/fairlead/e2e/operator"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// fixture is a management cluster with the program, and a namespace.
type fixture struct {
	testing.TB
	cp        *controlplane.ControlPlane
	client    client.Client // an administrator's
	observe   *deployment.Replica
	namespace string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	cp := controlplanetest.Start(t, controlplane.Options{Content: operator.Content})
	f := &fixture{TB: t, cp: cp}
	f.must(observe.Install(t.Context(), cp))
	f.namespace = controlplanetest.Namespace(t, cp)
	f.client = f.clientFor(cp.Admin())
	return f
}

func (f *fixture) start(args ...string) {
	f.Helper()
	var err error
	f.observe, err = observe.Start(f.Context(), f.cp, args...)
	f.must(err)
}

func (f *fixture) must(err error) {
	f.Helper()
	controlplanetest.Require(f, err)
}

func (f *fixture) clientFor(config *rest.Config) client.Client {
	f.Helper()
	return controlplanetest.Client(f, config, operator.Scheme)
}

func (f *fixture) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: f.namespace, Name: name}
}

// report creates one as the operator leaves it.
func (f *fixture) report(name string) *v1alpha1.ProxyReport {
	f.Helper()
	report := &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}}
	f.must(f.client.Create(f.Context(), report))
	controlplanetest.ChangeStatus(f, f.client, report, func(r *v1alpha1.ProxyReport) {
		r.Status.Mode, r.Status.ProxyName, r.Status.HandledRequest = "Proxied", "default", "x"
		meta.SetStatusCondition(&r.Status.Conditions, metav1.Condition{Type: "Ready", Status: "True", Reason: "Applied"})
	})
	return report
}

func (f *fixture) secret(cluster string, kubeconfig []byte) {
	f.Helper()
	secret := observe.SecretOf(f.namespace, cluster, kubeconfig)
	err := f.client.Update(f.Context(), secret)
	if client.IgnoreNotFound(err) == nil && err != nil {
		err = f.client.Create(f.Context(), secret)
	}
	f.must(err)
}

func (f *fixture) kubeconfig(cp *controlplane.ControlPlane, who *rest.Config) []byte {
	f.Helper()
	text, err := observe.Kubeconfig(cp, who)
	f.must(err)
	return text
}

// await awaits what a report says of its cluster.
func (f *fixture) await(cluster, what string, is func(v1alpha1.ProxyReportStatus) bool) v1alpha1.ProxyReportStatus {
	f.Helper()
	report := &v1alpha1.ProxyReport{}
	controlplanetest.Await(f, cluster+": "+what, func(ctx context.Context) (bool, error) {
		err := f.client.Get(ctx, f.key(cluster), report)
		said := report.Status
		return controlplanetest.Holds(err == nil && is(said), "observed %+v, conditions %+v (%v)", said.Observed, said.Conditions, err)
	})
	return report.Status
}

func egress(status string) func(v1alpha1.ProxyReportStatus) bool {
	return func(s v1alpha1.ProxyReportStatus) bool { return s.Observed != nil && s.Observed.Egress == status }
}

func condition(kind, status, reason string) func(v1alpha1.ProxyReportStatus) bool {
	return func(s v1alpha1.ProxyReportStatus) bool {
		c := meta.FindStatusCondition(s.Conditions, kind)
		return c != nil && string(c.Status) == status && c.Reason == reason
	}
}
