package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// rolledFleet is a fleet in a fake API server, and what is asked of it: what goes to
// the cache is not counted.
type rolledFleet struct {
	*testing.T
	RolloutReconciler
	objects  client.WithWatch
	recorder *events.FakeRecorder
	time     time.Time
	requests map[string]int
	fail     func(verb string, o client.Object) error // what the API server answers instead
	stale    map[string]*v1alpha1.ProxyReport         // what the cache has instead
}

func newRolledFleet(t *testing.T, objects ...client.Object) *rolledFleet {
	t.Helper()
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	f := &rolledFleet{T: t, time: time.Unix(changedAt+60, 0), requests: map[string]int{}, stale: map[string]*v1alpha1.ProxyReport{}}
	f.objects = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.ProxyReport{}, &v1alpha1.CorporateProxy{}).
		WithObjects(objects...).WithReturnManagedFields().Build()
	f.recorder = events.NewFakeRecorder(100)
	f.RolloutReconciler = RolloutReconciler{
		Client: interceptor.NewClient(f.objects, interceptor.Funcs{Patch: f.patch, SubResourcePatch: f.patchStatus, List: f.cached}),
		Live: interceptor.NewClient(f.objects, interceptor.Funcs{Get: f.get, List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			f.requests["list"]++
			return nil
		}}),
		Events: f.recorder, Interval: time.Minute, Now: func() time.Time { return f.time },
	}
	return f
}

func (f *rolledFleet) request(verb string, o client.Object) error {
	f.requests[verb]++
	if f.fail == nil {
		return nil
	}
	return f.fail(verb, o)
}

func (f *rolledFleet) get(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	o.SetName(key.Name)
	if err := f.request("get", o); err != nil {
		return err
	}
	return c.Get(ctx, key, o, opts...)
}

// patch refuses what the admission policy would.
func (f *rolledFleet) patch(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if data, _ := p.Data(o); strings.Contains(string(data), "cage-probe") {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "owners"}, o.GetName(), errors.New(rolloutCage))
	}
	var options client.PatchOptions
	if options.ApplyOptions(opts); len(options.DryRun) > 0 {
		return f.request("try", o)
	}
	if err := f.request("roll", o); err != nil {
		return err
	}
	return c.Patch(ctx, o, p, opts...)
}

func (f *rolledFleet) patchStatus(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	if err := f.request("status", o); err != nil {
		return err
	}
	return c.SubResource(sub).Patch(ctx, o, p, opts...)
}

func (f *rolledFleet) cached(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	err := c.List(ctx, list, opts...)
	if reports, is := list.(*v1alpha1.ProxyReportList); is {
		for i := range reports.Items {
			if stale := f.stale[reports.Items[i].Name]; stale != nil {
				reports.Items[i] = *stale
			}
		}
	}
	return err
}

// pass is one reconcile, some time later, and returns the requests that it made.
func (f *rolledFleet) pass(later time.Duration) map[string]int {
	f.Helper()
	f.time = f.time.Add(later)
	clear(f.requests)
	if _, err := f.Reconcile(f.Context(), ctrl.Request{}); err != nil {
		f.Fatal(err)
	}
	return maps.Clone(f.requests)
}

// settle passes until the change has gone round.
func (f *rolledFleet) settle() { f.Helper(); f.pass(0); f.time = f.time.Add(settleTime) }

func (f *rolledFleet) report(name string) *v1alpha1.ProxyReport {
	f.Helper()
	report := &v1alpha1.ProxyReport{}
	if err := f.objects.Get(f.Context(), clusterKey(name), report); err != nil {
		f.Fatal(err)
	}
	return report
}

func (f *rolledFleet) rollout(name string) v1alpha1.ReportedRollout {
	f.Helper()
	if said := f.report(name).Status.Rollout; said != nil {
		return *said
	}
	return v1alpha1.ReportedRollout{}
}

func (f *rolledFleet) modify(name string, change func(*v1alpha1.ProxyReport)) {
	f.Helper()
	report := f.report(name)
	change(report)
	if err := f.objects.Status().Update(f.Context(), report); err != nil {
		f.Fatal(err)
	}
}

func (f *rolledFleet) expectMessage(name, message string) {
	f.Helper()
	if got := f.rollout(name).Message; !strings.HasPrefix(got, message) {
		f.Errorf("%s says %q, not %q", name, got, message)
	}
}

func (f *rolledFleet) expectUnderWay(want ...string) {
	f.Helper()
	var got []string
	reports := &v1alpha1.ProxyReportList{}
	if err := f.objects.List(f.Context(), reports); err != nil {
		f.Fatal(err)
	}
	for _, report := range reports.Items {
		if report.Status.Rollout != nil && report.Status.Rollout.After != nil {
			got = append(got, report.Name)
		}
	}
	if !slices.Equal(got, want) {
		f.Fatalf("under way: %q, not %q", got, want)
	}
}

func (f *rolledFleet) expectRequests(got map[string]int, want map[string]int) {
	f.Helper()
	if !maps.Equal(got, want) {
		f.Errorf("requests %v, not %v", got, want)
	}
}

// outdatedFleet has a CorporateProxy and clusters with one outdated MachineDeployment each.
func outdatedFleet(rollout string, names ...string) []client.Object {
	objects := []client.Object{&v1alpha1.CorporateProxy{
		ObjectMeta: metav1.ObjectMeta{Name: "proxy"},
		Spec:       v1alpha1.CorporateProxySpec{Node: v1alpha1.NodeSettings{Rollout: rollout}},
	}}
	for _, name := range names {
		key := clusterKey(name)
		meta := metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: types.UID("uid-" + name)}
		owner := &unstructured.Unstructured{Object: map[string]any{
			"spec":   map[string]any{"replicas": int64(1)},
			"status": map[string]any{"replicas": int64(1), "upToDateReplicas": int64(1), "availableReplicas": int64(1)},
		}}
		owner.SetGroupVersionKind(clusterv1.GroupVersion.WithKind(kindMachineDeployment))
		owner.SetNamespace(key.Namespace)
		owner.SetName(name)
		objects = append(objects, owner, &clusterv1.Cluster{ObjectMeta: meta}, &v1alpha1.ProxyReport{ObjectMeta: meta, Status: v1alpha1.ProxyReportStatus{
			ProxyName:  "proxy",
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}},
			Nodes: &v1alpha1.ReportedNodes{Since: since(changedAt), Machines: 1, Outdated: 1, Owners: []v1alpha1.ReportedOwner{
				{Kind: kindMachineDeployment, Name: name, Machines: 1, Outdated: 1},
			}},
		}})
	}
	return objects
}

func replaced(report *v1alpha1.ProxyReport) {
	report.Status.Nodes.Outdated, report.Status.Nodes.Owners[0].Outdated = 0, 0
}

func manyNames(count int) []string {
	var all []string
	for i := range count {
		all = append(all, fmt.Sprintf("c%04d", i))
	}
	return all
}

func TestALookAtTheFleetAsksTheAPIServerAboutNobody(t *testing.T) {
	names := manyNames(50)
	f := newRolledFleet(t, outdatedFleet(v1alpha1.RolloutRolling, names...)...)
	f.expectRequests(f.pass(0), map[string]int{"status": 50}) // each says that it waits
	f.time = f.time.Add(settleTime)
	f.expectRequests(f.pass(0), map[string]int{"get": 1, "try": 1, "status": 1})
	f.expectRequests(f.pass(0), map[string]int{"get": 1, "roll": 1, "status": 1})
	f.expectUnderWay(names[0])
	f.expectRequests(f.pass(0), map[string]int{})
	f.expectRequests(f.pass(lookAgain), map[string]int{"get": 1})
	f.modify(names[0], replaced)
	f.expectRequests(f.pass(0), map[string]int{"get": 1, "status": 1})
	f.time = f.time.Add(time.Minute)
	f.expectRequests(f.pass(0), map[string]int{"get": 1, "try": 1, "status": 1}) // the handover: nobody else is written
	f.expectUnderWay(names[1])
}

func TestAClusterWhoseOwnersAreLeftAloneIsTriedLessAndLess(t *testing.T) {
	objects := outdatedFleet(v1alpha1.RolloutRolling, "a", "b")
	kept := objects[1].(*unstructured.Unstructured) //nolint:forcetypeassert // made above
	kept.Object["spec"].(map[string]any)["rollout"] = map[string]any{"after": "2100-01-02T03:04:05Z"}
	f := newRolledFleet(t, objects...)
	f.settle()
	f.pass(0) // b begins
	f.expectUnderWay("b")
	const left = "not rolled by Fairlead: MachineDeployment a, which is to be rolled at 2100"
	f.expectMessage("a", left)
	f.pass(0)
	f.expectMessage("a", left)
	f.modify("b", replaced)
	f.pass(lookAgain)
	f.expectUnderWay()
	f.time = f.time.Add(time.Minute)
	gets := 0
	for range 3600 {
		requests := f.pass(time.Second)
		gets += requests["get"]
		if requests["status"] > 0 {
			t.Fatal("it is written again")
		}
	}
	if gets > 13 {
		t.Errorf("%d reads of one owner in an hour", gets)
	}

	// Another process writes nothing, and a change of its machines is another try.
	f.memory, f.claim = nil, nil
	f.expectRequests(f.pass(0), map[string]int{})
	f.expectRequests(f.pass(settleTime), map[string]int{"get": 1})
	f.expectRequests(f.pass(0), map[string]int{})
	f.modify("a", func(r *v1alpha1.ProxyReport) { r.Status.Nodes.Machines++ })
	f.expectRequests(f.pass(0), map[string]int{"get": 1})
}

func TestWhatIsWrongWithOneClusterKeepsNoOtherFromBeginning(t *testing.T) {
	group := schema.GroupResource{Resource: "machinedeployments"}
	for name, tc := range map[string]struct {
		verb    string
		err     error
		message string
	}{
		"not allowed to read":  {"get", apierrors.NewForbidden(group, "a", errors.New("no")), "waits: the operator may not roll MachineDeployment a"},
		"gone":                 {"get", apierrors.NewNotFound(group, "a"), "not rolled by Fairlead: MachineDeployment a, which does not exist"},
		"invalid":              {"try", apierrors.NewInvalid(schema.GroupKind{}, "a", nil), "waits: the API server takes no change of MachineDeployment a (Invalid)"},
		"changed meanwhile":    {"try", apierrors.NewConflict(group, "a", errors.New("no")), "waits: the API server takes no change of MachineDeployment a (Conflict)"},
		"a webhook that fails": {"try", apierrors.NewInternalError(errors.New("no")), "waits: the API server takes no change of MachineDeployment a (InternalError)"},
		"a report that cannot": {"status", apierrors.NewInvalid(schema.GroupKind{}, "a", nil), ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newRolledFleet(t, outdatedFleet(v1alpha1.RolloutRolling, "a", "b")...)
			f.fail = func(verb string, o client.Object) error {
				if verb == tc.verb && o.GetName() == "a" {
					return tc.err
				}
				return nil
			}
			f.settle()
			f.pass(0)
			f.expectUnderWay("b")
			f.expectMessage("a", tc.message)
		})
	}
}

func TestAnAPIServerThatAnswersNobodyIsNotTheFaultOfACluster(t *testing.T) {
	f := newRolledFleet(t, outdatedFleet(v1alpha1.RolloutRolling, "a", "b")...)
	f.settle()
	for _, err := range []error{
		apierrors.NewTooManyRequests("later", 1), apierrors.NewServiceUnavailable("later"), errors.New("connection refused"),
	} {
		f.fail = func(string, client.Object) error { return err }
		clear(f.requests)
		if _, got := f.Reconcile(t.Context(), ctrl.Request{}); got == nil || f.requests["get"] != 1 {
			t.Errorf("%v: %v after %v", err, got, f.requests)
		}
	}
	f.expectMessage("a", "waits for its turn")
}

func TestAReportThatIsChangedMeanwhileChangesNoOrder(t *testing.T) {
	f := newRolledFleet(t, outdatedFleet(v1alpha1.RolloutRolling, "a", "b")...)
	f.settle()
	f.stale["a"] = f.report("a")
	f.modify("a", func(r *v1alpha1.ProxyReport) { r.Status.HandledRequest = "x" })
	f.pass(0)
	f.expectUnderWay()
	clear(f.stale)
	f.pass(fleetDelay)
	f.expectUnderWay("a")
}

func TestAClaimIsNotActedUponBeforeTheCacheHasIt(t *testing.T) {
	f := newRolledFleet(t, outdatedFleet(v1alpha1.RolloutRolling, "a", "b")...)
	f.settle()
	f.stale["a"], f.stale["b"] = f.report("a"), f.report("b")
	f.pass(0)
	f.expectUnderWay("a")
	f.expectRequests(f.pass(time.Hour), map[string]int{}) // the cache has neither claim
	// A former leader has begun with b, and the cache is behind.
	f.modify("b", func(r *v1alpha1.ProxyReport) {
		r.Status.Rollout = &v1alpha1.ReportedRollout{After: since(changedAt), Started: since(changedAt + 50), Owner: "MachineDeployment/b"}
	})
	clear(f.stale)
	if requests := f.pass(0); requests["roll"] != 1 {
		t.Errorf("b does not go on: %v", requests)
	}
	f.expectUnderWay("b")
	f.expectMessage("a", "waits for its turn")
}

// A claim that somebody has released is not acted upon by who does not see that.
func TestAnOwnerIsRolledOnlyOnWhatItsReportSaysNow(t *testing.T) {
	f := newRolledFleet(t, outdatedFleet(v1alpha1.RolloutRolling, "a")...)
	f.settle()
	f.pass(0)
	f.expectUnderWay("a")
	f.stale["a"] = f.report("a")
	f.modify("a", func(r *v1alpha1.ProxyReport) { r.Status.Rollout = nil })
	if requests := f.pass(0); requests["roll"] != 0 {
		t.Errorf("it is rolled: %v", requests)
	}
}

func TestAClusterThatMakesNoProgressIsSkippedAndSaysSo(t *testing.T) {
	f := newRolledFleet(t, outdatedFleet(v1alpha1.RolloutRolling, "a", "b")...)
	f.settle()
	f.pass(0)
	f.pass(0)
	f.expectUnderWay("a")
	setAvailable := func(count int64) {
		owner := &unstructured.Unstructured{}
		owner.SetGroupVersionKind(clusterv1.GroupVersion.WithKind(kindMachineDeployment))
		if err := f.objects.Get(t.Context(), clusterKey("a"), owner); err != nil {
			t.Fatal(err)
		}
		_ = unstructured.SetNestedField(owner.Object, count, "status", "availableReplicas")
		if err := f.objects.Update(t.Context(), owner); err != nil {
			t.Fatal(err)
		}
	}
	setAvailable(0)
	f.modify("a", replaced) // there is another machine, and it does not come up
	f.pass(50 * time.Minute)
	f.expectMessage("a", "waits: not all machines of MachineDeployment a")
	f.pass(50 * time.Minute) // the new machine was progress
	f.expectUnderWay("a")
	f.pass(20 * time.Minute)
	f.expectUnderWay()
	const skipped = "skipped after 1h0m0s without progress: waits: not all machines of MachineDeployment a"
	f.expectMessage("a", skipped)
	for {
		event := <-f.recorder.Events
		if strings.HasPrefix(event, "Warning RolloutSkipped") {
			break
		}
	}
	f.pass(0)
	f.expectUnderWay("b")
	f.modify("b", replaced)
	f.pass(lookAgain)
	f.memory = nil // another process knows it, too
	f.pass(time.Hour)
	f.pass(settleTime)
	f.pass(time.Hour)
	f.expectUnderWay()
	f.expectMessage("a", skipped)

	// It completes by itself.
	setAvailable(1)
	f.pass(time.Hour)
	f.expectMessage("a", "")
	if said := f.rollout("a"); said.Skipped != nil || said.Owner != "" || said.Message != "" {
		t.Errorf("%+v", said)
	}
}

func TestASkippedClusterBeginsAgainWithTheNextChange(t *testing.T) {
	f := newRolledFleet(t, outdatedFleet(v1alpha1.RolloutRolling, "a")...)
	f.settle()
	f.pass(0)
	f.pass(0)
	f.pass(time.Hour)
	f.pass(2 * time.Hour)
	f.expectUnderWay()
	if requests := f.pass(3 * time.Hour); len(requests) > 0 {
		t.Errorf("%v, and its machines are still the old ones", requests)
	}
	f.modify("a", func(r *v1alpha1.ProxyReport) { r.Status.Nodes.Since = since(changedAt + 30) })
	f.settle()
	f.pass(0)
	f.expectUnderWay("a")
	if said := f.rollout("a"); said.Skipped != nil || !said.After.Equal(since(changedAt+30)) {
		t.Errorf("%+v", said)
	}
}

func TestWhatAnEarlierVersionAppliedIsRemoved(t *testing.T) {
	f := newRolledFleet(t, outdatedFleet(v1alpha1.RolloutRolling, "a")...)
	applied := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": clusterKey("a").Namespace, "name": "a"},
		"status":   map[string]any{"rollout": map[string]any{"after": "1970-01-01T02:46:40Z", "owner": "MachineDeployment/a", "message": "rolling MachineDeployment a"}},
	}}
	applied.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ProxyReport"))
	if err := f.objects.Status().Apply(t.Context(), client.ApplyConfigurationFromUnstructured(applied), rolloutManager, client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	f.expectUnderWay("a")
	f.modify("a", replaced)
	f.pass(0)
	f.pass(settleTime)
	if said := f.rollout("a"); said != (v1alpha1.ReportedRollout{}) {
		t.Errorf("%+v", said)
	}
}
