package cluster

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/manager/controller/decide"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
	"github.com/fairlead-io/fairlead/internal/manager/controller/waves"
)

// observe writes what "fairlead-operator observe" would, and returns the event of it.
func (f *countedFleet) observe(name string, change func(*v1alpha1.Observed)) event.UpdateEvent {
	f.Helper()
	report := &v1alpha1.ProxyReport{}
	if err := f.objects.Get(f.Context(), clusterKey(name), report); err != nil {
		f.Fatal(err)
	}
	before := report.DeepCopy()
	if report.Status.Observed == nil {
		report.Status.Observed = &v1alpha1.Observed{
			Time: metav1.Now(), Since: &metav1.Time{Time: time.Now()}, Period: &metav1.Duration{Duration: time.Minute}, Egress: v1alpha1.EgressVerified,
		}
	}
	change(report.Status.Observed)
	if err := f.objects.Status().Update(f.Context(), report); err != nil {
		f.Fatal(err)
	}
	return event.UpdateEvent{ObjectOld: before, ObjectNew: report}
}

func (f *countedFleet) conditions(name string) map[string]string {
	f.Helper()
	report := &v1alpha1.ProxyReport{}
	if err := f.objects.Get(f.Context(), clusterKey(name), report); err != nil {
		f.Fatal(err)
	}
	found := map[string]string{}
	for _, kind := range []string{v1alpha1.ConditionEgressVerified, v1alpha1.ConditionPodsReached} {
		if c := meta.FindStatusCondition(report.Status.Conditions, kind); c != nil {
			found[kind] = string(c.Status) + " " + c.Reason
		}
	}
	return found
}

func (f *countedFleet) account(password string) string {
	f.Helper()
	f.setPassword(password)
	key, err := f.Key.Get(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	read, err := f.Proxies.Get(f.Context(), f.proxy(), time.Now().Add(time.Hour))
	if err != nil {
		f.Fatal(err)
	}
	return settings.Fingerprints(key, read.Installation).Current
}

func TestAnObservationWithoutNewsCostsTheOperatorNothing(t *testing.T) {
	const n = 20
	f := newCountedFleet(t, n)
	f.reconcileAll(n)
	f.want("nobody is observed", f.conditions("c0"), map[string]string{})
	account := f.account("old-password")

	first := f.observe("c0", func(o *v1alpha1.Observed) {
		o.Credentials = []v1alpha1.ObservedCredentials{{Fingerprint: account, Namespaces: 2, Pods: 1}}
	})
	if !decide.ObservedNews(first, time.Now()) {
		t.Error("the first observation is no news")
	}
	f.want("the first observation", f.reconcileAll(n), map[string]int{"status of ProxyReport": 1})
	f.want("is said", f.conditions("c0"), map[string]string{"EgressVerified": "True Verified", "PodsReached": "True Reached"})
	for range 3 {
		again := f.observe("c0", func(o *v1alpha1.Observed) { o.Time.Time = o.Time.Add(time.Second) })
		if decide.ObservedNews(again, time.Now()) || waves.Concerned.Update(again) {
			t.Error("time is news")
		}
		f.want("without news", f.reconcileAll(n), map[string]int{})
	}
	failed := f.observe("c0", func(o *v1alpha1.Observed) {
		o.Egress, o.Message = v1alpha1.EgressFailed, "https://a.example: TLSFailed"
		o.Credentials = append(o.Credentials, v1alpha1.ObservedCredentials{Fingerprint: "older", Relays: 1})
	})
	if !decide.ObservedNews(failed, time.Now()) || !waves.Concerned.Update(failed) {
		t.Error("a failure is no news")
	}
	f.want("a failure", f.reconcileAll(n), map[string]int{"status of ProxyReport": 1})
	f.want("is said", f.conditions("c0"), map[string]string{"EgressVerified": "False Failed", "PodsReached": "False OtherCredentials"})
	f.want("the others are not observed", f.conditions("c1"), map[string]string{})
}

func TestAnObservationThatGetsOldIsNoticedWithoutAnEvent(t *testing.T) {
	f := newCountedFleet(t, 1)
	f.reconcileAll(1)
	f.observe("c0", func(o *v1alpha1.Observed) { o.Period.Duration = time.Minute })
	result, err := f.reconcile(t.Context(), ctrl.Request{NamespacedName: clusterKey("c0")})
	if err != nil || result.RequeueAfter < time.Minute || result.RequeueAfter > 2*time.Minute+time.Second {
		t.Fatalf("looked at again in %v: %v", result.RequeueAfter, err)
	}
	f.observe("c0", func(o *v1alpha1.Observed) { o.Time.Time = time.Now().Add(-3 * time.Minute) })
	f.want("it got old", f.reconcileAll(1), map[string]int{"status of ProxyReport": 1})
	f.want("is said", f.conditions("c0"), map[string]string{"EgressVerified": "Unknown Stale", "PodsReached": "Unknown Stale"})
	f.want("once", f.reconcileAll(1), map[string]int{})
	if again := f.observe("c0", func(o *v1alpha1.Observed) { o.Time = metav1.Now() }); !decide.ObservedNews(again, time.Now()) {
		t.Error("that it is observed again is no news")
	}
	f.want("it is observed again", f.reconcileAll(1), map[string]int{"status of ProxyReport": 1})
}

// Somebody has the token of the program that observes: a condition of theirs, if the cage let it through, would not stay.
func TestConditionsFollowFromWhatWasObservedAlone(t *testing.T) {
	f := newCountedFleet(t, 1)
	f.reconcileAll(1)
	f.observe("c0", func(o *v1alpha1.Observed) { o.Egress = v1alpha1.EgressFailed })
	f.reconcileAll(1)
	report := &v1alpha1.ProxyReport{}
	if err := f.objects.Get(t.Context(), clusterKey("c0"), report); err != nil {
		t.Fatal(err)
	}
	meta.SetStatusCondition(&report.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionEgressVerified, Status: metav1.ConditionTrue, Reason: "Faked"})
	if err := f.objects.Status().Update(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	f.reconcileAll(1)
	f.want("is said", f.conditions("c0"), map[string]string{"EgressVerified": "False Failed", "PodsReached": "Unknown NotObserved"})
	report = &v1alpha1.ProxyReport{}
	if err := f.objects.Get(t.Context(), clusterKey("c0"), report); err != nil {
		t.Fatal(err)
	}
	report.Status.Observed = nil
	if err := f.objects.Status().Update(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	f.reconcileAll(1)
	f.want("nobody observes any more", f.conditions("c0"), map[string]string{})
}

// observe writes a report between the operator's reads and its write now and then.
func TestAnObservationBetweenReadAndWriteIsAConflictAndNoLoss(t *testing.T) {
	f := newCountedFleet(t, 1)
	f.reconcileAll(1)
	f.observe("c0", func(o *v1alpha1.Observed) { o.Egress = v1alpha1.EgressFailed })
	f.fail["status of ProxyReport"] = apierrors.NewConflict(schema.GroupResource{}, "c0", errors.New("changed meanwhile"))
	f.reconcileAll(1)
	delete(f.fail, "status of ProxyReport")
	f.reconcileAll(1)
	f.want("is said", f.conditions("c0"), map[string]string{"EgressVerified": "False Failed", "PodsReached": "Unknown NotObserved"})
}
