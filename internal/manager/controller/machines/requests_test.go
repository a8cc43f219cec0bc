package machines

import (
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
)

func TestALookAtTheFleetAsksTheAPIServerAboutNobody(t *testing.T) {
	names := manyNames(50)
	f := newRolledFleet(t, outdatedFleet(v1alpha1.RolloutRolling, names...)...)
	f.expectRequests(f.pass(0), map[string]int{"status": 50}) // each says that it waits
	f.time = f.time.Add(rollout.SettleTime)
	f.expectRequests(f.pass(0), map[string]int{"get": 1, "try": 1, "status": 1})
	f.expectRequests(f.pass(0), map[string]int{"get": 1, "roll": 1, "status": 1})
	f.expectUnderWay(names[0])
	f.expectRequests(f.pass(0), map[string]int{})
	f.expectRequests(f.pass(ownerPollInterval), map[string]int{"get": 1})
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
	f.pass(ownerPollInterval)
	f.expectUnderWay()
	f.time = f.time.Add(time.Minute)
	gets := 0
	for range 3600 / 15 {
		requests := f.pass(15 * time.Second)
		gets += requests["get"]
		if requests["status"] > 0 {
			t.Fatal("it is written again")
		}
	}
	if gets > 7 {
		t.Errorf("%d reads of one owner in an hour", gets)
	}

	// Another process writes nothing, and a change of its machines is another try.
	f.memory, f.claim = nil, nil
	f.expectRequests(f.pass(0), map[string]int{})
	f.expectRequests(f.pass(rollout.SettleTime), map[string]int{"get": 1})
	f.expectRequests(f.pass(0), map[string]int{})
	f.modify("a", func(r *v1alpha1.ProxyReport) { r.Status.Nodes.Machines++ })
	f.expectRequests(f.pass(0), map[string]int{"get": 1})
}

func TestAPassOverALargeFleetIsBounded(t *testing.T) {
	names := manyNames(maxMessages + 20)
	f := newRolledFleet(t, outdatedFleet(v1alpha1.RolloutRolling, names...)...)
	f.expectRequests(f.pass(0), map[string]int{"status": maxMessages})
	f.expectRequests(f.pass(0), map[string]int{"status": 20})
	f.expectRequests(f.pass(0), map[string]int{})
	f.fail = func(verb string, o client.Object) error {
		if verb == "get" && o.GetName() != names[len(names)-1] {
			return apierrors.NewForbidden(schema.GroupResource{}, o.GetName(), errors.New("no"))
		}
		return nil
	}
	f.time = f.time.Add(rollout.SettleTime)
	for range len(names) / maxTries { // nobody is tried twice before all are
		if requests := f.pass(fleetDelay); requests["get"] != maxTries {
			t.Fatal(requests)
		}
	}
	f.expectUnderWay(names[len(names)-1])
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
		owner.SetGroupVersionKind(clusterv1.GroupVersion.WithKind(rollout.MachineDeployment))
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
	var last string
	for len(f.recorder.Events) > 0 {
		last = <-f.recorder.Events
	}
	if !strings.HasPrefix(last, "Warning RolloutSkipped") {
		t.Errorf("the last Event is %q", last)
	}
	f.pass(0)
	f.expectUnderWay("b")
	f.modify("b", replaced)
	f.pass(ownerPollInterval)
	f.memory = nil // another process knows it, too
	f.pass(time.Hour)
	f.pass(rollout.SettleTime)
	f.pass(time.Hour)
	f.expectUnderWay()
	f.expectMessage("a", skipped)

	// It completes by itself.
	setAvailable(1)
	f.pass(time.Hour)
	f.expectMessage("a", "")
	if next := f.rollout("a"); next.Skipped != nil || next.Owner != "" || next.Message != "" {
		t.Errorf("%+v", next)
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
	if next := f.rollout("a"); next.Skipped != nil || !next.After.Equal(since(changedAt+30)) {
		t.Errorf("%+v", next)
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
	f.pass(rollout.SettleTime)
	if next := f.rollout("a"); next != (v1alpha1.ReportedRollout{}) {
		t.Errorf("%+v", next)
	}
}
