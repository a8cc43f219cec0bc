package observe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/probe"
)

// fleet is a management cluster in a fake API server, which counts the writes, and refuses what the policy would.
type fleet struct {
	*testing.T
	*Sweeper
	objects client.WithWatch

	mu     sync.Mutex
	writes int
	open   bool // there is no policy
}

func newFleet(t *testing.T, objects ...client.Object) *fleet {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), clusterv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	f := &fleet{T: t}
	f.objects = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.ProxyReport{}, &clusterv1.Machine{}).
		WithIndex(&clusterv1.Machine{}, clusterIndex, byCluster).Build()
	counted := interceptor.NewClient(f.objects, interceptor.Funcs{SubResourcePatch: f.patchStatus})
	f.Sweeper = &Sweeper{
		Options: Options{Period: time.Second, ProbeNamespace: "fairlead-system", Parallel: 5}, Client: counted, Live: f.objects, meter: &meter{},
	}
	return f
}

func (f *fleet) patchStatus(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	options := (&client.SubResourcePatchOptions{}).ApplyOptions(opts)
	if len(options.DryRun) > 0 {
		if f.open {
			return nil
		}
		return apierrors.NewForbidden(schema.GroupResource{}, object.GetName(), errors.New("ValidatingAdmissionPolicy '"+Policy+"' denied request"))
	}
	f.mu.Lock()
	f.writes++
	f.mu.Unlock()
	return c.SubResource(sub).Patch(ctx, object, patch, opts...)
}

func report(name, mode string) *v1alpha1.ProxyReport {
	return &v1alpha1.ProxyReport{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)},
		Status:     v1alpha1.ProxyReportStatus{Mode: mode, ProxyName: "default", HandledRequest: "kept"},
	}
}

func secret(name string, kubeconfig []byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name + "-kubeconfig"}, Data: map[string][]byte{"value": kubeconfig}}
}

// round looks at every cluster once, and returns how much was written.
func (f *fleet) round() int {
	f.Helper()
	before := f.writes
	if err := f.sweep(f.Context(), time.Now().Add(-f.Period), make(chan struct{}, f.Sweeper.Parallel)); err != nil { // all turns are due
		f.Fatal(err)
	}
	f.looks.Wait()
	return f.writes - before
}

func (f *fleet) report(name string) v1alpha1.ProxyReportStatus {
	f.Helper()
	r := &v1alpha1.ProxyReport{}
	if err := f.objects.Get(f.Context(), types.NamespacedName{Namespace: "ns", Name: name}, r); err != nil {
		f.Fatal(err)
	}
	return r.Status
}

func TestOnlyWhatIsNewIsWritten(t *testing.T) {
	var mu sync.Mutex
	status, body := http.StatusOK, configMap(t, result())
	set := func(s int, b []byte) {
		mu.Lock()
		defer mu.Unlock()
		status, body = s, b
	}
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		answering(status, body)(w, r)
	})
	f := newFleet(t, report("a", "Proxied"), secret("a", a.kubeconfig()), report("b", "Proxied"), report("direct", "Direct"), report("none", "Unproxied"))
	if writes := f.round(); writes != 2 {
		t.Errorf("%d writes for two clusters with a proxy", writes)
	}
	first := f.report("a")
	if o := first.Observed; o == nil || o.Egress != "Verified" || o.Time.IsZero() || first.HandledRequest != "kept" || first.ProxyName != "default" {
		t.Errorf("%+v", first)
	}
	if o := f.report("b").Observed; o == nil || o.Egress != "Unknown" || !o.Time.IsZero() || !strings.Contains(o.Message, "no Secret") {
		t.Errorf("%+v", o)
	}
	if f.report("direct").Observed != nil || f.report("none").Observed != nil {
		t.Error("a cluster without a proxy is observed")
	}
	if writes := f.round(); writes != 0 {
		t.Errorf("%d writes of the same", writes)
	}
	set(http.StatusUnauthorized, nil)
	if writes := f.round() + f.round(); writes != 1 {
		t.Errorf("%d writes of a cluster that is not reached", writes)
	}
	if o := f.report("a").Observed; o.Egress != "Unknown" || !o.Time.Equal(&first.Observed.Time) || !o.Since.Equal(first.Observed.Since) || o.Targets != 1 {
		t.Errorf("%+v, was %+v", o, first.Observed)
	}
	set(http.StatusOK, configMap(t, result(func(r *probe.Result) {
		r.Targets, r.Nodes, r.Revision = nil, &probe.Nodes{Total: 2, Failed: 1}, "corp/5/0123"
	})))
	if f.round(); f.report("a").Observed.Revision != "corp/5/0123" {
		t.Errorf("%+v", f.report("a").Observed)
	}
	set(http.StatusOK, configMap(t, result(func(r *probe.Result) { r.Nodes = &probe.Nodes{Total: 2} })))
	f.round()
	if o := f.report("a").Observed; o.Revision != "" || o.Egress != "Verified" || o.Message != "" || o.Nodes.Failed != 0 || o.Targets != 1 {
		t.Errorf("something of before stays: %+v, %+v", o, o.Nodes)
	}
}

func TestAClusterThatHasNoProxyAnyMoreIsStillObserved(t *testing.T) {
	r := report("a", "Direct")
	r.Status.Observed = &v1alpha1.Observed{Egress: "Verified", Time: metav1.Now()}
	f := newFleet(t, r)
	if writes := f.round(); writes != 1 || f.report("a").Observed.Egress != "Unknown" {
		t.Errorf("%d writes, %+v", writes, f.report("a").Observed)
	}
}

func TestItRefusesToRunWithoutItsCage(t *testing.T) {
	f := newFleet(t, report("a", "Proxied"))
	f.open = true
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := f.Start(ctx)
	if err == nil || !strings.Contains(err.Error(), "refusing to run without the admission policy "+Policy) || f.writes != 0 {
		t.Errorf("%v, %d writes", err, f.writes)
	}
}

// Two turns of a cluster that are two periods apart would be a gap in its observations.
func TestAClusterHasItsTurnAtTheSamePlaceOfEachPeriod(t *testing.T) {
	s := &Sweeper{Options: Options{Period: time.Hour}}
	tenths := map[time.Duration]int{}
	for i := range 2000 {
		key := types.NamespacedName{Namespace: "org", Name: fmt.Sprint("cluster-", i)}
		at, again := s.place(key), s.place(key)
		if at < 0 || at > s.Period || (at-again).Abs() > s.Period/50 {
			t.Fatalf("%v and %v", at, again)
		}
		tenths[at/(s.Period/10)]++
	}
	for tenth := range time.Duration(9) {
		if n := tenths[tenth]; n < 150 || n > 320 {
			t.Errorf("%d of 2000 in the %d. tenth of a period", n, tenth+1)
		}
	}
}

func TestNoMoreClustersAreLookedAtThanThereArePlaces(t *testing.T) {
	release, began := make(chan struct{}), make(chan struct{}, 40)
	var under, most atomic.Int32
	a := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if n := under.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer under.Add(-1)
		began <- struct{}{}
		<-release
		_, _ = w.Write(configMap(t, result()))
	})
	var objects []client.Object
	for i := range 40 {
		name := fmt.Sprint("c", i)
		objects = append(objects, report(name, "Proxied"), secret(name, a.kubeconfig()))
	}
	f := newFleet(t, objects...)
	done := make(chan int)
	go func() { done <- f.round() }()
	for range f.Sweeper.Parallel {
		<-began
	}
	close(release)
	if writes := <-done; writes != 40 {
		t.Errorf("%d writes", writes)
	}
	if int(most.Load()) > f.Sweeper.Parallel || a.most > 3*f.Sweeper.Parallel || a.all != 40 { // the server notices a moment later that one has ended
		t.Errorf("%d requests and %d connections at a time, %d in all", most.Load(), a.most, a.all)
	}
}

func TestOneThatHangsIsNotLookedAtTwiceAndHoldsUpNoOther(t *testing.T) {
	var hung, others atomic.Int32
	release := make(chan struct{})
	hangs := serve(t, func(http.ResponseWriter, *http.Request) {
		hung.Add(1)
		<-release
	})
	good := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		others.Add(1)
		_, _ = w.Write(configMap(t, result()))
	})
	f := newFleet(t, report("a", "Proxied"), secret("a", hangs.kubeconfig()), report("b", "Proxied"), secret("b", good.kubeconfig()))
	places := make(chan struct{}, f.Sweeper.Parallel)
	for range 3 {
		if err := f.sweep(t.Context(), time.Now().Add(-f.Period), places); err != nil {
			t.Fatal(err)
		}
		for range f.Sweeper.Parallel - 1 { // once only the one that hangs has a place
			places <- struct{}{}
		}
		for range f.Sweeper.Parallel - 1 {
			<-places
		}
	}
	close(release)
	f.looks.Wait()
	if hung.Load() != 1 || others.Load() != 3 {
		t.Errorf("the one that hangs was asked %d times, the other %d", hung.Load(), others.Load())
	}
}

func TestTheCacheHoldsOfAReportAndAMachineWhatIsRead(t *testing.T) {
	full := report("a", "Proxied")
	full.Status.Observed = &v1alpha1.Observed{Egress: "Verified"}
	full.Status.Entries = make([]v1alpha1.ReportedEntry, 64)
	full.Annotations = map[string]string{"a": "b"}
	kept, err := trim(full)
	if r := kept.(*v1alpha1.ProxyReport); err != nil || r.Status.Entries != nil || r.Annotations != nil || r.Status.Observed == nil || !observable(r) {
		t.Errorf("%+v", kept)
	}
	kept, err = trim(machine("m", func(m *clusterv1.Machine) {
		m.Status.Conditions = []metav1.Condition{{Type: "Ready"}, {Type: "EgressVerified"}}
	}))
	if m := kept.(*clusterv1.Machine); err != nil || len(m.Status.Conditions) != 1 || byCluster(m) == nil || m.Status.NodeRef.Name != "m" {
		t.Errorf("%+v", kept)
	}
	kept, _ = trim(machine("m", func(m *clusterv1.Machine) { m.Spec.ReadinessGates = nil }))
	if m := kept.(*metav1.PartialObjectMetadata); m.Name != "m" || m.Labels != nil || byCluster(m) != nil {
		t.Errorf("%+v", kept)
	}
}

func TestImpossibleOptionsAreRefusedByTheNameOfTheirFlag(t *testing.T) {
	good := Options{Period: time.Minute, ProbeNamespace: "x", Parallel: 1}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for flag, change := range map[string]func(*Options){
		"--period":          func(o *Options) { o.Period = time.Millisecond },
		"--parallel":        func(o *Options) { o.Parallel = 0 },
		"--probe-namespace": func(o *Options) { o.ProbeNamespace = "" },
	} {
		bad := good
		change(&bad)
		if err := bad.Check(); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}
