package deliver_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/clusterapi"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/deliver"
	"github.com/fairlead-io/fairlead/e2e/deployment"
	"github.com/fairlead-io/fairlead/e2e/observe"
	"github.com/fairlead-io/fairlead/e2e/operator"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// management is a management cluster with Fairlead and the core controllers of Cluster API.
type management struct {
	testing.TB
	cp        *controlplane.ControlPlane
	client    client.Client // an administrator's
	deliver   *deployment.Replica
	core      *clusterapi.Provider
	namespace string
}

// settings are what everybody has in common; each change of the password is one of them.
const settings = `
apiVersion: v1
kind: Secret
metadata: {name: corporate-proxy, namespace: fairlead-system}
stringData: {http: "http://u:PASSWORD@192.0.2.1:3128", https: "http://u:PASSWORD@192.0.2.1:3128", noProxy: internal.example}
---
apiVersion: fairlead.io/v1alpha1
kind: CorporateProxy
metadata: {name: default}
spec: {source: {valuesRef: {name: corporate-proxy}}}
`

func newManagement(t *testing.T) *management {
	t.Helper()
	cp := controlplanetest.Start(t, controlplane.Options{Content: operator.Content})
	m := &management{TB: t, cp: cp, client: clientFor(t, cp.Admin())}
	m.must(deliver.Install(t.Context(), cp))
	m.must(cp.StartControllerManager(t.Context(), controlplane.GarbageCollector))
	m.namespace = controlplanetest.Namespace(t, cp)
	m.password("first")
	return m
}

func (m *management) startCore() {
	m.Helper()
	var err error
	m.core, err = clusterapi.StartCore(m.Context(), m.cp, clusterapi.Options{Progress: os.Stderr})
	m.must(err)
}

func (m *management) startOperator() {
	m.Helper()
	_, err := operator.Start(m.Context(), m.cp, operator.Options{Args: []string{"--leader-elect=false"}})
	m.must(err)
}

func (m *management) start(args ...string) {
	m.Helper()
	var err error
	m.deliver, err = deliver.Start(m.Context(), m.cp, args...)
	m.must(err)
}

func (m *management) must(err error) {
	m.Helper()
	controlplanetest.Require(m, err)
}

func clientFor(t testing.TB, config *rest.Config) client.Client {
	t.Helper()
	return controlplanetest.Client(t, config, operator.Scheme)
}

func (m *management) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: m.namespace, Name: name}
}

func (m *management) password(password string) {
	m.Helper()
	m.must(m.cp.Apply(m.Context(), []byte(strings.ReplaceAll(settings, "PASSWORD", password))))
}

// cluster creates one whose API server this is, nil for one that nobody reaches.
func (m *management) cluster(name string, workload *controlplane.ControlPlane, labels map[string]string) *clusterv1.Cluster {
	m.Helper()
	if workload != nil {
		kubeconfig, err := observe.Kubeconfig(workload, workload.Admin())
		m.must(err)
		m.must(m.client.Create(m.Context(), observe.SecretOf(m.namespace, name, kubeconfig)))
	}
	cluster := operator.Cluster(m.namespace, name)
	maps.Copy(cluster.Labels, labels)
	cluster.Spec.ControlPlaneRef, cluster.Spec.InfrastructureRef = controlPlane(name), clusterv1.ContractVersionedObjectReference{}
	m.must(m.client.Create(m.Context(), cluster))
	return cluster
}

// controlPlane is one that is not there: Cluster API asks for one, or for infrastructure, and delivery for neither.
func controlPlane(name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: "controlplane.cluster.x-k8s.io", Kind: "KubeadmControlPlane", Name: name}
}

func own(name string) map[string]string { return map[string]string{v1alpha1.DeliverLabel: name} }

// merge patches a Cluster.
func (m *management) merge(name, patch string) {
	m.Helper()
	object := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: name}}
	m.must(m.client.Patch(m.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// await awaits what a report says.
func (m *management) await(cluster, status, reason string) *v1alpha1.ProxyReport {
	m.Helper()
	report := &v1alpha1.ProxyReport{}
	controlplanetest.Await(m, cluster+": Delivered="+status+" "+reason, func(ctx context.Context) (bool, error) {
		err := m.client.Get(ctx, m.key(cluster), report)
		c := meta.FindStatusCondition(report.Status.Conditions, v1alpha1.ConditionDelivered)
		is := c == nil && status == "" || c != nil && string(c.Status) == status && c.Reason == reason
		return controlplanetest.Holds(err == nil && is, "%+v; delivered %+v; %+v (%v)", c, report.Status.Delivered, report.Status.Conditions, err)
	})
	return report
}

// sets returns the names of the objects that deliver has made for a cluster and that still exist.
func (m *management) sets(ctx context.Context, cluster string) (names []string, err error) {
	for _, list := range []client.ObjectList{&addonsv1.ClusterResourceSetList{}, &corev1.SecretList{}} {
		if err := m.client.List(ctx, list, client.InNamespace(m.namespace), client.MatchingLabels(own(cluster)), client.HasLabels{"fairlead.io/delivery"}); err != nil {
			return nil, err
		}
		err = errors.Join(err, meta.EachListItem(list, func(o runtime.Object) error {
			names = append(names, fmt.Sprintf("%T %s", o, o.(client.Object).GetName()))
			return nil
		}))
	}
	return names, err
}

func (m *management) awaitNoSets(cluster string) {
	m.Helper()
	controlplanetest.Await(m, "the end of what was made for "+cluster, func(ctx context.Context) (bool, error) {
		names, err := m.sets(ctx, cluster)
		return controlplanetest.Holds(err == nil && len(names) == 0, "%v (%v)", names, err)
	})
}

// payload returns the Secret that Cluster API is given.
func (m *management) payload(cluster string) *corev1.Secret {
	m.Helper()
	secret := &corev1.Secret{}
	m.must(m.client.Get(m.Context(), m.key(cluster+"-fairlead-source"), secret))
	return secret
}

// arrived returns the Secret in a workload cluster.
func arrived(ctx context.Context, workload client.Client) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, workload.Get(ctx, types.NamespacedName{Namespace: operator.Namespace, Name: "fairlead-source"}, secret)
}

// awaitArrived awaits a password in a workload cluster.
func (m *management) awaitArrived(workload client.Client, password string) *corev1.Secret {
	m.Helper()
	var secret *corev1.Secret
	controlplanetest.Await(m, "the password in the workload cluster", func(ctx context.Context) (bool, error) {
		var err error
		secret, err = arrived(ctx, workload)
		return controlplanetest.Holds(err == nil && strings.Contains(string(secret.Data["HTTPS_PROXY"]), ":"+password+"@"), "it is another (%v)", err)
	})
	return secret
}
