package operator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// table returns the columns of the CorporateProxy in kubectl get.
func (w *waves) table() map[string]string {
	w.Helper()
	body, err := controlplanetest.Clients(w, w.cp).CoreV1().RESTClient().Get().
		AbsPath("/apis/fairlead.io/v1alpha1/corporateproxies/"+w.proxy.Name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(w.Context())
	w.must(err)
	var table metav1.Table
	w.must(json.Unmarshal(body, &table))
	cells := map[string]string{}
	for i, column := range table.ColumnDefinitions {
		cells[column.Name] = fmt.Sprint(table.Rows[0].Cells[i])
	}
	return cells
}

// eventReasons returns the reasons of the events about the CorporateProxy.
func (w *waves) eventReasons() []string {
	w.Helper()
	events := &eventsv1.EventList{}
	w.must(w.client.List(w.Context(), events))
	var reasons []string
	for _, e := range events.Items {
		if e.Regarding.Kind == "CorporateProxy" && e.Regarding.Name == w.proxy.Name {
			reasons = append(reasons, e.Reason)
		}
	}
	slices.Sort(reasons)
	return slices.Compact(reasons)
}

func (w *waves) condition(kind string) metav1.Condition {
	w.Helper()
	w.must(w.client.Get(w.Context(), client.ObjectKeyFromObject(w.proxy), w.proxy))
	return conditionOf(w.proxy.Status.Conditions, kind)
}

func TestARolloutIsToldToPeopleAndMachines(t *testing.T) {
	tier.Full(t)
	w := newWaves(t, 1, 3)
	soak := func(long time.Duration) {
		t.Helper()
		modify(w.fixture, w.proxy, func(p *v1alpha1.CorporateProxy) { p.Spec.Rollout.Waves[0].Soak = &metav1.Duration{Duration: long} })
	}
	soak(time.Hour) // until it was seen
	if got := w.table(); got["Revision"] != "1" || got["Progress"] != "4/4" || got["Halted"] != "false" {
		t.Errorf("kubectl get prints %v", got)
	}
	w.setNoProxy(w.proxy, "second.example")
	soaking := w.awaitRollout("it soaks", func(s v1alpha1.RolloutStatus) bool {
		return s.Revision == 2 && len(s.Waves) > 0 && s.Waves[0].State == v1alpha1.WaveSoaking
	})
	if soaking.Next == nil || soaking.Progress != "1/4" || soaking.Wave != "rest" && soaking.Wave != "canary" {
		t.Errorf("%+v", soaking)
	}
	if c := w.condition(v1alpha1.ConditionReconciling); c.Reason != v1alpha1.ReasonSoaking || c.ObservedGeneration != w.proxy.Generation {
		t.Errorf("%+v", c)
	}
	soak(time.Second)
	w.awaitComplete(2)
	if c := w.condition(v1alpha1.ConditionReconciling); c.Type != "" {
		t.Errorf("%+v", c)
	}
	want := []string{"RolloutCompleted", "RolloutStarted", "WavePassed", "Written"}
	controlplanetest.Await(t, "events", func(context.Context) (bool, error) {
		got := w.eventReasons()
		return controlplanetest.Holds(slices.Equal(got, want), "%v, want %v", got, want)
	})
	controlplanetest.Await(t, "metrics", func(ctx context.Context) (bool, error) {
		metrics, err := w.operator.Metrics(ctx)
		clusters := fmt.Sprintf("fairlead_rollout_clusters{proxy=%q,revision=\"2\"} 4", w.proxy.Name)
		duration := fmt.Sprintf("fairlead_rollout_duration_seconds{proxy=%q,revision=\"2\"}", w.proxy.Name)
		is := strings.Contains(metrics, clusters) && strings.Contains(metrics, duration) && !strings.Contains(metrics, "fairlead_rollout_halted")
		return controlplanetest.Holds(err == nil && is, "%s (%v)", metrics, err)
	})
}

// An entry ends while nobody changes anything: that is a revision, which goes through the waves.
func TestAnEntryThatEndsGoesThroughTheWavesOfRealClusters(t *testing.T) {
	tier.Full(t)
	w := newWaves(t, 2, 4)
	in := func(wait time.Duration) *metav1.Time {
		return &metav1.Time{Time: time.Now().Add(wait).Truncate(time.Second)}
	}
	setEntries := func(entries ...v1alpha1.NoProxyEntry) {
		t.Helper()
		modify(w.fixture, w.proxy, func(p *v1alpha1.CorporateProxy) { p.Spec.NoProxy = entries })
	}
	ending := v1alpha1.NoProxyEntry{Value: "ends.example", Owner: "team", Reason: "moves", Until: in(time.Hour)}
	stays := v1alpha1.NoProxyEntry{Value: "stays.example"}
	setEntries(stays, ending)
	w.awaitComplete(2)
	for _, cluster := range w.all() {
		if list := w.noProxy(cluster); !strings.Contains(list, ending.Value) {
			t.Errorf("%s has %s", cluster, list)
		}
	}
	w.tell("pause")
	w.awaitRollout("paused", func(s v1alpha1.RolloutStatus) bool { return s.Paused })
	before := w.count(w.all())
	ending.Until = in(5 * time.Second) // whether the operator sees the end before it comes does not matter
	setEntries(stays, ending)
	w.awaitProxy(w.proxy, "a revision without the entry, and no next end", func(p *v1alpha1.CorporateProxy) bool {
		return len(p.Status.Revisions) >= 3 && p.Status.NextEnd == nil
	})
	if since := w.proxy.Status.Revisions[0].Since; since.Before(ending.Until) {
		t.Errorf("revision 3 is of %s, and the entry ended at %s", since, ending.Until)
	}
	if w.count(w.all()) != before {
		t.Error("Secrets were written while the rollout was paused")
	}
	w.tell("resume")
	w.awaitComplete(3)
	for _, cluster := range w.all() {
		if list := w.noProxy(cluster); strings.Contains(list, ending.Value) || !strings.Contains(list, stays.Value) {
			t.Errorf("%s has %s", cluster, list)
		}
	}
	setEntries(stays)
	w.awaitRollout("what had ended is removed, which is no revision", func(s v1alpha1.RolloutStatus) bool {
		return s.Revision == 3 && w.proxy.Status.ObservedGeneration == w.proxy.Generation
	})
}
