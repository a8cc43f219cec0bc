package deliver_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/deliver"
	"github.com/fairlead-io/fairlead/e2e/observe"
	"github.com/fairlead-io/fairlead/e2e/operator"
)

// The life of one cluster: nobody does anything in its workload cluster but Cluster API's own controllers.
func TestALabelledClusterGetsItsSettingsFromClusterAPI(t *testing.T) {
	m := newManagement(t)
	cp := controlplanetest.Start(t, controlplane.Options{})
	workload := clientFor(t, cp.Admin())
	m.startCore()
	m.startOperator()
	m.start("--renew=3s", "--report-after=5s")
	m.cluster("c", cp, nil)
	m.cluster("away", nil, own("away"))
	for _, step := range []struct {
		name string
		do   func(*management, client.Client)
	}{
		{"nothing without a label", (*management).withoutLabel},
		{"created", (*management).created},
		{"changed", (*management).changed},
		{"drift in the workload cluster", (*management).drift},
		{"paused", (*management).paused},
		{"the label of another", (*management).othersLabel},
		{"a name that is taken", (*management).taken},
		{"the label is gone", (*management).unlabelled},
		{"the Cluster is gone", (*management).deleted},
		{"nobody reaches the API server", (*management).unreached},
		{"it uses every right it has and misses none, and reads no kubeconfig", (*management).usesEveryRight},
	} {
		if !t.Run(step.name, func(t *testing.T) {
			now := *m
			now.TB = t
			step.do(&now, workload)
		}) {
			return
		}
	}
}

func (m *management) withoutLabel(client.Client) {
	controlplanetest.Await(m, "the report", func(ctx context.Context) (bool, error) {
		report := &v1alpha1.ProxyReport{}
		err := m.client.Get(ctx, m.key("c"), report)
		return controlplanetest.Holds(err == nil && len(report.Status.Secrets) > 0, "no Secret in %+v (%v)", report.Status, err)
	})
	if names, err := m.sets(m.Context(), "c"); len(names) > 0 || err != nil {
		m.Error(names, err)
	}
}

func (m *management) created(workload client.Client) {
	m.merge("c", `{"metadata":{"labels":{"fairlead.io/cluster":"c"}}}`)
	report := m.await("c", "True", "Delivered")
	if d := report.Status.Delivered; d.HMAC != report.Status.Secrets[0].HMAC || d.Time == nil || d.Since != nil || d.Message != "" {
		m.Errorf("%+v", d)
	}
	secret := m.awaitArrived(workload, "first")
	if !strings.Contains(string(secret.Data["NO_PROXY"]), "178.170.32.59") || !strings.Contains(string(secret.Data["NO_PROXY"]), "internal.example") || secret.Type != corev1.SecretTypeOpaque {
		m.Errorf("%s, keys %d", secret.Type, len(secret.Data))
	}
	if names, err := m.sets(m.Context(), "c"); len(names) != 4 || err != nil {
		m.Error(names, err)
	}
	var operators, ours corev1.Secret
	m.must(m.client.Get(m.Context(), m.key("c-cluster-values"), &operators))
	m.must(m.client.Get(m.Context(), m.key("c-fairlead-namespace"), &ours))
	if len(operators.Data) != 1 || bytes.Contains(ours.Data["objects"], []byte("Secret")) {
		m.Error("the Secrets of the management cluster are others")
	}
}

// A rotation. The Secret in the workload cluster changes, and nothing else was asked of it.
func (m *management) changed(workload client.Client) {
	before, err := arrived(m.Context(), workload)
	m.must(err)
	m.password("second")
	after := m.awaitArrived(workload, "second")
	if after.UID != before.UID {
		m.Error("it was made anew")
	}
	controlplanetest.Await(m, "the report of the new settings", func(context.Context) (bool, error) {
		status := m.await("c", "True", "Delivered").Status
		is := status.Delivered.HMAC == status.Secrets[0].HMAC
		return controlplanetest.Holds(is, "delivered is %+v, and not %+v", status.Delivered, status.Secrets[0])
	})
}

// What somebody does to it lasts until the next renewal, which changes nothing where nobody did. The Namespace keeps what others say
// of it.
func (m *management) drift(workload client.Client) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operator.Namespace}}
	m.must(workload.Patch(m.Context(), namespace, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"theirs":"yes"}}}`))))
	secret, err := arrived(m.Context(), workload)
	m.must(err)
	was := m.payload("c")
	controlplanetest.Await(m, "a renewal", func(context.Context) (bool, error) {
		return controlplanetest.Holds(!bytes.Equal(m.payload("c").Data["objects"], was.Data["objects"]), "the payload is that of before")
	})
	again, err := arrived(m.Context(), workload)
	m.must(err)
	if again.ResourceVersion != secret.ResourceVersion {
		m.Error("a renewal changed the Secret in the workload cluster")
	}
	again.Data["HTTPS_PROXY"], again.Data["FOREIGN"] = []byte("http://u:wrong@192.0.2.9:1"), []byte("x")
	m.must(workload.Update(m.Context(), again))
	if mended := m.awaitArrived(workload, "second"); mended.Data["FOREIGN"] != nil {
		m.Error("a foreign key stays")
	}
	m.must(workload.Delete(m.Context(), again))
	m.awaitArrived(workload, "second")
	m.must(workload.Get(m.Context(), client.ObjectKeyFromObject(namespace), namespace))
	if namespace.Labels["theirs"] != "yes" {
		m.Errorf("labels %v", namespace.Labels)
	}
}

// paused: neither renewals nor changes, until it is resumed.
func (m *management) paused(workload client.Client) {
	m.merge("c", `{"spec":{"paused":true}}`)
	m.password("third") // the operator leaves a paused cluster alone, too: its Secret stays
	before := m.payload("c")
	m.awaitLooks("away", 3) // more than a period
	if m.payload("c").ResourceVersion != before.ResourceVersion {
		m.Error("it was written while the Cluster is paused")
	}
	m.password("fourth")
	m.merge("c", `{"spec":{"paused":false}}`)
	m.awaitArrived(workload, "fourth")
	m.await("c", "True", "Delivered")
}

// awaitLooks awaits that the program looks so often at a Cluster whose turn is once a period.
func (m *management) awaitLooks(cluster string, times int) {
	m.Helper()
	mark, err := m.cp.AuditMark()
	m.must(err)
	controlplanetest.Await(m, "looks at "+cluster, func(context.Context) (bool, error) {
		reads, err := m.cp.AuditEvents(mark, controlplane.ByUser(deliver.User), controlplane.OnResource("", "secrets"), func(e auditv1.Event) bool {
			return e.Verb == "get" && e.ObjectRef.Name == cluster+"-fairlead-source"
		})
		return controlplanetest.Holds(err == nil && len(reads) >= times, "%d of %d (%v)", len(reads), times, err)
	})
}

// othersLabel: a policy refuses it.
func (m *management) othersLabel(client.Client) {
	second := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "second", Labels: own("c")}}
	second.Spec.ControlPlaneRef = controlPlane("second")
	second.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "178.170.32.60", Port: 6443}
	if err := m.client.Create(m.Context(), second.DeepCopy()); err == nil || !strings.Contains(err.Error(), "the label fairlead.io/cluster of a Cluster is the Cluster's own name") {
		m.Errorf("another's label: %v", err)
	}
	second.Labels = nil
	m.must(m.client.Create(m.Context(), second))
}

// taken checks that a Secret of somebody else under our name is left alone. If a set named it, Cluster API would apply
// its content, and delete it with the set.
func (m *management) taken(workload client.Client) {
	kubeconfig := &corev1.Secret{} // by that of c, Cluster API reaches the same API server
	m.must(m.client.Get(m.Context(), m.key("c-kubeconfig"), kubeconfig))
	m.must(m.client.Create(m.Context(), observe.SecretOf(m.namespace, "second", kubeconfig.Data["value"])))
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "foreign"}}
	theirs := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "second-fairlead-source"}, Type: addonsv1.ClusterResourceSetSecretType,
		Data: map[string][]byte{"x": []byte("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: foreign}}")},
	}
	m.must(m.client.Create(m.Context(), theirs))
	m.merge("second", `{"metadata":{"labels":{"fairlead.io/cluster":"second"}}}`)
	if d := m.await("second", "False", "Blocked").Status.Delivered; !strings.Contains(d.Message, "Secret second-fairlead-source: it exists, and fairlead-operator deliver did not make it") {
		m.Errorf("%+v", d)
	}
	m.awaitLooks("away", 3)
	if names, err := m.sets(m.Context(), "second"); len(names) > 0 || err != nil {
		m.Error(names, err)
	}
	if err := workload.Get(m.Context(), client.ObjectKeyFromObject(foreign), foreign); !apierrors.IsNotFound(err) {
		m.Errorf("what is in it arrives: %v", err)
	}
}

func (m *management) unlabelled(workload client.Client) {
	m.merge("c", `{"metadata":{"labels":{"fairlead.io/cluster":null}}}`)
	m.await("c", "", "")
	m.awaitNoSets("c")
	if _, err := arrived(m.Context(), workload); err != nil {
		m.Errorf("what is in the workload cluster: %v", err)
	}
	m.merge("c", `{"metadata":{"labels":{"fairlead.io/cluster":"c"}}}`)
	m.await("c", "True", "Delivered")
}

func (m *management) deleted(workload client.Client) {
	m.must(m.client.Delete(m.Context(), &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "c"}}))
	m.awaitNoSets("c")
	if _, err := arrived(m.Context(), workload); err != nil {
		m.Errorf("what is in the workload cluster: %v", err)
	}
}

func (m *management) unreached(client.Client) {
	d := m.await("away", "False", "NotDelivered").Status.Delivered
	if !strings.Contains(d.Message, "away-fairlead-source") || d.Since == nil || d.HMAC != "" {
		m.Errorf("%+v", d)
	}
	page, err := m.deliver.Metrics(m.Context())
	m.must(err)
	if !strings.Contains(page, `fairlead_deliver_clusters{state="NotApplied"} 1`) {
		m.Error(page)
	}
}
