package move_test

import (
	"bytes"
	"maps"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/deployment"
	"github.com/fairlead-io/fairlead/e2e/operator"
)

const (
	namespace = "org-acme"
	cluster   = "mycluster"
)

var key = types.NamespacedName{Namespace: namespace, Name: cluster}

// management is a management cluster: what clusterctl init leaves of Cluster API, without its controllers.
type management struct {
	cp       *controlplane.ControlPlane
	client   client.Client
	clients  kubernetes.Interface
	operator *deployment.Replica
}

func startManagement(t *testing.T) *management {
	t.Helper()
	m := &management{cp: controlplanetest.Start(t, controlplane.Options{Content: []controlplane.Content{controlplane.ClusterAPI}})}
	m.clients = controlplanetest.Clients(t, m.cp)
	m.client = controlplanetest.Client(t, m.cp.Admin(), operator.Scheme)
	controlplanetest.Require(t, m.cp.Install(t.Context(), controlplane.Clusterctl))
	controlplanetest.Require(t, m.cp.Install(t.Context(), controlplane.Content{
		Name: "docker", Labels: map[string]string{"clusterctl.cluster.x-k8s.io": "", "cluster.x-k8s.io/v1beta2": "v1beta2"},
		Read: controlplane.FromModule("provider-crds", "sigs.k8s.io/cluster-api/test",
			"infrastructure/docker/config/crd/bases/infrastructure.cluster.x-k8s.io_dockerclusters.yaml"),
	}))
	controlplanetest.Require(t, m.cp.StartControllerManager(t.Context(), controlplane.GarbageCollector, controlplane.NamespaceDeletion))
	return m
}

// startOperator runs what the chart has installed.
func (m *management) startOperator(t *testing.T) {
	t.Helper()
	var err error
	m.operator, err = deployment.Start(t.Context(), m.cp, "fairlead-system", "fairlead-operator", "--leader-elect=false", "--unselected-grace-period=1s")
	controlplanetest.Require(t, err)
}

// workload is a cluster that is up, with one machine, as its providers would leave it, and its owner's wishes.
const workload = `
apiVersion: v1
kind: Namespace
metadata: {name: org-acme}
---
apiVersion: fairlead.io/v1alpha1
kind: ProxyOverride
metadata: {name: mycluster, namespace: org-acme}
spec:
  noProxy: [{value: registry.acme.internal, reason: our image mirror}]
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: mycluster, namespace: org-acme}
spec:
  clusterNetwork:
    serviceDomain: cluster.local
    services: {cidrBlocks: [100.64.0.0/13]}
    pods: {cidrBlocks: [100.96.0.0/11]}
  controlPlaneEndpoint: {host: 178.170.32.59, port: 6443}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DockerCluster, name: mycluster}
---
apiVersion: v1
kind: Secret
metadata: {name: mycluster-ca, namespace: org-acme}
type: cluster.x-k8s.io/secret
stringData: {tls.crt: x}
---
apiVersion: v1
kind: Secret
metadata: {name: somebody-elses, namespace: org-acme}
stringData: {x: x}
`

// createWorkload creates such a cluster.
func (m *management) createWorkload(t *testing.T, name string) {
	t.Helper()
	controlplanetest.Require(t, m.cp.Apply(t.Context(), []byte(strings.ReplaceAll(workload, cluster, name))))
	object := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	controlplanetest.ChangeStatus(t, m.client, object, func(c *clusterv1.Cluster) {
		c.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
			Type: clusterv1.ClusterControlPlaneInitializedCondition, Status: metav1.ConditionTrue, Reason: "Initialized",
		})
	})
	owner := []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: name, UID: object.UID}}
	machine := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name + "-m1", OwnerReferences: owner, Labels: map[string]string{clusterv1.ClusterNameLabel: name},
		},
		Spec: clusterv1.MachineSpec{
			ClusterName:       name,
			Bootstrap:         clusterv1.Bootstrap{DataSecretName: ptr.To(name + "-m1")},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "DockerMachine", Name: name + "-m1"},
		},
	}
	controlplanetest.Require(t, m.client.Create(t.Context(), machine))
	controlplanetest.ChangeStatus(t, m.client, machine, func(m *clusterv1.Machine) {
		m.Status.NodeRef = clusterv1.MachineNodeReference{Name: name + "-m1"}
	})
}

// report awaits that the operator is done with the cluster.
func (m *management) report(t *testing.T, name string) *v1alpha1.ProxyReport {
	t.Helper()
	ours := &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	return controlplanetest.AwaitObject(t, m.client, "report of "+name, ours, func(report *v1alpha1.ProxyReport) (bool, error) {
		conditions := report.Status.Conditions
		ready, paused := meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReady), meta.FindStatusCondition(conditions, v1alpha1.ConditionPaused)
		return controlplanetest.Holds(ready && paused == nil, "%+v", conditions)
	})
}

// ours are both Secrets of a cluster, by name.
func (m *management) ours(t *testing.T, cluster string) map[string]*corev1.Secret {
	t.Helper()
	found := map[string]*corev1.Secret{}
	for _, name := range []string{cluster + "-cluster-values", cluster + "-systemd-proxy"} {
		secret, err := m.clients.CoreV1().Secrets(namespace).Get(t.Context(), name, metav1.GetOptions{})
		controlplanetest.Require(t, err)
		found[name] = secret
	}
	return found
}

// witness has all that happens to the Secrets of a namespace.
type witness struct {
	mu     sync.Mutex
	events []watch.Event
}

func (m *management) witness(t *testing.T) *witness {
	t.Helper()
	w := &witness{}
	all, err := m.clients.CoreV1().Secrets(namespace).Watch(t.Context(), metav1.ListOptions{LabelSelector: "fairlead.io/secret"})
	controlplanetest.Require(t, err)
	go func() {
		for event := range all.ResultChan() {
			w.mu.Lock()
			w.events = append(w.events, event)
			w.mu.Unlock()
		}
	}()
	t.Cleanup(all.Stop)
	return w
}

// happened are the kinds of events that there were for a Secret, and whether its content was ever another.
func (w *witness) happened(secret *corev1.Secret) (kinds []watch.EventType, constant bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	constant = true
	for _, event := range w.events {
		seen, is := event.Object.(*corev1.Secret)
		if !is || seen.Name != secret.Name {
			continue
		}
		kinds = append(kinds, event.Type)
		constant = constant && maps.EqualFunc(seen.Data, secret.Data, bytes.Equal) && maps.Equal(seen.Labels, secret.Labels)
	}
	return kinds, constant
}
