package operator_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// in is an end that comes after a while.
func in(wait time.Duration) *metav1.Time {
	return &metav1.Time{Time: time.Now().Add(wait).Truncate(time.Second)}
}

// soon is what a test waits for. Whether the operator sees the end before it comes does not matter to what it awaits.
const soon = 5 * time.Second

// setEntries changes the entries of the CorporateProxy itself.
func (w *waves) setEntries(entries ...v1alpha1.NoProxyEntry) {
	w.Helper()
	controlplanetest.Await(w, "a change of the CorporateProxy", func(ctx context.Context) (bool, error) {
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(w.proxy), w.proxy); err != nil {
			return false, err
		}
		w.proxy.Spec.NoProxy = entries
		err := w.client.Update(ctx, w.proxy)
		return err == nil, err
	})
}

func (w *waves) awaitReportOf(cluster, what string, ok func(v1alpha1.ProxyReportStatus) bool) {
	w.Helper()
	controlplanetest.AwaitWithin(w, patience, what, func(ctx context.Context) (bool, error) {
		report := &v1alpha1.ProxyReport{}
		if err := w.client.Get(ctx, w.key(cluster), report); err != nil {
			return false, err
		}
		if !ok(report.Status) {
			return false, fmt.Errorf("override %+v, list %s, conditions %+v", report.Status.Override, report.Status.NoProxy.Any, report.Status.Conditions)
		}
		return true, nil
	})
}

// An entry ends while nobody changes anything: that is a revision, which goes through the waves.
func TestAnEntryThatEndsGoesThroughTheWavesOfRealClusters(t *testing.T) {
	tier.Full(t)
	w := newWaves(t, 2, 4)
	ending := v1alpha1.NoProxyEntry{Value: "ends.example", Owner: "team", Reason: "moves", Until: in(time.Hour)}
	stays := v1alpha1.NoProxyEntry{Value: "stays.example"}
	w.setEntries(stays, ending)
	w.awaitComplete(2)
	for _, cluster := range w.all() {
		if list := w.noProxy(cluster); !strings.Contains(list, ending.Value) {
			t.Errorf("%s has %s", cluster, list)
		}
	}
	w.pause()
	w.awaitRollout("paused", func(s v1alpha1.RolloutStatus) bool { return s.Paused })
	before := w.count(w.all())
	ending.Until = in(soon)
	w.setEntries(stays, ending)
	controlplanetest.AwaitWithin(w, patience, "a revision without the entry", func(ctx context.Context) (bool, error) {
		err := w.client.Get(ctx, client.ObjectKeyFromObject(w.proxy), w.proxy)
		if len(w.proxy.Status.Revisions) < 3 {
			return false, fmt.Errorf("revisions %+v (%w)", w.proxy.Status.Revisions, err)
		}
		if err != nil {
			return false, err
		}
		return holds(w.proxy.Status.NextEnd == nil, "the next end is %v", w.proxy.Status.NextEnd)
	})
	if since := w.proxy.Status.Revisions[0].Since; since.Before(ending.Until) {
		t.Errorf("revision 3 is of %s, and the entry ended at %s", since, ending.Until)
	}
	if w.count(w.all()) != before {
		t.Error("Secrets were written while the rollout was paused")
	}
	w.resume()
	w.awaitComplete(3)
	for _, cluster := range w.all() {
		if list := w.noProxy(cluster); strings.Contains(list, ending.Value) || !strings.Contains(list, stays.Value) {
			t.Errorf("%s has %s", cluster, list)
		}
	}
	w.setEntries(stays)
	w.awaitRollout("what had ended is removed, which is no revision", func(s v1alpha1.RolloutStatus) bool {
		return s.Revision == 3 && w.proxy.Status.ObservedGeneration == w.proxy.Generation
	})
}

// A ProxyOverride ends while nobody changes anything: its cluster has what all have, and no other one is written.
func TestAnOverrideThatEndsIsTakenOutOfItsClusterAlone(t *testing.T) {
	tier.Full(t)
	w := newWaves(t, 1, 2)
	cluster, others := w.rest[1], []string{w.canaries[0], w.rest[0]}
	before := w.count(others)
	override := &v1alpha1.ProxyOverride{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: cluster}}
	override.Spec = v1alpha1.ProxyOverrideSpec{NoProxy: []v1alpha1.NoProxyEntry{{Value: "own.example"}}, Owner: "lead", Reason: "tries", Until: in(time.Hour)}
	w.must(w.client.Create(w.Context(), override))
	w.awaitReportOf(cluster, "the ProxyOverride", func(s v1alpha1.ProxyReportStatus) bool {
		return s.Override != nil && s.Override.Owner == "lead" && strings.Contains(s.NoProxy.Any, "own.example")
	})
	ends := override.DeepCopy()
	ends.Spec.Until = in(soon)
	w.must(w.client.Patch(w.Context(), ends, client.MergeFrom(override))) // the operator writes the status meanwhile
	w.awaitReportOf(cluster, "the ProxyOverride to end", func(s v1alpha1.ProxyReportStatus) bool {
		return s.Override != nil && s.Override.Ended.Equal(ends.Spec.Until) && s.NoProxy.Any != "" && !strings.Contains(s.NoProxy.Any, "own.example")
	})
	if list := w.noProxy(cluster); strings.Contains(list, "own.example") {
		t.Errorf("the Secrets have %s", list)
	}
	if w.count(others) != before {
		t.Error("Secrets of other clusters were written")
	}
}

// The API server asks for who and why, before anything reads the object.
func TestAnEndWithoutAnOwnerIsRefused(t *testing.T) {
	f := newFixture(t)
	until := in(time.Hour)
	override := &v1alpha1.ProxyOverride{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "c1"}}
	for _, spec := range []v1alpha1.ProxyOverrideSpec{
		{Until: until},
		{Until: until, Owner: "lead"},
		{Until: until, Reason: "tries"},
		{NoProxy: []v1alpha1.NoProxyEntry{{Value: "a.example", Until: until, Reason: "moves"}}},
	} {
		override.Spec = spec
		err := f.client.Create(f.Context(), override.DeepCopy(), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "needs owner and reason") {
			t.Errorf("%+v: %v", spec, err)
		}
	}
	override.Spec = v1alpha1.ProxyOverrideSpec{Until: until, Owner: "lead", Reason: "tries"}
	f.must(f.client.Create(f.Context(), override, client.DryRunAll))
}
