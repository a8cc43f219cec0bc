package probe

import (
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-io/fairlead/internal/core/probe"
)

func fleetOf(t *testing.T, nodes int) *fleet {
	t.Helper()
	f := &fleet{pods: cache.NewStore(cache.MetaNamespaceKeyFunc), nodes: cache.NewStore(cache.MetaNamespaceKeyFunc), last: map[string]time.Time{}, suspect: map[string]bool{}, synced: func() bool { return true }}
	for i := range nodes {
		if err := f.nodes.Add(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%04d", i)}}); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// However many nodes there are, a second begins a bounded number of attempts, and no node is tried twice in a period.
func TestNodesHaveTheirTurnAndNoMore(t *testing.T) {
	for _, test := range []struct {
		nodes, targets int
		within         time.Duration
	}{
		{10, 1, time.Minute}, {1000, 1, time.Minute}, {5000, 1, 2 * time.Minute}, {5000, 5, 9 * time.Minute},
	} {
		a := &agent{Options: Options{Period: time.Minute}, fleet: fleetOf(t, test.nodes)}
		created := a.fleet.created()
		now, turns := time.Now(), map[string]time.Time{}
		for second := range int(test.within / time.Second) {
			at := now.Add(time.Duration(second) * time.Second)
			due := a.fleet.due(at, created, time.Minute, a.perSecond(len(created), test.targets))
			if len(due)*test.targets > max(attemptsPerSecond, test.targets) {
				t.Fatalf("%d nodes in a second", len(due))
			}
			for _, name := range due {
				if at.Sub(turns[name]) < time.Minute {
					t.Fatalf("%s after %s", name, at.Sub(turns[name]))
				}
				turns[name] = at
			}
		}
		if len(turns) != test.nodes {
			t.Errorf("%d nodes: %d had their turn within %s", test.nodes, len(turns), test.within)
		}
	}
}

// Of one node with many targets, or of several nodes at a time, there are no more in a second.
func TestAttemptsThroughRelaysArePaced(t *testing.T) {
	t.Parallel()
	var targets []probe.Target
	for i := range 40 {
		targets = append(targets, probe.Target{URL: fmt.Sprintf("tcp://t%d.example:1", i), Expect: probe.Reachable})
	}
	relay := settingsOf(t, map[string]string{"HTTPS_PROXY": answering(t, func(int) string { return "HTTP/1.1 200 OK\r\n\r\n" })})
	pace, began := newPace(), time.Now()
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			if results := tryThrough(t.Context(), pace, NewProber(time.Minute), relay, targets); len(results) != len(targets) || results[39].State != probe.Held {
				t.Errorf("%+v", results)
			}
		})
	}
	wait.Wait()
	if least := 79 * time.Second / attemptsPerSecond; time.Since(began) < least {
		t.Errorf("80 attempts took %s, and not %s", time.Since(began), least)
	}
}

// A probe that starts again begins its first round with the nodes: Machines would lose their condition by one without.
func TestTheFirstResultHasTheNodes(t *testing.T) {
	a := &agent{Options: Options{Period: time.Minute}, fleet: fleetOf(t, 3), plan: nodePlan{targets: []probe.Target{{URL: "https://a.example"}}}}
	known := time.Now().Add(200 * time.Millisecond)
	a.fleet.synced = func() bool { return time.Now().After(known) }
	a.fleet.await(t.Context(), a.Period/2)
	if r := a.currentResult(nil); r.Nodes == nil || r.Nodes.Total != 3 {
		t.Errorf("%+v", r.Nodes)
	}
	a.fleet.synced = func() bool { return false }    // as without the right to list them
	a.fleet.await(t.Context(), 100*time.Millisecond) // and returns
}

func TestANodeFailsWithItsSecondFailureInARow(t *testing.T) {
	f := fleetOf(t, 1)
	failed := []probe.TargetResult{{State: probe.Failed, Reason: probe.ProxyRefused}}
	held := []probe.TargetResult{{State: probe.Held}}
	for i, step := range []struct {
		results []probe.TargetResult
		counts  bool
	}{{failed, false}, {held, true}, {failed, false}, {failed, true}, {failed, false}, {[]probe.TargetResult{{State: probe.Failed, Reason: probe.Reached}}, true}} {
		if got := f.counts("n0000", step.results); got != step.counts {
			t.Errorf("step %d: %v", i, got)
		}
	}
	now := time.Now()
	f.suspect["n0000"], f.last["n0000"] = true, now
	if due := f.due(now.Add(suspectAfter), f.created(), time.Minute, 9); len(due) != 1 {
		t.Error("a suspect waits for a whole period")
	}
}

func TestWhileOneRelayReplacesAnotherTheReadyOneIsAsked(t *testing.T) {
	f := fleetOf(t, 1)
	pod := func(name, ip string, ready corev1.ConditionStatus, gone bool) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: "n0000"}, Status: corev1.PodStatus{PodIP: ip, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}}}
		if gone {
			p.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		}
		return p
	}
	for _, p := range []*corev1.Pod{pod("old", "10.0.0.1", corev1.ConditionTrue, true), pod("new", "10.0.0.2", corev1.ConditionTrue, false), pod("next", "10.0.0.3", corev1.ConditionFalse, false)} {
		kept, err := placeOfPod(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.pods.Add(kept); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.relays()["n0000"]; got.proxy != "10.0.0.2:3128" {
		t.Error(got)
	}
}
