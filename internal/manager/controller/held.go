package controller

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

// readRevision reads the installation of the revision that a cluster is to have.
func (r *ClusterReconciler) readRevision(ctx context.Context, s *state, proxy *v1alpha1.CorporateProxy) error {
	var err error
	if s.record, err = r.recordOf(s, proxy); err != nil {
		return err
	}
	if s.record == nil {
		if !r.Waves.decided(proxy) {
			return &unsettledError{undecided}
		}
		s.hold(v1alpha1.ConditionRevisionUnknown, v1alpha1.ReasonNotRecordedHere, "no revision is recorded for the cluster; its Secrets stay as they are until its wave")
		return nil
	}
	found, err := r.Waves.Revisions.find(ctx, s.record.ReportedRevision)
	if err != nil {
		return err
	}
	if found == nil {
		s.hold(v1alpha1.ConditionRevisionUnknown, v1alpha1.ReasonNotRecordedHere, fmt.Sprintf(
			"revision %d of CorporateProxy %s is not known here; the Secrets stay as they are until the cluster's wave", s.record.Number, s.record.Proxy))
		return nil
	}
	s.installation, s.source, s.account = found.installation, fmt.Sprintf("%s@%s", found.Proxy, found.Digest), &found.Credentials
	s.fingerprints = resolve.Fingerprints{Current: found.Credentials, Previous: found.Previous}
	return nil
}

// recordOf is what a cluster is to have; nil where nobody has decided.
func (r *ClusterReconciler) recordOf(s *state, proxy *v1alpha1.CorporateProxy) (*revision.Record, error) {
	var recorded *revision.Record
	if record, is, _ := revision.ParseRecord(s.annotation(v1alpha1.RevisionAnnotation)); is {
		recorded = &record
	}
	if s.past().CountsAsProxied() {
		return r.Waves.recordFor(client.ObjectKeyFromObject(s.cluster), recorded), nil
	}
	next, err := r.Waves.recordForNew(proxy)
	if err == nil && recorded != nil && recorded.Proxy == next.Proxy && recorded.Digest == next.Digest && recorded.Number == next.Number {
		next.Since = recorded.Since // it is written once
	}
	return next, err
}

func (s *state) hold(condition, reason, message string) { s.held = &held{condition, reason, message} }

// holdOwnChange has a cluster wait whose ProxyOverride or facts are not those that were decided about, unless it is new.
func (r *ClusterReconciler) holdOwnChange(s *state) {
	if s.record == nil || s.held != nil || s.problem != nil || s.facts != nil && len(s.facts.Missing) > 0 {
		return
	}
	override, facts := overrideHash(s.override), factsHash(s.facts)
	if !s.past().CountsAsProxied() {
		s.record.Override, s.record.Facts = override, facts
		return
	}
	key := client.ObjectKeyFromObject(s.cluster)
	what := "provider's facts"
	switch {
	case s.record.Override == override && s.record.Facts == facts:
		r.Waves.untell(key)
		return
	case s.record.Override != override:
		what = "ProxyOverride"
	}
	r.Waves.tell(key, facts)
	s.hold(v1alpha1.ConditionHeld, v1alpha1.ReasonWaitsForWave, fmt.Sprintf(
		"the %s of the cluster changed; its Secrets stay as they are until the rollout of CorporateProxy %s lets it go on", what, s.record.Proxy))
}
