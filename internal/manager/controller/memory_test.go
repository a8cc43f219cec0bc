package controller

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fairlead-io/fairlead/internal/core/revision"
)

func TestAClusterThatIsGoneLeavesNothingBehind(t *testing.T) {
	w := newWaveFleet(t, 2)
	w.round()
	gone := clusterKey("c1")
	w.memory.collect(gone, time.Now())
	w.memory.open(gone, true)
	w.memory.unselectedFor(gone, time.Hour, time.Now())
	w.memory.failed(gone, "", time.Second, time.Hour, time.Now())
	w.Waves.facts = map[types.NamespacedName]string{gone: "hash"}
	w.Waves.assigned = map[types.NamespacedName]revision.Record{gone: {}}
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
	if len(w.Waves.facts)+len(w.Waves.assigned) > 0 {
		t.Errorf("the waves remember %v and %v", w.Waves.facts, w.Waves.assigned)
	}
	if w.memory.anyDoubt() {
		t.Error("it is in doubt for ever, and the mark of its change stays")
	}
}
