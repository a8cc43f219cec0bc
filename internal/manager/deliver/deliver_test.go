package deliver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/delivery"
)

// fleet counts requests: its clients stand in for the API server and, for reads of what is watched, for caches. Cluster API is
// played. Against the real ones, one cluster is followed in e2e/deliver.
type fleet struct {
	*testing.T
	*Reconciler
	objects  client.Client
	requests map[string]int
	fails    func() bool // whether a write fails, nil for none
}

const n = 20

func newFleet(t *testing.T) *fleet {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, clusterv1.AddToScheme, addonsv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	f := &fleet{T: t, requests: map[string]int{}}
	count := func(verb string, o any) {
		f.requests[verb+" "+strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", o), "*v1."), "*v1beta2.")]++
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.ProxyReport{}).WithIndex(&clusterv1.Cluster{}, labelIndex, byLabel)
	for i := range n {
		name := fmt.Sprintf("c%d", i)
		builder.WithObjects(
			&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "org", Name: name, UID: types.UID("u" + name), Labels: map[string]string{v1alpha1.DeliverLabel: name}}},
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "org", Name: name + "-cluster-values", UID: types.UID("s" + name)}, Data: map[string][]byte{
				"values": []byte(`cluster: {proxy: {http: "http://u:p@proxy:1", https: "", noProxy: ` + name + `}}`),
			}},
			&v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{Namespace: "org", Name: name}, Status: v1alpha1.ProxyReportStatus{
				Secrets: []v1alpha1.SecretRecord{{Role: "cluster-values", Name: name + "-cluster-values", UID: types.UID("s" + name), HMAC: "h1"}},
			}},
			&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "org", Name: "plain" + name}},
		)
	}
	f.objects = builder.Build()
	counting := interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if f.requests["apply"]++; f.fails != nil && f.fails() {
				return errors.New("no answer")
			}
			return c.Apply(ctx, o, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			count("delete", o)
			return c.Delete(ctx, o, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			f.requests["patch status"]++
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	}
	live := interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		count("get", o)
		return c.Get(ctx, key, o, opts...)
	}}
	f.Reconciler = &Reconciler{
		Options: Options{WorkloadNamespace: "fairlead-system", Renew: time.Hour, ReportAfter: 10 * time.Minute},
		Client:  interceptor.NewClient(f.objects.(client.WithWatch), counting), Live: interceptor.NewClient(f.objects.(client.WithWatch), live), memory: newMemory(),
	}
	return f
}

// round reconciles every Cluster, and returns the requests.
func (f *fleet) round() map[string]int {
	f.Helper()
	clear(f.requests)
	list := &clusterv1.ClusterList{}
	if err := f.objects.List(f.Context(), list); err != nil {
		f.Fatal(err)
	}
	for i := range list.Items {
		if _, err := f.Reconcile(f.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])}); err != nil {
			f.Fatal(err)
		}
	}
	return f.requests
}

// apply plays Cluster API: everything that is there is applied.
func (f *fleet) apply() {
	f.Helper()
	for i := range n {
		name := fmt.Sprintf("c%d", i)
		secret := &corev1.Secret{}
		if err := f.objects.Get(f.Context(), types.NamespacedName{Namespace: "org", Name: name + "-fairlead-source"}, secret); err != nil {
			f.Fatal(err)
		}
		yes := true
		binding := &addonsv1.ClusterResourceSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "org", Name: name}}
		_ = f.objects.Delete(f.Context(), binding.DeepCopy())
		binding.Spec = addonsv1.ClusterResourceSetBindingSpec{ClusterName: name, Bindings: []addonsv1.ResourceSetBinding{{
			ClusterResourceSetName: secret.Name,
			Resources: []addonsv1.ResourceBinding{{
				ResourceRef: addonsv1.ResourceRef{Kind: "Secret", Name: secret.Name}, Hash: delivery.Hash(secret.Data[delivery.Key]), Applied: &yes, LastAppliedTime: metav1.Now(),
			}},
		}}}
		if err := f.objects.Create(f.Context(), binding); err != nil {
			f.Fatal(err)
		}
	}
}

func (f *fleet) want(when string, got, want map[string]int) {
	f.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

func TestTheRequestsOfAFleet(t *testing.T) {
	f := newFleet(t)
	f.want("all are new", f.round(), map[string]int{"get Secret": 3 * n, "apply": 4 * n})
	f.want("Cluster API has not answered", f.round(), map[string]int{})
	f.apply()
	f.want("it has", f.round(), map[string]int{"patch status": n})
	f.want("nothing has changed", f.round(), map[string]int{})

	f.memory = newMemory()
	f.want("a restart", f.round(), map[string]int{"get Secret": 3 * n})

	f.backdate(2 * time.Hour)
	f.want("a renewal is due, of what is not applied", f.round(), map[string]int{"get Secret": 2 * n, "patch status": n}) // that it is not
	f.apply()
	f.want("applied", f.round(), map[string]int{"patch status": n})
	f.backdate(2 * time.Hour)
	f.apply()
	f.want("the hourly renewal", f.round(), map[string]int{"get Secret": 2 * n, "apply": n})
	f.apply()
	f.want("which is no news", f.round(), map[string]int{})

	f.unlabel()
	f.want("no label any more", f.round(), map[string]int{"delete ClusterResourceSet": 2 * n, "patch status": n})
	f.want("nothing is left", f.round(), map[string]int{})
}

// A turn is at any part of a second, and what a payload says of its time is not.
func TestALookIsNotRepeatedBeforeTheNextTurn(t *testing.T) {
	f := newFleet(t)
	f.Renew = time.Second
	key, began, rounds := types.NamespacedName{Namespace: "org", Name: "c0"}, time.Now(), 0
	for ; time.Since(began) < 1500*time.Millisecond; rounds++ {
		if _, err := f.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
	}
	turns := int(time.Since(began)/time.Second) + 2
	if reads := f.requests["get Secret"]; reads > 2*turns+1 || rounds <= 2*turns+1 {
		t.Errorf("%d reads in %d turns and %d rounds", reads, turns, rounds)
	}
}

// backdate has every payload sealed, and read, earlier.
func (f *fleet) backdate(by time.Duration) {
	f.Helper()
	secrets := &corev1.SecretList{}
	if err := f.objects.List(f.Context(), secrets, client.MatchingLabels{delivery.Label: string(delivery.Source)}); err != nil || len(secrets.Items) != n {
		f.Fatal(len(secrets.Items), err)
	}
	for i := range secrets.Items {
		s := &secrets.Items[i]
		document, at, ok := delivery.Open(s.Data[delivery.Key])
		if !ok {
			f.Fatal("no payload")
		}
		s.Data[delivery.Key] = seal(document, at.Add(-by))
		if err := f.objects.Update(f.Context(), s); err != nil {
			f.Fatal(err)
		}
		cluster := types.NamespacedName{Namespace: s.Namespace, Name: s.Labels[v1alpha1.DeliverLabel]}
		last, _ := f.memory.lastContent(cluster)
		last.looked = last.looked.Add(-by)
		f.memory.setContent(cluster, last)
	}
}

func (f *fleet) unlabel() {
	f.Helper()
	list := &clusterv1.ClusterList{}
	if err := f.objects.List(f.Context(), list); err != nil {
		f.Fatal(err)
	}
	for i := range list.Items {
		list.Items[i].Labels = nil
		if err := f.objects.Update(f.Context(), &list.Items[i]); err != nil {
			f.Fatal(err)
		}
	}
}

// The Secret with the password is given for the Cluster whose report names it, as the operator wrote it.
func TestASecretThatTheOperatorDidNotWriteIsNotDelivered(t *testing.T) {
	f := newFleet(t)
	secret := &corev1.Secret{}
	if err := f.objects.Get(t.Context(), types.NamespacedName{Namespace: "org", Name: "c0-cluster-values"}, secret); err != nil {
		t.Fatal(err)
	}
	if err := f.objects.Delete(t.Context(), secret.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "org", Name: "c0-cluster-values", UID: "another"}, Data: secret.Data}
	if err := f.objects.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	f.round()
	f.isBlocked("c0", "c0-cluster-values is not the one that the operator wrote")
	if err := f.objects.Get(t.Context(), types.NamespacedName{Namespace: "org", Name: "c0-fairlead-source"}, &corev1.Secret{}); err == nil {
		t.Error("it is given")
	}
}

// A set selects by the label: it would give one Cluster's settings to the other.
func TestTwoClustersWithTheSameLabelGetNothingNew(t *testing.T) {
	f := newFleet(t)
	f.round()
	second, report := &clusterv1.Cluster{}, &v1alpha1.ProxyReport{}
	err := errors.Join(
		f.objects.Get(t.Context(), types.NamespacedName{Namespace: "org", Name: "c1"}, second),
		f.objects.Get(t.Context(), types.NamespacedName{Namespace: "org", Name: "c0"}, report),
	)
	second.Labels[v1alpha1.DeliverLabel], report.Status.Secrets[0].HMAC = "c0", "h2"
	if err := errors.Join(err, f.objects.Update(t.Context(), second), f.objects.Status().Update(t.Context(), report)); err != nil {
		t.Fatal(err)
	}
	f.want("c0 has other settings", f.round(), map[string]int{"patch status": 2})
	f.isBlocked("c0", "c1")
	f.isBlocked("c1", `"c0"`)
}

// isBlocked asks for what a report says.
func (f *fleet) isBlocked(cluster, message string) {
	f.Helper()
	report := &v1alpha1.ProxyReport{}
	if err := f.objects.Get(f.Context(), types.NamespacedName{Namespace: "org", Name: cluster}, report); err != nil {
		f.Fatal(err)
	}
	if d := report.Status.Delivered; d == nil || d.State != v1alpha1.DeliveryBlocked || !strings.Contains(d.Message, message) {
		f.Errorf("%s: %+v", cluster, d)
	}
}

// A set would have Cluster API apply what is in it.
func TestNoSetIsMadeWhereASecretOfItsNameIsSomebodyElses(t *testing.T) {
	for _, part := range parts {
		t.Run(string(part), func(t *testing.T) {
			f := newFleet(t)
			theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "org", Name: part.Name("c0")}, Type: secretType, Data: map[string][]byte{"x": []byte("{kind: ConfigMap}")}}
			if err := f.objects.Create(t.Context(), theirs); err != nil {
				t.Fatal(err)
			}
			f.round()
			f.isBlocked("c0", "Secret "+theirs.Name+": it exists, and fairlead-operator deliver did not make it")
			for _, part := range parts {
				key := types.NamespacedName{Namespace: "org", Name: part.Name("c0")}
				if err := f.objects.Get(t.Context(), key, &addonsv1.ClusterResourceSet{}); !apierrors.IsNotFound(err) {
					t.Errorf("set %s: %v", key.Name, err)
				}
			}
			again := &corev1.Secret{}
			if err := f.objects.Get(t.Context(), client.ObjectKeyFromObject(theirs), again); err != nil || again.ResourceVersion != theirs.ResourceVersion {
				t.Errorf("it is changed: %v", err)
			}
		})
	}
}

// The garbage collector deletes a Secret whose set is gone, whatever has its name now.
func TestASecretGoesOnWithASetThatIsMadeAnew(t *testing.T) {
	for _, part := range parts {
		t.Run(string(part), func(t *testing.T) {
			f := newFleet(t)
			f.round()
			before := f.secretOf("c0", part)
			before.OwnerReferences[0].UID = "old" // the fake client gives none to what is applied: the new set's is empty
			if err := f.objects.Update(t.Context(), before); err != nil {
				t.Fatal(err)
			}
			set := setOf(&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "org", Name: "c0"}}, part)
			if err := f.objects.Delete(t.Context(), set); err != nil {
				t.Fatal(err)
			}
			f.want("a set is deleted", f.round(), map[string]int{"get Secret": 3, "apply": 2})
			after := f.secretOf("c0", part)
			if !owned(after, "") || !cmp.Equal(after.Data, before.Data) {
				t.Errorf("owners %v", after.OwnerReferences)
			}
			f.want("the next time", f.round(), map[string]int{})
		})
	}
}

// The program ends, or the API server does not answer, after some write: the remaining objects are written the next
// time.
func TestWhatWasNotWrittenIsWrittenTheNextTime(t *testing.T) {
	for _, restart := range []bool{false, true} {
		for writes := range 4 {
			f := newFleet(t)
			f.breaksOff("c0", writes, restart)
			f.round()
			for part, document := range map[delivery.Part]string{delivery.Namespace: "kind: Namespace", delivery.Source: "kind: Secret"} {
				if got := f.secretOf("c0", part).Data[delivery.Key]; !strings.Contains(string(got), document) {
					t.Errorf("restart %t, after %d writes: %s", restart, writes, part)
				}
			}
		}
	}
}

// The same where a set is made anew: nothing is known any more of what was given.
func TestASecretThatWasNotWrittenWithANewSetIsWrittenTheNextTime(t *testing.T) {
	for _, part := range parts {
		for _, restart := range []bool{false, true} {
			f := newFleet(t)
			f.round()
			set := setOf(&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "org", Name: "c0"}}, part)
			for _, o := range []client.Object{set, f.secretOf("c0", part)} {
				if err := f.objects.Delete(t.Context(), o); err != nil {
					t.Fatal(err)
				}
			}
			f.breaksOff("c0", 1, restart)
			f.round()
			f.secretOf("c0", part)
		}
	}
}

// breaksOff reconciles a Cluster until so many writes are made.
func (f *fleet) breaksOff(cluster string, writes int, restart bool) {
	f.Helper()
	clear(f.requests)
	f.fails = func() bool { return f.requests["apply"] > writes }
	if _, err := f.Reconcile(f.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "org", Name: cluster}}); err == nil {
		f.Fatal("no error")
	}
	if f.fails = nil; restart {
		f.memory = newMemory()
	}
}

// secretOf returns the Secret of a part.
func (f *fleet) secretOf(cluster string, part delivery.Part) *corev1.Secret {
	f.Helper()
	secret := &corev1.Secret{}
	if err := f.objects.Get(f.Context(), types.NamespacedName{Namespace: "org", Name: part.Name(cluster)}, secret); err != nil {
		f.Fatal(err)
	}
	return secret
}
