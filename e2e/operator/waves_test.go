package operator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
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
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

// shortLists is a rule of somebody's: the machines of canaries take no long list.
var shortLists = denial{
	"short-lists", "", "v1", "secrets", "CREATE, UPDATE", "request.name.startsWith('canary-') && request.name.endsWith('-systemd-proxy')",
	"object.data.containerdProxy.size() < 2000", "no list of that length", "Fail",
}

func longList() string {
	var list []string
	for i := range 60 {
		list = append(list, strings.Repeat("h", i+1)+".example")
	}
	return strings.Join(list, ",")
}

// refuseLongLists returns once the rule holds.
func (w *waves) refuseLongLists() {
	w.Helper()
	w.must(w.cp.Apply(w.Context(), shortLists.manifests()))
	controlplanetest.Await(w, "the API server to refuse", func(ctx context.Context) (bool, error) {
		_, systemd := w.secrets(w.canaries[0])
		systemd.Data["containerdProxy"] = []byte(longList() + longList())
		err := w.client.Update(ctx, systemd, client.DryRunAll)
		return controlplanetest.Holds(err != nil && strings.Contains(err.Error(), shortLists.message), "it says: %v", err)
	})
}

// The canaries' Secrets are refused: the rollout is halted, and nothing outside their wave is written. The canaries go
// back, and a corrected change goes through without anybody removing a pin.
func TestCanariesWhoseSecretsAreRefusedHaltTheRollout(t *testing.T) {
	w := newWaves(t, 5, many())
	w.refuseLongLists()
	before := w.content(w.canaries)
	versions := w.count(w.rest)

	w.setNoProxy(w.proxy, longList())
	halted := w.awaitHalted(2)
	if halted.Wave != "canary" || halted.Failed == 0 || !strings.Contains(strings.Join(halted.Failures, " "), shortLists.message) {
		t.Errorf("%+v", halted)
	}
	stalled := conditionOf(w.proxy.Status.Conditions, v1alpha1.ConditionStalled)
	if stalled.Status != metav1.ConditionTrue || stalled.Reason != v1alpha1.ReasonHalted || !strings.Contains(stalled.Message, w.namespace+"/canary-") { // whichever was tried first
		t.Errorf("%+v", stalled)
	}
	w.tell("undo")
	w.awaitComplete(1)
	if after := w.content(w.canaries); !maps.Equal(before, after) {
		t.Errorf("the canaries have\n%v\nand had\n%v", after, before)
	}
	if now := w.count(w.rest); now != versions {
		t.Errorf("outside the wave %d Secrets were written", now-versions)
	}

	w.setNoProxy(w.proxy, "corrected.example")
	w.awaitComplete(3)
	for _, cluster := range []string{w.canaries[0], w.rest[0], w.rest[len(w.rest)-1]} {
		if list := w.noProxy(cluster); !strings.Contains(list, "corrected.example") {
			t.Errorf("%s has %s", cluster, list)
		}
	}
	w.history.close()
}

// observe writes what observe would of the settings that a cluster has.
func (w *waves) observe(cluster, egress, message string) {
	w.Helper()
	report := &v1alpha1.ProxyReport{ObjectMeta: w.named(cluster)}
	controlplanetest.ChangeStatus(w, w.client, report, func(r *v1alpha1.ProxyReport) {
		now := metav1.Now()
		r.Status.Observed = &v1alpha1.Observed{
			Time: now, Since: &now, Period: &metav1.Duration{Duration: time.Minute}, Egress: egress, Message: message,
			Revision: revision.Identity(*r.Status.Revision),
		}
	})
}

// awaitRevision awaits that the Secrets of clusters have a revision.
func (w *waves) awaitRevision(number int64, clusters []string) {
	w.Helper()
	for _, cluster := range clusters {
		w.awaitReport(cluster, "the revision", func(r *v1alpha1.ProxyReport) bool {
			return r.Status.Revision != nil && r.Status.Revision.Number == number && r.Status.RevisionSince != nil
		})
	}
}

// A canary whose probes held before a change, and fail after it, halts the rollout. Who went back is probed as well, and a restart is
// no doubt.
func TestProbesThatFailAfterAChangeHaltTheRollout(t *testing.T) {
	tier.Full(t)
	w := newWaves(t, 2, 5, func(p *v1alpha1.CorporateProxy) {
		p.Spec.Probes = &v1alpha1.Probes{
			BeforeChange: v1alpha1.BeforeChangeNever, MustReach: []v1alpha1.ProbeTarget{{URL: "tcp://registry.example:443", Route: "Proxied"}},
		}
		p.Spec.Rollout.HaltOn.Probes = v1alpha1.ProbesRequired
	})
	verified := func() {
		t.Helper()
		for _, cluster := range w.canaries {
			w.observe(cluster, v1alpha1.EgressVerified, "")
		}
	}
	verified()
	versions := w.count(w.rest)

	w.setNoProxy(w.proxy, "second.example")
	w.awaitRevision(2, w.canaries)
	waiting := w.awaitRollout("the canaries are waited for", func(s v1alpha1.RolloutStatus) bool { return s.Revision == 2 && s.InProgress == 2 })
	if waiting.Halted || waiting.Waves[0].State != v1alpha1.WaveProgressing {
		t.Errorf("%+v", waiting)
	}
	w.observe("canary-0", v1alpha1.EgressFailed, "407")
	halted := w.awaitHalted(2)
	if failures := strings.Join(halted.Failures, "; "); halted.Failed != 1 || !strings.Contains(failures, "canary-0: its egress check failed: 407") {
		t.Errorf("%+v", halted)
	}
	w.tell("undo")
	w.awaitRevision(1, w.canaries)
	w.awaitRollout("canary-0, which went back, is waited for", func(s v1alpha1.RolloutStatus) bool {
		return s.Revision == 1 && s.InProgress == 1 && s.Completed == nil
	})
	verified()
	w.awaitComplete(1)
	if now := w.count(w.rest); now != versions {
		t.Errorf("outside the wave %d Secrets were written", now-versions)
	}

	w.must(w.operator.Stop())
	w.startOperator()
	w.setNoProxy(w.proxy, "third.example")
	w.awaitRevision(3, w.canaries)
	verified()
	w.awaitComplete(3)
}

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
