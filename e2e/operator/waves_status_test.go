package operator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// table is what kubectl get prints of the CorporateProxy.
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

// eventReasons are those of the events about the CorporateProxy.
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
	if c := meta.FindStatusCondition(w.proxy.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// holds is the answer to Await: what is so instead, while it does not hold.
func holds(ok bool, format string, args ...any) (bool, error) {
	if ok {
		return true, nil
	}
	return false, fmt.Errorf(format, args...)
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
		return holds(slices.Equal(got, want), "%v, want %v", got, want)
	})
	controlplanetest.Await(t, "metrics", func(ctx context.Context) (bool, error) {
		metrics, err := w.operator.Metrics(ctx)
		clusters := fmt.Sprintf("fairlead_rollout_clusters{proxy=%q,revision=\"2\"} 4", w.proxy.Name)
		duration := fmt.Sprintf("fairlead_rollout_duration_seconds{proxy=%q,revision=\"2\"}", w.proxy.Name)
		if err != nil || !strings.Contains(metrics, clusters) || !strings.Contains(metrics, duration) || strings.Contains(metrics, "fairlead_rollout_halted") {
			return false, fmt.Errorf("%w: %s", err, metrics)
		}
		return true, nil
	})
}

// Two objects change together, in two writes that are minutes apart for a repository: nothing of the one goes without the
// other.
func TestObjectsOfOneChangeAreOneRevision(t *testing.T) {
	tier.Full(t)
	w := newWaves(t, 1, 1)
	source := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: w.proxy.Name}}
	modify(w.fixture, source, func(s *corev1.Secret) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.ChangeAnnotation, "42")
		s.Data["noProxy"] = []byte("of-42.example")
	})
	controlplanetest.Await(t, "that the other object is waited for", func(context.Context) (bool, error) {
		c := w.condition(v1alpha1.ConditionRolloutProblem)
		return holds(c.Reason == v1alpha1.ReasonChangeIncomplete && strings.Contains(c.Message, `"42" on Secret `+w.proxy.Name), "%+v", c)
	})
	if got := w.proxy.Status.Rollout.Revision; got != 1 {
		t.Errorf("revision %d was recorded", got)
	}
	modify(w.fixture, w.proxy, func(p *v1alpha1.CorporateProxy) {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1alpha1.ChangeAnnotation, "42")
		p.Spec.NoProxy = []v1alpha1.NoProxyEntry{{Value: "of-the-proxy.example"}}
	})
	w.awaitComplete(2)
	if list := w.noProxy(w.rest[0]); !strings.Contains(list, "of-42.example") || !strings.Contains(list, "of-the-proxy.example") {
		t.Error(list)
	}
	if c := w.condition(v1alpha1.ConditionRolloutProblem); c.Type != "" {
		t.Errorf("%+v", c)
	}
}

// Bad input is a condition that names it, and the fleet keeps what it has.
func TestWavesThatCannotBeAreNamed(t *testing.T) {
	tier.Full(t)
	w := newWaves(t, 1, 2)
	set := func(change func(*v1alpha1.Rollout)) {
		t.Helper()
		modify(w.fixture, w.proxy, func(p *v1alpha1.CorporateProxy) { change(p.Spec.Rollout) })
	}
	await := func(kind, reason, text string) {
		t.Helper()
		controlplanetest.Await(t, kind+" "+reason, func(context.Context) (bool, error) {
			c := w.condition(kind)
			return holds(c.Status == metav1.ConditionTrue && c.Reason == reason && strings.Contains(c.Message, text), "%+v", c)
		})
	}
	stage := func(value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{stageLabel: value}}
	}
	versions := w.count(w.rest)

	set(func(r *v1alpha1.Rollout) { r.Waves[0].ClusterSelector = stage("nobody") })
	w.setNoProxy(w.proxy, "second.example")
	await(v1alpha1.ConditionStalled, v1alpha1.ReasonWaveEmpty, "wave canary selects no cluster")
	set(func(r *v1alpha1.Rollout) {
		r.Waves[0].ClusterSelector = stage("canary")
		r.Waves[1].ClusterSelector = stage("rest")
	})
	await(v1alpha1.ConditionStalled, v1alpha1.ReasonWaveEmpty, "wave rest selects no cluster")
	set(func(r *v1alpha1.Rollout) { r.Waves = r.Waves[:1] })
	await(v1alpha1.ConditionStalled, v1alpha1.ReasonClustersInNoWave, w.rest[0])
	if now := w.count(w.rest); now != versions {
		t.Errorf("%d Secrets were written", now-versions)
	}
	set(func(r *v1alpha1.Rollout) {
		r.Waves = append(r.Waves, v1alpha1.Wave{Name: "again", ClusterSelector: stage("canary")}, v1alpha1.Wave{Name: "rest"})
	})
	await(v1alpha1.ConditionRolloutProblem, v1alpha1.ReasonWavesOverlap, w.canaries[0]+" (canary, again)")
	set(func(r *v1alpha1.Rollout) { r.Waves = slices.Delete(r.Waves, 1, 2) })
	w.awaitComplete(2)

	canary := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: w.canaries[0]}}
	modify(w.fixture, canary, func(c *clusterv1.Cluster) { paused := true; c.Spec.Paused = &paused })
	w.setNoProxy(w.proxy, "third.example")
	await(v1alpha1.ConditionStalled, v1alpha1.ReasonWaveEmpty, w.canaries[0]+" (paused)")
	modify(w.fixture, canary, func(c *clusterv1.Cluster) { c.Spec.Paused = nil })
	w.awaitComplete(3)
}

// What cannot be is refused at once, or named; either way another CorporateProxy goes on.
func TestAnInvalidRolloutStopsNoOtherCorporateProxy(t *testing.T) {
	tier.Full(t)
	w := newWaves(t, 1, 1)
	zero := intstr.FromInt32(0)
	broken := w.proxy.DeepCopy()
	broken.Spec.Rollout.Waves[1].MaxParallel = &zero
	if err := w.client.Update(t.Context(), broken); err == nil || !strings.Contains(err.Error(), "maxParallel is a number of clusters from 1") {
		t.Errorf("maxParallel 0: %v", err)
	}
	w.source("other", example())
	other := w.fixture.proxy("other", canaryAndRest, func(p *v1alpha1.CorporateProxy) {
		p.Spec.ClusterSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"proxy": "other"}}
		p.Spec.Rollout.Waves[0].ClusterSelector = &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "x", Operator: "Inn", Values: []string{"y"}}},
		}
	})
	w.awaitProxy(other, func(p *v1alpha1.CorporateProxy) bool {
		c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionStalled)
		return c != nil && c.Reason == v1alpha1.ReasonInvalidRollout && strings.Contains(c.Message, "spec.rollout.waves[0] (canary).clusterSelector")
	})
	w.setNoProxy(w.proxy, "second.example")
	w.awaitComplete(2)
	metrics, err := w.operator.Metrics(t.Context())
	w.must(err)
	for _, line := range strings.Split(metrics, "\n") {
		if strings.HasPrefix(line, "controller_runtime_reconcile_panics_total") && !strings.HasSuffix(line, " 0") {
			t.Error(line)
		}
	}
}
