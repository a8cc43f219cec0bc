package replicator

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/fairlead-io/fairlead/internal/core/selection"
)

var midday = time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC)

// excluded returns a namespace with the label, and what it says of the end.
func excluded(name string, until ...string) *corev1.Namespace {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{selection.Key: selection.Exclude, "team": "a"}}}
	for _, text := range until {
		namespace.Annotations = map[string]string{selection.Until: text}
	}
	return namespace
}

// The clock and the API server are stand-ins; e2e/replicator has the real ones.
func TestAnExclusionEndsWhenItsTimeHasCome(t *testing.T) {
	ctx := context.Background()
	plain := excluded("plain", "2027-01-31T11:00:00Z")
	plain.Labels = nil
	all := []client.Object{
		plain, excluded("unlimited"), excluded("later", "2027-02-28T12:00:00Z"), excluded("soon", "2027-01-31T13:10:00+01:00"),
		excluded("now", "2027-01-31T12:00:00Z"), excluded("past", "2027-01-31T11:00:00Z"),
		excluded("bad", "tomorrow"), excluded("date", "2027-01-31"), excluded("empty", ""),
	}
	clock, recorder := midday, events.NewFakeRecorder(20)
	e := &Exclusions{Client: fake.NewClientBuilder().WithObjects(all...).Build(), Events: recorder, Now: func() time.Time { return clock }}
	look := func(name string) (time.Duration, bool) {
		t.Helper()
		result, err := e.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Name: name}})
		if err != nil {
			t.Fatal(err)
		}
		after := &corev1.Namespace{}
		if err := e.Client.Get(ctx, client.ObjectKey{Name: name}, after); err != nil {
			t.Fatal(err)
		}
		if name != "plain" && after.Labels["team"] != "a" {
			t.Errorf("%s lost a label", name)
		}
		return result.RequeueAfter, after.Labels[selection.Key] == selection.Exclude
	}
	for name, want := range map[string]struct {
		again    time.Duration
		excluded bool
	}{
		"plain": {}, "unlimited": {excluded: true}, "later": {longestWait, true}, "soon": {10 * time.Minute, true}, "now": {}, "past": {},
		"bad": {excluded: true}, "date": {excluded: true}, "empty": {excluded: true},
	} {
		if again, excluded := look(name); again != want.again || excluded != want.excluded {
			t.Errorf("%s: looks again in %s, excluded %t", name, again, excluded)
		}
	}
	const before = `
# HELP fairlead_exclusion_next_end_timestamp_seconds When the next exclusion of a namespace ends; none if no exclusion is limited.
# TYPE fairlead_exclusion_next_end_timestamp_seconds gauge
fairlead_exclusion_next_end_timestamp_seconds 1.8013974e+09
# HELP fairlead_exclusions Namespaces that a label excludes: Unlimited, Limited by fairlead.io/exclude-until, ExclusionInvalid, ExclusionEnded and not yet carried out, or Contended: somebody sets the label again.
# TYPE fairlead_exclusions gauge
fairlead_exclusions{state="ExclusionInvalid"} 3
fairlead_exclusions{state="Limited"} 2
fairlead_exclusions{state="Unlimited"} 1
`
	if err := testutil.CollectAndCompare(e, strings.NewReader(before)); err != nil {
		t.Error(err)
	}
	if _, excluded := look("bad"); !excluded { // says nothing again
		t.Error("bad is not excluded")
	}
	clock = clock.Add(10 * time.Minute)
	if _, excluded := look("soon"); excluded {
		t.Error("soon is excluded after its time")
	}
	close(recorder.Events)
	said := map[string]int{}
	for text := range recorder.Events {
		said[strings.Join(strings.Fields(text)[:2], " ")]++
	}
	if said["Normal ExclusionEnded"] != 3 || said["Warning ExclusionInvalid"] != 3 || len(said) != 2 {
		t.Errorf("said %v", said)
	}
}

// Whoever extends the time wins over whoever has read the previous time.
func TestAnExclusionThatIsBeingExtendedDoesNotEnd(t *testing.T) {
	ctx := context.Background()
	server := fake.NewClientBuilder().WithObjects(excluded("shop", "2027-01-31T11:00:00Z")).Build()
	old := metadata("Namespace")
	if err := server.Get(ctx, client.ObjectKey{Name: "shop"}, old); err != nil {
		t.Fatal(err)
	}
	extended := excluded("shop", "2027-12-31T11:00:00Z")
	extended.ResourceVersion = old.ResourceVersion
	if err := server.Update(ctx, extended); err != nil {
		t.Fatal(err)
	}
	e := &Exclusions{Client: server, Events: events.NewFakeRecorder(1), Now: func() time.Time { return midday }}
	result, err := e.end(ctx, old, readExclusion(old, midday))
	if err != nil || result.RequeueAfter == 0 {
		t.Errorf("looks again in %s: %v", result.RequeueAfter, err)
	}
	after := metadata("Namespace")
	if err := server.Get(ctx, client.ObjectKey{Name: "shop"}, after); err != nil || after.Labels[selection.Key] != selection.Exclude {
		t.Errorf("labels %v: %v", after.Labels, err)
	}
}

// A GitOps tool sets the label as soon as it is removed.
func TestWhoSetsTheLabelAgainAndAgainIsToldAndNotRaced(t *testing.T) {
	ctx, recorder := context.Background(), events.NewFakeRecorder(1000)
	server := fake.NewClientBuilder().WithObjects(excluded("shop", "2027-01-31T11:00:00Z")).Build()
	e := &Exclusions{Client: server, Events: recorder, Now: func() time.Time { return midday }}
	removed, waits := 0, 0
	for range 200 {
		result, err := e.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Name: "shop"}})
		if err != nil {
			t.Fatal(err)
		}
		now := &corev1.Namespace{}
		if err := server.Get(ctx, client.ObjectKey{Name: "shop"}, now); err != nil {
			t.Fatal(err)
		}
		if now.Labels[selection.Key] == selection.Exclude {
			if waits++; result.RequeueAfter != pace {
				t.Fatalf("looks again in %s", result.RequeueAfter)
			}
			continue
		}
		removed++
		now.Labels[selection.Key] = selection.Exclude
		if err := server.Update(ctx, now); err != nil {
			t.Fatal(err)
		}
	}
	if removed < burst || removed > 2*burst || waits == 0 {
		t.Errorf("removed %d times, waited %d times", removed, waits)
	}
	if count := testutil.CollectAndCount(e, "fairlead_exclusions"); count != 1 || e.of["shop"].state != stateContended {
		t.Errorf("%d series, %+v", count, e.of["shop"])
	}
	if len(recorder.Events) > removed+2 {
		t.Errorf("%d Events", len(recorder.Events))
	}
}
