package deliver_test

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/deliver"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/rights"
	"github.com/fairlead-io/fairlead/e2e/rights/rightstest"
	"github.com/fairlead-io/fairlead/internal/core/delivery"
)

// everywhere has the rights of deliver's token by RBAC, in each namespace alike.
var everywhere = rights.Table{
	"clusters.cluster.x-k8s.io":                          "list watch",
	"proxyreports.fairlead.io":                           "list watch",
	"proxyreports.fairlead.io/status":                    "patch",
	"secrets":                                            "get create patch",
	"clusterresourcesets.addons.cluster.x-k8s.io":        "list watch create patch delete",
	"clusterresourcesetbindings.addons.cluster.x-k8s.io": "list watch",
}

// letThrough has the writes that admission allows somebody with deliver's name and every right. The sweep changes no
// status, and none of its samples is ours.
var letThrough = rights.Table{"proxyreports.fairlead.io/status": "patch update"}

func TestAStolenTokenMayDoExactlyWhatIsListed(t *testing.T) {
	m := newManagement(t)
	account, err := m.cp.ServiceAccount(t.Context(), operator.Namespace, deliver.ServiceAccount)
	m.must(err)
	rightstest.May(t, m.cp, account, everywhere, map[string]rights.Table{m.namespace: everywhere, operator.Namespace: everywhere})
	thief := clientFor(t, account)
	t.Run("it writes what it is there for", func(t *testing.T) { m.tryObjects(t, thief) })
	t.Run("with more rights, by mistake", func(t *testing.T) {
		thief := rightstest.Thief{Config: account, Namespace: operator.Namespace, Name: deliver.ServiceAccount}
		rightstest.AsAdministrator(t, m.cp.Admin(), thief, m.namespace, rights.Union(letThrough, rights.Exempt))
	})
}

func sealed(document []byte) []byte {
	return delivery.Seal(document, time.Now(), [delivery.NonceBytes]byte{1})
}

const admin = "\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: x}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\nsubjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: thief}]\n"

// What begins where the comment should be, and goes on behind a string in which the fixed text is lost.
const (
	bindingBefore = `{kind: ClusterRoleBinding, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: x}, a: "`
	bindingAfter  = `", roleRef: {kind: ClusterRole, name: cluster-admin}, subjects: [{kind: User, name: thief}]}`
	roleBefore    = `{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: x}, a: "`
	roleAfter     = `", rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}]}`
)

// around has an object in place of the comment and, instead of all from some text of the document on, its end.
func around(t *testing.T, payload []byte, before, from, after string) []byte {
	t.Helper()
	comment, rest, _ := strings.Cut(string(payload), "\n")
	fixed, _, is := strings.Cut(rest, from)
	fixed = strings.ReplaceAll(fixed, `"`, "'")
	after += strings.Repeat(" ", (3-len(after)%3)%3)
	text := []byte(before + strings.Repeat(" ", len(comment)-len(before)) + "\n" + fixed + after)
	object := map[string]any{}
	if err := yaml.Unmarshal(text, &object); err != nil || !is || object["metadata"].(map[string]any)["name"] != "x" {
		t.Fatalf("no object of a thief's: %v, %v", object, err)
	}
	return text
}

func ours(namespace string, part delivery.Part, payload []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: part.Name("c"), Labels: map[string]string{v1alpha1.DeliverLabel: "c", delivery.Label: string(part)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "addons.cluster.x-k8s.io/v1beta2", Kind: "ClusterResourceSet", Name: part.Name("c"), UID: "u"}},
		},
		Type: addonsv1.ClusterResourceSetSecretType, Data: map[string][]byte{delivery.Key: payload},
	}
}

type resourceSet = addonsv1.ClusterResourceSet

func set(namespace string, part delivery.Part) *resourceSet {
	return &resourceSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: part.Name("c"), Labels: map[string]string{v1alpha1.DeliverLabel: "c", delivery.Label: string(part)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "c", UID: "u"}},
		},
		Spec: addonsv1.ClusterResourceSetSpec{
			ClusterSelector: metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.DeliverLabel: "c"}},
			Resources:       []addonsv1.ResourceRef{{Kind: "Secret", Name: part.Name("c")}}, Strategy: part.Strategy(),
		},
	}
}

// tryObjects tries to have Cluster API apply something else, or somewhere else.
func (m *management) tryObjects(t *testing.T, thief client.Client) {
	t.Helper()
	document, err := delivery.SourceOf([]byte(`cluster: {proxy: {http: "http://u:p@192.0.2.1:3128", noProxy: "`+strings.Repeat("a.example,", 8000)+`"}}`), "fairlead-system")
	m.must(err)
	good := sealed(document)
	namespace := sealed(delivery.NamespaceOf("fairlead-system"))
	controlplanetest.Await(t, "the policy", func(ctx context.Context) (bool, error) {
		foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "foreign"}}
		err := thief.Create(ctx, foreign, client.DryRunAll)
		return controlplanetest.Holds(forbidden(err), "it says %v", err)
	})
	replaced := func(old, other string) []byte {
		if !strings.Contains(string(good), old) {
			t.Errorf("there is no %s", old)
		}
		return []byte(strings.Replace(string(good), old, other, 1))
	}
	secret := func(part delivery.Part, payload []byte) client.Object { return ours(m.namespace, part, payload) }
	source := func(payload []byte) client.Object { return secret(delivery.Source, payload) }
	changedSecret := func(change func(*corev1.Secret)) client.Object {
		s := ours(m.namespace, delivery.Source, good)
		change(s)
		return s
	}
	changedSet := func(part delivery.Part, change func(*resourceSet)) client.Object {
		s := set(m.namespace, part)
		change(s)
		return s
	}
	theirs := changedSecret(func(s *corev1.Secret) { s.Name, s.Labels, s.OwnerReferences = "d-fairlead-source", nil, nil })
	m.must(m.client.Create(t.Context(), theirs))
	for name, object := range map[string]client.Object{
		"the settings, 80 KiB of them": source(good),
		"the namespace":                secret(delivery.Namespace, namespace),
		"the set of settings":          set(m.namespace, delivery.Source),
		"the set of the namespace":     set(m.namespace, delivery.Namespace),
	} {
		if err := thief.Create(t.Context(), object, client.DryRunAll); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, object := range map[string]client.Object{
		"another document behind":       source(append(good, admin...)),
		"another document before":       source(append([]byte(admin), good...)),
		"another instead":               source(sealed([]byte(admin))),
		"another in the comment":        source(append(good[:60:60], append([]byte(admin+"#  "), good[60:]...)...)),
		"another around the settings":   source(around(t, good, bindingBefore, `{"`, bindingAfter)),
		"another around the namespace":  secret(delivery.Namespace, around(t, namespace, roleBefore, `"fairlead-system"`, roleAfter)),
		"another in the namespace":      source(replaced(`"fairlead-system"`, "x"+admin+"#")),
		"another in the data":           source(replaced(`data:  {"`, "data: {}"+admin+`#{"`)),
		"other white space in the data": source(replaced(`{"HTTPS_PROXY"`, "{\r\n\"HTTPS_PROXY\"")),
		"another Secret":                source(replaced("name: fairlead-source", "name: fairlead-sourcd")),
		"another kind":                  source(replaced("kind: Secret", "kind: Sekret")),
		"settings as the namespace":     secret(delivery.Namespace, good),
		"the namespace as settings":     source(namespace),
		"nothing":                       source(nil),
		"a second key":                  changedSecret(func(s *corev1.Secret) { s.Data["more"] = []byte(admin) }),
		"another key":                   changedSecret(func(s *corev1.Secret) { s.Data = map[string][]byte{"x": []byte(admin)} }),
		"another type":                  changedSecret(func(s *corev1.Secret) { s.Type = "Opaque" }),
		"another name":                  changedSecret(func(s *corev1.Secret) { s.Name = "other" }),
		"another part":                  changedSecret(func(s *corev1.Secret) { s.Labels[delivery.Label] = "admin" }),
		"another owner":                 changedSecret(func(s *corev1.Secret) { s.OwnerReferences[0].Name = "theirs" }),
		"a set of all clusters": changedSet(delivery.Source, func(s *resourceSet) {
			s.Spec.ClusterSelector = metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "x", Operator: "DoesNotExist"}}}
		}),
		"a set of more clusters": changedSet(delivery.Source, func(s *resourceSet) {
			s.Spec.ClusterSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "x", Operator: metav1.LabelSelectorOpExists}}
		}),
		"a set of another cluster": changedSet(delivery.Source, func(s *resourceSet) { s.Spec.ClusterSelector.MatchLabels[v1alpha1.DeliverLabel] = "d" }),
		"a set of more Secrets": changedSet(delivery.Source, func(s *resourceSet) {
			s.Spec.Resources = append(s.Spec.Resources, addonsv1.ResourceRef{Kind: "Secret", Name: "theirs"})
		}),
		"a set of a ConfigMap":            changedSet(delivery.Source, func(s *resourceSet) { s.Spec.Resources[0].Kind = "ConfigMap" }),
		"a set that renews the namespace": changedSet(delivery.Namespace, func(s *resourceSet) { s.Spec.Strategy = "Reconcile" }),
		"a set of another name":           changedSet(delivery.Source, func(s *resourceSet) { s.Name = "other" }),
		"a set of another owner":          changedSet(delivery.Source, func(s *resourceSet) { s.OwnerReferences[0].Name = "d" }),
	} {
		if err := thief.Create(t.Context(), object, client.DryRunAll); !forbidden(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m.tryOthers(t, thief, theirs)
}

// tryOthers tries what is no creation.
func (m *management) tryOthers(t *testing.T, thief client.Client, theirs client.Object) {
	t.Helper()
	report := &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "r"}}
	m.must(m.client.Create(t.Context(), report))
	report.Status = v1alpha1.ProxyReportStatus{Mode: "Proxied"}
	m.must(m.client.Status().Update(t.Context(), report))
	foreign := set(m.namespace, delivery.Source)
	foreign.Name, foreign.Labels, foreign.OwnerReferences = "theirs", nil, nil
	m.must(m.client.Create(t.Context(), foreign))
	status := func(text string) error {
		return thief.Status().Patch(t.Context(), report.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"status":`+text+`}`)), client.DryRunAll)
	}
	if err := status(`{"delivered":{"state":"Applied","hmac":"x"}}`); err != nil {
		t.Errorf("what was delivered: %v", err)
	}
	take := `{"metadata":{"labels":{"fairlead.io/cluster":"d","fairlead.io/delivery":"source"}},"data":{"objects":"` + base64.StdEncoding.EncodeToString([]byte("x")) + `"}}`
	for name, err := range map[string]error{
		"the mode":                status(`{"mode":"Direct"}`),
		"a condition":             status(`{"delivered":{"state":"Applied"},"conditions":[{"type":"Ready","status":"True","reason":"x","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}`),
		"somebody's Secret":       thief.Patch(t.Context(), theirs.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(take)), client.DryRunAll),
		"deleting somebody's set": thief.Delete(t.Context(), foreign.DeepCopy(), client.DryRunAll),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func forbidden(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), deliver.Policy)
}

// Whatever the roles lacked would be refused, and whatever they have too much would not be used.
func (m *management) usesEveryRight(client.Client) {
	rightstest.UsesAll(m, m.cp, deliver.User, everywhere)
	events, err := m.cp.AuditEvents(0, controlplane.ByUser(deliver.User))
	m.must(err)
	for _, event := range events {
		if event.ObjectRef != nil && strings.HasSuffix(event.ObjectRef.Name, "-kubeconfig") {
			m.Errorf("it reads a kubeconfig: %s", event.RequestURI)
		}
	}
}

func TestItRefusesToRunWithoutItsCage(t *testing.T) {
	m := newManagement(t)
	m.must(m.client.Delete(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: deliver.Policy}}))
	account, err := m.cp.ServiceAccount(t.Context(), operator.Namespace, deliver.ServiceAccount)
	m.must(err)
	controlplanetest.Await(t, "the end of the policy", func(ctx context.Context) (bool, error) {
		foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "foreign"}}
		return true, clientFor(t, account).Create(ctx, foreign, client.DryRunAll)
	})
	if _, err := deliver.Start(t.Context(), m.cp); err == nil || !strings.Contains(err.Error(), "refusing to run without the admission policy "+deliver.Policy) {
		t.Errorf("%v", err)
	}
}
