package cluster

import (
	"testing"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
)

func TestAClusterThatIsGoneLeavesNothingBehind(t *testing.T) {
	w := newWaveFleet(t, 2)
	w.round()
	gone := clusterKey("c1")
	w.memory.collect(gone, time.Now())
	w.memory.putInDoubt(gone, true)
	w.memory.unselectedFor(gone, time.Hour, time.Now())
	w.memory.failed(gone, "", time.Second, time.Hour, time.Now())
	cluster := &clusterv1.Cluster{}
	w.must(w.objects.Get(t.Context(), gone, cluster))
	w.must(w.objects.Delete(t.Context(), cluster))
	w.must(w.objects.Delete(t.Context(), w.reportOf("c1")))

	for range 2 { // of the Cluster, and of its report
		if _, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: gone}); err != nil {
			t.Fatal(err)
		}
	}
	w.clusters = 1
	w.round()
	if known := w.memory.by[gone]; known != nil || w.memory.by[clusterKey("c0")] == nil {
		t.Errorf("%d clusters are remembered, and of the one that is gone %+v", len(w.memory.by), known)
	}
	if w.memory.anyInDoubt() {
		t.Error("it is in doubt for ever, and the mark of its change stays")
	}
}

func TestPaceDoublesForARivalAndJittersForTheFleet(t *testing.T) {
	now := time.Unix(0, 0)
	for reverts, hours := range map[int32]float64{0: 1, 1: 1, 2: 2, 3: 4, 6: 32, 60: 32} {
		var m memory
		key := clusterKey("c1")
		if first := m.untilTurn(key, time.Hour, now); first <= 0 || first > time.Hour {
			t.Errorf("the first turn is in %s, not within the interval", first)
		}
		m.applied(key, time.Hour, now, reverts)
		if wait := m.untilTurn(key, time.Hour, now).Hours(); wait < hours*0.89 || wait > hours*1.11 {
			t.Errorf("after %d reverts the next turn is in %.2f hours, not about %.0f", reverts, wait, hours)
		}
	}
}
