package machines

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/revision"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
)

const stage = "stage"

// wavesOfMachines returns a fleet of one CorporateProxy with spec.rollout: a wave for clusters with the label stage=canary, then
// all others.
func wavesOfMachines(machines v1alpha1.MachineRollout, names ...string) []client.Object {
	objects := outdatedFleet(v1alpha1.RolloutRolling, names...)
	objects[0].(*v1alpha1.CorporateProxy).Spec.Rollout = &v1alpha1.Rollout{ //nolint:forcetypeassert // made by outdatedFleet
		Waves: []v1alpha1.Wave{
			{Name: "canary", ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{stage: "canary"}}},
			{Name: "rest"},
		},
		Machines: machines,
	}
	return objects
}

func (f *rolledFleet) change(o client.Object, name string, change func()) {
	f.Helper()
	key := clusterKey(name)
	if _, ok := o.(*v1alpha1.CorporateProxy); ok {
		key = client.ObjectKey{Name: name}
	}
	if err := f.objects.Get(f.Context(), key, o); err != nil {
		f.Fatal(err)
	}
	change()
	if err := f.objects.Update(f.Context(), o); err != nil {
		f.Fatal(err)
	}
}

func (f *rolledFleet) canary(name string) {
	f.Helper()
	cluster := &clusterv1.Cluster{}
	f.change(cluster, name, func() { cluster.Labels = map[string]string{stage: "canary"} })
}

// begin passes until so many clusters more have begun, each with its owner.
func (f *rolledFleet) begin(clusters int) {
	f.Helper()
	for range clusters {
		f.pass(f.Interval) // it is claimed
		f.pass(0)
	}
}

func TestAsManyClustersAreRolledAtATimeAsTheirCorporateProxySays(t *testing.T) {
	f := newRolledFleet(t, wavesOfMachines(v1alpha1.MachineRollout{MaxParallel: 2}, "a", "b", "c")...)
	f.settle()
	f.pass(0)
	f.expectUnderWay("a")
	if requests := f.pass(0); requests["roll"] != 1 {
		t.Errorf("%v", requests)
	}
	f.pass(f.Interval / 2)
	f.expectUnderWay("a") // the next begins an interval later
	f.begin(2)
	f.expectUnderWay("a", "b")
	f.expectMessage("c", "waits for its turn")
	f.modify("a", replaced)
	f.pass(ownerPollInterval)
	f.begin(1)
	f.expectUnderWay("b", "c")
	f.expectRequests(f.pass(ownerPollInterval), map[string]int{"get": 2})
}

func TestALaterWaveBeginsWhenTheEarlierOneIsRolled(t *testing.T) {
	f := newRolledFleet(t, wavesOfMachines(v1alpha1.MachineRollout{MaxParallel: 2}, "a", "b", "z")...)
	f.canary("z")
	f.settle()
	f.begin(3)
	f.expectUnderWay("z")
	f.modify("z", replaced)
	f.pass(ownerPollInterval)
	f.begin(2)
	f.expectUnderWay("a", "b")
}

func TestACanaryThatCannotBeginDoesNotHaltTheFleet(t *testing.T) {
	f := newRolledFleet(t, wavesOfMachines(v1alpha1.MachineRollout{}, "a", "z")...)
	f.canary("z")
	owner := &unstructured.Unstructured{}
	owner.SetGroupVersionKind(clusterv1.GroupVersion.WithKind(rollout.MachineDeployment))
	f.change(owner, "z", func() {
		_ = unstructured.SetNestedField(owner.Object, "2100-01-02T03:04:05Z", "spec", "rollout", "after")
	})
	f.settle()
	for minute := range 8 {
		f.expectUnderWay()
		f.modify("z", func(r *v1alpha1.ProxyReport) { r.Status.Nodes.Machines++ }) // which is another try
		f.pass(0)
		f.pass(time.Minute)
		f.expectMessage("z", "not rolled by Fairlead: MachineDeployment z, which is to be rolled at 2100")
		if f.rollout("a").After != nil {
			if minute < 1 {
				t.Error("one try is enough")
			}
			return
		}
	}
	t.Error("a never begins")
}

func TestAClusterUnderWayThatIsPausedHoldsItsOwnPlaceUntilItsDeadline(t *testing.T) {
	deadline := &metav1.Duration{Duration: 10 * time.Minute}
	f := newRolledFleet(t, wavesOfMachines(v1alpha1.MachineRollout{MaxParallel: 2, ProgressDeadline: deadline}, "a", "b", "c")...)
	f.settle()
	f.begin(1)
	f.expectUnderWay("a")
	cluster := &clusterv1.Cluster{}
	f.change(cluster, "a", func() { cluster.Spec.Paused = new(true) })
	f.pass(ownerPollInterval)
	f.expectMessage("a", "waits: the Cluster is paused")
	f.begin(2)
	f.expectUnderWay("a", "b")
	f.pass(11 * time.Minute)
	f.expectMessage("a", "skipped after 10m0s without progress: waits: the Cluster is paused")
	f.modify("b", replaced)
	f.pass(ownerPollInterval)
	f.begin(1)
	f.expectUnderWay("c")
}

func TestWhileItIsPausedNoFurtherClusterBegins(t *testing.T) {
	control := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "fairlead-system", Name: revision.ControlName("proxy")}}
	for name, tc := range map[string]struct {
		set     func(*rolledFleet, bool)
		message string
	}{
		"by spec.rollout.paused": {func(f *rolledFleet, is bool) {
			proxy := &v1alpha1.CorporateProxy{}
			f.change(proxy, "proxy", func() { proxy.Spec.Rollout.Paused = is })
		}, "waits: the rollout of the CorporateProxy is paused"},
		"by people": {func(f *rolledFleet, is bool) {
			control := control.DeepCopy()
			control.Data = map[string]string{revision.PausedKey: fmt.Sprint(is)}
			if err := f.objects.Update(f.Context(), control); err != nil {
				f.Fatal(err)
			}
		}, "waits: the rollout of the CorporateProxy is paused"},
		"by people whom nobody understands": {func(f *rolledFleet, is bool) {
			control := control.DeepCopy()
			if is {
				control.Data = map[string]string{revision.PausedKey: "yes"}
			}
			if err := f.objects.Update(f.Context(), control); err != nil {
				f.Fatal(err)
			}
		}, "waits: the rollout of the CorporateProxy is paused"},
		"by a spec.rollout that is invalid": {func(f *rolledFleet, is bool) {
			proxy := &v1alpha1.CorporateProxy{}
			f.change(proxy, "proxy", func() {
				proxy.Spec.Rollout.Waves[1].Name = "rest"
				if is {
					proxy.Spec.Rollout.Waves[1].Name = "canary"
				}
			})
		}, "waits: spec.rollout of the CorporateProxy is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newRolledFleet(t, append(wavesOfMachines(v1alpha1.MachineRollout{MaxParallel: 2}, "a", "b"), control.DeepCopy())...)
			f.settle()
			f.begin(1)
			f.expectUnderWay("a")
			tc.set(f, true)
			f.begin(2)
			f.expectUnderWay("a")
			f.expectMessage("a", "rolling")
			f.expectMessage("b", tc.message)
			f.modify("a", replaced)
			f.pass(ownerPollInterval)
			f.expectUnderWay() // it went on
			tc.set(f, false)
			f.begin(1)
			f.expectUnderWay("b")
		})
	}
}

// A process ended after its claim, before it saw the claims of another one. The next process sees too many claims, and
// not which one was first.
func TestAfterAChangeOfLeaderNoMoreThanMayBeAreRolled(t *testing.T) {
	for name, told := range map[string][]string{
		"both are claimed":     nil,
		"the first one begins": {"a"},
		"the last one begins":  {"b"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newRolledFleet(t, outdatedFleet(v1alpha1.RolloutRolling, "a", "b")...)
			for i, name := range []string{"a", "b"} {
				f.modify(name, func(r *v1alpha1.ProxyReport) {
					r.Status.Rollout = &v1alpha1.ReportedRollout{After: since(changedAt), Started: since(changedAt + int64(i)), Owner: "MachineDeployment/" + name}
				})
			}
			for _, name := range told {
				owner := &unstructured.Unstructured{}
				owner.SetGroupVersionKind(clusterv1.GroupVersion.WithKind(rollout.MachineDeployment))
				f.change(owner, name, func() {
					_ = unstructured.SetNestedField(owner.Object, since(changedAt).UTC().Format(time.RFC3339), "spec", "rollout", "after")
				})
			}
			f.settle()
			if requests := f.pass(0); requests["roll"] != 1-len(told) {
				t.Errorf("%v", requests)
			}
			if told == nil {
				told = []string{"a"}
			}
			f.expectUnderWay(told...)
			f.modify(told[0], replaced)
			f.pass(ownerPollInterval)
			f.begin(1)
			f.expectUnderWay(strings.Trim("ab", told[0]))
		})
	}
}

func TestWithFewerPlacesAClusterGivesItsOwnBackBetweenTwoOwners(t *testing.T) {
	objects := wavesOfMachines(v1alpha1.MachineRollout{MaxParallel: 2}, "a", "b")
	second := objects[4].DeepCopyObject().(client.Object) //nolint:forcetypeassert // the owner of b
	second.SetName("b-2")
	f := newRolledFleet(t, append(objects, second)...)
	f.modify("b", func(r *v1alpha1.ProxyReport) {
		r.Status.Nodes.Owners = append(r.Status.Nodes.Owners, v1alpha1.ReportedOwner{Kind: rollout.MachineDeployment, Name: "b-2", Machines: 1, Outdated: 1})
	})
	f.settle()
	f.begin(2)
	proxy := &v1alpha1.CorporateProxy{}
	f.change(proxy, "proxy", func() { proxy.Spec.Rollout.Machines.MaxParallel = 1 })
	f.pass(ownerPollInterval)
	f.expectUnderWay("a", "b") // machines of both are being replaced
	f.modify("b", replaced)
	if requests := f.pass(ownerPollInterval); requests["roll"] != 0 {
		t.Errorf("%v", requests)
	}
	f.expectUnderWay("a")
	f.expectMessage("b", "waits for its turn")
	f.modify("a", replaced)
	f.pass(ownerPollInterval)
	f.begin(1)
	f.expectUnderWay("b")
	f.expectMessage("b", "rolling MachineDeployment b-2")
}

func TestAPassOverManyClustersUnderWayListsNothing(t *testing.T) {
	names := manyNames(40)
	f := newRolledFleet(t, wavesOfMachines(v1alpha1.MachineRollout{MaxParallel: 30}, names...)...)
	f.settle()
	f.begin(35)
	underWay := 0
	for _, name := range names {
		if f.rollout(name).After != nil {
			underWay++
		}
	}
	if underWay != 30 {
		t.Fatalf("%d are under way", underWay)
	}
	f.expectRequests(f.pass(ownerPollInterval), map[string]int{"get": 30})
	f.expectRequests(f.pass(0), map[string]int{})
}

// The caches of the operator copy nothing either.
func BenchmarkAPassOverFiveThousandClusters(b *testing.B) {
	f := newRolledFleet(&testing.T{}, wavesOfMachines(v1alpha1.MachineRollout{MaxParallel: 50})...)
	reports, clusters := &v1alpha1.ProxyReportList{}, map[string]*clusterv1.Cluster{}
	for _, o := range wavesOfMachines(v1alpha1.MachineRollout{}, manyNames(5000)...) {
		switch o := o.(type) {
		case *clusterv1.Cluster:
			clusters[o.Name] = o
		case *v1alpha1.ProxyReport:
			o.Status.Rollout = &v1alpha1.ReportedRollout{Message: "waits for its turn"}
			reports.Items = append(reports.Items, *o)
		}
	}
	f.Interval = 24 * time.Hour
	reports.Items[0].Status.Rollout.Started = since(changedAt)
	f.Client = interceptor.NewClient(f.objects, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if into, ok := list.(*v1alpha1.ProxyReportList); ok {
				into.Items = reports.Items
				return nil
			}
			return c.List(ctx, list, opts...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if into, ok := o.(*clusterv1.Cluster); ok {
				*into = *clusters[key.Name]
				return nil
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Reconcile(b.Context(), ctrl.Request{}); err != nil {
			b.Fatal(err)
		}
	}
}
