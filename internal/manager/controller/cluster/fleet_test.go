package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/provider"
	"github.com/fairlead-io/fairlead/internal/manager/controller/corporateproxy"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

func clusterKey(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: name}
}

// countedFleet is a fleet in a fake API server, which counts the requests. It takes Secrets without keeping them.
type countedFleet struct {
	*testing.T
	*Reconciler
	objects  client.WithWatch
	recorder *events.FakeRecorder

	mu       sync.Mutex
	requests map[string]int
	applied  map[string]string // by name: what was sent
	fail     map[string]error  // by request: what is answered instead
}

func newCountedFleet(t *testing.T, clusters int, objects ...client.Object) *countedFleet {
	t.Helper()
	scheme, err := machinery.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	f := &countedFleet{T: t, requests: map[string]int{}, applied: map[string]string{}, fail: map[string]error{}, recorder: events.NewFakeRecorder(10 * clusters)}
	objects = append(objects,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: settings.MemorySecret}, Data: map[string][]byte{settings.MemoryKey: make([]byte, apply.KeyBytes)}},
		sourceWith("old-password"),
		&v1alpha1.CorporateProxy{
			ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "default"},
			Spec:       v1alpha1.CorporateProxySpec{Source: v1alpha1.ProxySource{ValuesRef: &v1alpha1.SecretReference{Name: "source"}}},
		})
	for i := range clusters {
		objects = append(objects, aCluster(i))
	}
	f.objects = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.ProxyReport{}, &v1alpha1.CorporateProxy{}, &v1alpha1.ProxyOverride{}).Build()
	f.restart()
	return f
}

func sourceWith(password string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "source"},
		Data:       map[string][]byte{"http": []byte("http://me:" + password + "@proxy.example:3128"), "noProxy": []byte("corp.example,172.16.0.0/16")},
	}
}

func aCluster(i int) *clusterv1.Cluster {
	name := fmt.Sprint("c", i)
	return &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Generation: 1},
		Spec:       clusterv1.ClusterSpec{ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: fmt.Sprintf("10.0.%d.%d", i/250, i%250), Port: 6443}},
	}
}

// restart begins with a reconciler that remembers nothing.
func (f *countedFleet) restart() {
	counted := interceptor.NewClient(f.objects, interceptor.Funcs{
		List: f.list, Create: f.create, Patch: f.patch, SubResourcePatch: f.patchStatus,
	})
	f.Reconciler = (&Reconciler{
		Client: counted, Live: f.objects, Events: f.recorder, Namespace: "system", Builtin: provider.Builtin, Interval: time.Hour,
		Proxies: &settings.Installations{Client: f.objects, Namespace: "system"},
		Key:     &settings.Key{Client: counted, Live: f.objects, Namespace: "system"},
	}).Begin()
}

func (f *countedFleet) answer(request string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests[request]++
	return f.fail[request]
}

// list has no machines, since the fake API server has no index of them.
func (f *countedFleet) list(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	if _, machines := list.(*metav1.PartialObjectMetadataList); machines {
		return nil
	}
	return c.List(ctx, list, opts...)
}

func (f *countedFleet) create(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.CreateOption) error {
	if err := f.answer("create"); err != nil {
		return err
	}
	object.SetUID(types.UID("report of " + object.GetName()))
	err := c.Create(ctx, object, opts...)
	object.SetManagedFields([]metav1.ManagedFieldsEntry{{}}) // as an API server answers; the fake one keeps none
	return err
}

func (f *countedFleet) patch(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if patch.Type() == types.ApplyPatchType {
		return f.apply(object, patch)
	}
	if err := f.answer("patch"); err != nil {
		return err
	}
	return c.Patch(ctx, object, patch, opts...)
}

func (f *countedFleet) patchStatus(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	if err := f.answer(sub + " of " + object.GetObjectKind().GroupVersionKind().Kind); err != nil {
		return err
	}
	return c.SubResource(sub).Patch(ctx, object, patch, opts...)
}

func (f *countedFleet) apply(secret client.Object, patch client.Patch) error {
	if err := f.answer("apply"); err != nil {
		return err
	}
	content, err := patch.Data(secret)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.applied[secret.GetName()] = string(content)
	secret.SetUID(types.UID(secret.GetName()))
	then := metav1.Unix(1000, 0)
	secret.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: apply.FieldManager, Operation: metav1.ManagedFieldsOperationApply, Time: &then}})
	return nil
}

// reconcileAll reconciles each cluster once, and returns the requests to the API server.
func (f *countedFleet) reconcileAll(clusters int) map[string]int {
	f.Helper()
	before := maps.Clone(f.requests)
	for i := range clusters {
		if _, err := f.reconcile(context.Background(), ctrl.Request{NamespacedName: clusterKey(fmt.Sprint("c", i))}); err != nil && len(f.fail) == 0 {
			f.Fatal(err)
		}
	}
	asked := map[string]int{}
	for request, n := range f.requests {
		if n > before[request] {
			asked[request] = n - before[request]
		}
	}
	return asked
}

func (f *countedFleet) setPassword(password string) {
	f.Helper()
	if err := f.objects.Update(context.Background(), sourceWith(password)); err != nil {
		f.Fatal(err)
	}
}

// describeProxy gives the CorporateProxy the status that its own controller writes.
func (f *countedFleet) describeProxy() *v1alpha1.CorporateProxy {
	f.Helper()
	proxies := &corporateproxy.Reconciler{Client: f.objects, Proxies: f.Proxies}
	if _, err := proxies.Reconcile(context.Background(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "default"}}); err != nil {
		f.Fatal(err)
	}
	return f.proxy()
}

func (f *countedFleet) proxy() *v1alpha1.CorporateProxy {
	f.Helper()
	proxy := &v1alpha1.CorporateProxy{}
	if err := f.objects.Get(context.Background(), types.NamespacedName{Name: "default"}, proxy); err != nil {
		f.Fatal(err)
	}
	return proxy
}

func (f *countedFleet) want(what string, got, want any) {
	f.Helper()
	if !reflect.DeepEqual(got, want) {
		f.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestAFanOutCostsTwoSecretsAndOneStatusPerClusterAndTheRestOnce(t *testing.T) {
	const n = 20
	f := newCountedFleet(t, n)
	f.want("the first fill", f.reconcileAll(n), map[string]int{"create": n, "patch": n, "apply": 2 * n, "status of ProxyReport": n})
	f.want("nothing changed", f.reconcileAll(n), map[string]int{})
	for len(f.recorder.Events) > 0 {
		<-f.recorder.Events
	}
	described := f.describeProxy()
	f.setPassword("new-password")
	f.want("a new password", f.reconcileAll(n), map[string]int{"apply": 2 * n, "status of ProxyReport": n, "status of CorporateProxy": 1})
	f.want("nothing changed", f.reconcileAll(n), map[string]int{})
	f.changes.sweep(context.Background(), time.Now().Add(time.Minute))
	if proxy := f.proxy(); proxy.Status.Clusters != described.Status.Clusters || proxy.Status.Entries != 2 || proxy.Status.Applying != nil {
		t.Errorf("the mark changed the rest of the status, or stays: %+v", proxy.Status)
	}
	if events := len(f.recorder.Events); events != 1 {
		t.Errorf("a fan-out has %d events", events)
	}
	if f.Proxies.Parses != 2 || f.memory.linted != n {
		t.Errorf("the CorporateProxy was parsed %d times for two states of it, and clients were asked %d times about %d lists", f.Proxies.Parses, f.memory.linted, n)
	}
}

// A list of 4,096 entries takes a processor a fifth of a second, and clusters wait for their Secrets.
func TestNoSecretWaitsForAdvice(t *testing.T) {
	f := newCountedFleet(t, 1)
	f.fail["apply"] = errors.New("not now")
	f.reconcileAll(1)
	if f.memory.linted != 0 {
		t.Error("the list was linted before the Secrets were written")
	}
	f.fail = map[string]error{}
	f.reconcileAll(1)
	if f.memory.linted != 1 {
		t.Errorf("the list was linted %d times", f.memory.linted)
	}
}

func TestAStatusThatCannotBeWrittenLeavesTheClusterInDoubt(t *testing.T) {
	f := newCountedFleet(t, 2)
	f.reconcileAll(2)
	f.fail["status of ProxyReport"] = apierrors.NewConflict(corev1.Resource("x"), "c0", errors.New("somebody was faster"))
	f.setPassword("new-password")
	f.reconcileAll(2)
	delete(f.fail, "status of ProxyReport")
	f.setPassword("old-password") // what the reports record
	f.want("taken back", f.reconcileAll(2), map[string]int{"apply": 4})
	f.want("no doubt is left", f.reconcileAll(2), map[string]int{})
}

func TestAMarkThatAnEarlierProcessLeftHasEveryClusterAppliedAgain(t *testing.T) {
	f := newCountedFleet(t, 3)
	f.reconcileAll(3)
	f.setPassword("new-password")
	f.reconcileAll(1) // and dies
	f.restart()
	f.setPassword("old-password")
	asked := f.reconcileAll(3)
	if asked["apply"] != 6 {
		t.Errorf("after a crash: %v", asked)
	}
	f.changes.sweep(context.Background(), time.Now().Add(time.Minute))
	if applying := f.proxy().Status.Applying; applying != nil {
		t.Errorf("the mark stays: %+v", applying)
	}
	f.restart()
	f.want("the next process", f.reconcileAll(3), map[string]int{})
}

func TestAMarkIsNotRemovedWhileAClusterIsInDoubt(t *testing.T) {
	f := newCountedFleet(t, 1)
	f.reconcileAll(1)
	f.fail["status of ProxyReport"] = apierrors.NewInternalError(errors.New("no"))
	f.setPassword("new-password")
	f.reconcileAll(1)
	f.changes.sweep(context.Background(), time.Now().Add(time.Minute))
	if applying := f.proxy().Status.Applying; applying == nil || !applying.Machines {
		t.Errorf("the mark is %+v", applying)
	}
}
