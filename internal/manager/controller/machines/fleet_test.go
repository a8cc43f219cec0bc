package machines

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
	"github.com/fairlead-io/fairlead/internal/core/rollout"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
)

// rolledFleet is a fleet in a fake API server, with the requests to it: reads from the
// cache are not counted.
type rolledFleet struct {
	*testing.T
	Reconciler
	objects  client.WithWatch
	recorder *events.FakeRecorder
	time     time.Time
	requests map[string]int
	fail     func(verb string, o client.Object) error // what the API server answers instead
	stale    map[string]*v1alpha1.ProxyReport         // what the cache has instead
}

func newRolledFleet(t *testing.T, objects ...client.Object) *rolledFleet {
	t.Helper()
	scheme, err := machinery.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	f := &rolledFleet{T: t, time: time.Unix(changedAt+60, 0), requests: map[string]int{}, stale: map[string]*v1alpha1.ProxyReport{}}
	f.objects = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.ProxyReport{}, &v1alpha1.CorporateProxy{}).
		WithObjects(objects...).WithReturnManagedFields().Build()
	f.recorder = events.NewFakeRecorder(100)
	f.Reconciler = Reconciler{
		Client: interceptor.NewClient(f.objects, interceptor.Funcs{Patch: f.patch, SubResourcePatch: f.patchStatus, List: f.cached}),
		Live: interceptor.NewClient(f.objects, interceptor.Funcs{Get: f.get, List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			f.requests["list"]++
			return nil
		}}),
		Revisions: &settings.Revisions{Client: f.objects, Namespace: "fairlead-system"},
		Events:    f.recorder, Interval: time.Minute, Now: func() time.Time { return f.time },
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
	if reports, ok := list.(*v1alpha1.ProxyReportList); ok {
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
func (f *rolledFleet) settle() { f.Helper(); f.pass(0); f.time = f.time.Add(rollout.SettleTime) }

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
	if next := f.report(name).Status.Rollout; next != nil {
		return *next
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
func outdatedFleet(how string, names ...string) []client.Object {
	objects := []client.Object{&v1alpha1.CorporateProxy{
		ObjectMeta: metav1.ObjectMeta{Name: "proxy"},
		Spec:       v1alpha1.CorporateProxySpec{Node: v1alpha1.NodeSettings{Rollout: how}},
	}}
	for _, name := range names {
		key := clusterKey(name)
		meta := metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: types.UID("uid-" + name)}
		owner := &unstructured.Unstructured{Object: map[string]any{
			"spec":   map[string]any{"clusterName": name, "replicas": int64(1)},
			"status": map[string]any{"replicas": int64(1), "upToDateReplicas": int64(1), "availableReplicas": int64(1)},
		}}
		owner.SetGroupVersionKind(clusterv1.GroupVersion.WithKind(rollout.MachineDeployment))
		owner.SetNamespace(key.Namespace)
		owner.SetName(name)
		objects = append(objects, owner, &clusterv1.Cluster{ObjectMeta: meta}, &v1alpha1.ProxyReport{ObjectMeta: meta, Status: v1alpha1.ProxyReportStatus{
			ProxyName:  "proxy",
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}},
			Nodes: &v1alpha1.ReportedNodes{Since: since(changedAt), Machines: 1, Outdated: 1, Owners: []v1alpha1.ReportedOwner{
				{Kind: rollout.MachineDeployment, Name: name, Machines: 1, Outdated: 1},
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

func clusterKey(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: name}
}

func since(second int64) *metav1.Time {
	t := metav1.Unix(second, 0)
	return &t
}
