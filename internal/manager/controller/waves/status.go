package waves

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/revision"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
)

// recording has the settings of a CorporateProxy that were read, and the result of recording
// them.
type recording struct {
	known    []*settings.Stored
	version  string        // of what was read
	unusable error         // it cannot be used, or not yet
	wait     time.Duration // until it is worth another look; 0: an event will tell
	nextEnd  time.Time     // when the next entry ends; zero: none does
	stalled  *rollout.Problem
	problems []rollout.Problem
}

func (r *recording) stall(reason, message string) {
	if r.stalled == nil {
		r.stalled = &rollout.Problem{Reason: reason, Message: message}
	}
}

func (r *recording) problem(reason, message string) {
	r.problems = append(r.problems, rollout.Problem{Reason: reason, Message: message})
}

// addTo puts what the decision does not know into it.
func (r *recording) addTo(d *rollout.Decision, control revision.Control) {
	for _, s := range r.known {
		if s.Broken != nil && !slices.Contains(control.Rejected, s.Digest) {
			r.problem(v1alpha1.ReasonRevisionLost, fmt.Sprintf("revision %d: %s", s.Number, s.Broken))
		}
	}
	for _, digest := range control.Rejected {
		if !slices.ContainsFunc(r.known, func(s *settings.Stored) bool { return s.Digest == digest }) {
			r.problem(v1alpha1.ReasonRejectedUnknown, fmt.Sprintf("digest %.24q is rejected, and is that of no revision that is kept", digest))
		}
	}
	d.Problems = append(d.Problems, r.problems...)
	if r.stalled != nil {
		d.Stalled, d.Progress = r.stalled, nil
	}
}

// revisionsOf returns the revisions that can be given to clusters.
func revisionsOf(known []*settings.Stored, control revision.Control, last v1alpha1.CorporateProxyStatus) []rollout.Revision {
	var all []rollout.Revision
	for _, s := range known {
		if s.Broken != nil {
			continue
		}
		r := rollout.Revision{Number: s.Number, Digest: s.Digest, Rejected: slices.Contains(control.Rejected, s.Digest)}
		if before := statusOfRevision(last, s); before != nil {
			r.Passed, r.Completed = before.Passed, before.Completed
		}
		all = append(all, r)
	}
	return all
}

func statusOfRevision(last v1alpha1.CorporateProxyStatus, s *settings.Stored) *v1alpha1.RevisionStatus {
	for i := range last.Revisions {
		if r := &last.Revisions[i]; r.Number == s.Number && r.Digest == s.Digest {
			return r
		}
	}
	return nil
}

const maxRevisions = 20 // the bound of the CRD's schema

// describeWaves returns what the status of a CorporateProxy is to say.
func describeWaves(proxy *v1alpha1.CorporateProxy, last v1alpha1.CorporateProxyStatus, d rollout.Decision, known []*settings.Stored, control revision.Control, fleet *fleet, now time.Time) Status {
	w := Status{rollout: d.Status.DeepCopy(), conditions: map[string]*metav1.Condition{
		v1alpha1.ConditionReconciling:    conditionOf(v1alpha1.ConditionReconciling, d.Progress),
		v1alpha1.ConditionStalled:        conditionOf(v1alpha1.ConditionStalled, d.Stalled),
		v1alpha1.ConditionRolloutProblem: conditionOf(v1alpha1.ConditionRolloutProblem, joined(d.Problems)),
		v1alpha1.ConditionProxyReachable: d.Reachable,
	}}
	if d.Stalled != nil {
		w.rollout.Message = machinery.Shorten(d.Stalled.Message)
	}
	var accounts []rollout.Account
	for i := len(known) - 1; i >= 0; i-- {
		s := known[i]
		accounts = append([]rollout.Account{{Revision: s.Number, Current: s.Credentials, Previous: s.Previous}}, accounts...)
		if len(w.revisions) == maxRevisions {
			continue
		}
		r := v1alpha1.RevisionStatus{
			Number: s.Number, Digest: s.Digest, Since: s.Since, Rejected: slices.Contains(control.Rejected, s.Digest),
			Clusters: fleet.clusters[proxy.Name][s.Number], Machines: fleet.machines[proxy.Name][s.Number],
		}
		if before := statusOfRevision(last, s); before != nil {
			r.Passed, r.Completed = before.Passed, before.Completed
		}
		if d.Target != nil && d.Target.Number == s.Number {
			r.Passed, r.Completed = r.Passed || d.Passed, r.Completed || d.Complete
		}
		w.revisions = append(w.revisions, r)
	}
	unseen := meta.IsStatusConditionTrue(last.Conditions, v1alpha1.ConditionOldCredentialsUnseen)
	w.credentials, w.conditions[v1alpha1.ConditionOldCredentialsUnseen] = rollout.Credentials(d.Status.Revision, accounts, fleet.holdersOf(proxy.Name), last.Credentials, unseen, now)
	return w
}

func conditionOf(kind string, p *rollout.Problem) *metav1.Condition {
	if p == nil {
		return nil
	}
	return &metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: p.Reason, Message: machinery.Shorten(p.Message)}
}

func joined(problems []rollout.Problem) *rollout.Problem {
	if len(problems) == 0 {
		return nil
	}
	var messages []string
	for _, p := range problems {
		messages = append(messages, p.Message)
	}
	return &rollout.Problem{Reason: problems[0].Reason, Message: strings.Join(messages, "; ")}
}

// AddTo writes the fields and conditions about rollouts into the status of a CorporateProxy.
func (w Status) AddTo(status *v1alpha1.CorporateProxyStatus, generation int64) {
	status.Rollout, status.Revisions, status.Credentials = w.rollout, w.revisions, w.credentials
	for _, kind := range []string{
		v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled, v1alpha1.ConditionRolloutProblem, v1alpha1.ConditionOldCredentialsUnseen,
		v1alpha1.ConditionProxyReachable,
	} {
		condition := w.conditions[kind]
		if condition == nil {
			meta.RemoveStatusCondition(&status.Conditions, kind)
			continue
		}
		next := *condition
		next.ObservedGeneration, next.Message = generation, machinery.Shorten(next.Message)
		meta.SetStatusCondition(&status.Conditions, next)
	}
}

// clean deletes revisions that nobody can ask for any more.
func (r *Reconciler) clean(ctx context.Context, proxies []v1alpha1.CorporateProxy, fleet *fleet, known map[string][]*settings.Stored) error {
	exists := map[string]bool{}
	for i := range proxies {
		exists[proxies[i].Name] = proxies[i].Spec.Rollout != nil
	}
	r.forgetBut(exists)
	failed := r.Revisions.ForgetHalves(ctx)
	for name, all := range known {
		control, _ := r.Revisions.Control(ctx, name) // what can be read of it
		for _, s := range settings.Unneeded(all, exists[name], r.needed(name, fleet)) {
			rejected := exists[name] && slices.Contains(control.Rejected, s.Digest)
			failed = errors.Join(failed, r.Revisions.Forget(ctx, s, rejected))
		}
	}
	return failed
}

// needed returns the revisions that records name, or that were decided and are not recorded yet.
func (r *Reconciler) needed(proxy string, fleet *fleet) map[int64]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	used := map[int64]bool{}
	for number := range fleet.used[proxy] {
		used[number] = true
	}
	for _, record := range r.assigned {
		if record.Proxy == proxy {
			used[record.Number] = true
		}
	}
	if p := r.plans[proxy]; p != nil && p.decision.ForNew != nil {
		used[p.decision.ForNew.Number] = true
	}
	return used
}
