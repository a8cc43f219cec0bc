package cluster

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/core/revision"
	"github.com/fairlead-io/fairlead/internal/manager/controller/decide"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
	"github.com/fairlead-io/fairlead/internal/manager/controller/waves"
)

// readRevision reads the installation of the revision that a cluster is to have.
func (r *Reconciler) readRevision(ctx context.Context, s *decide.State, proxy *v1alpha1.CorporateProxy) error {
	var err error
	if s.Record, err = r.recordOf(s, proxy); err != nil {
		return err
	}
	if s.Record == nil {
		if !r.Waves.Decided(proxy) {
			return &settings.UnsettledError{Wait: waves.Undecided}
		}
		s.Hold(v1alpha1.ConditionRevisionUnknown, v1alpha1.ReasonNotRecordedHere, "no revision is recorded for the cluster; its Secrets stay as they are until its wave")
		return nil
	}
	found, err := r.Waves.Revisions.Find(ctx, s.Record.ReportedRevision)
	if err != nil {
		return err
	}
	if found == nil {
		s.Hold(v1alpha1.ConditionRevisionUnknown, v1alpha1.ReasonNotRecordedHere, fmt.Sprintf(
			"revision %d of CorporateProxy %s is not known here; the Secrets stay as they are until the cluster's wave", s.Record.Number, s.Record.Proxy))
		return nil
	}
	s.Installation, s.Source, s.Account = found.Installation, fmt.Sprintf("%s@%s", found.Proxy, found.Digest), &found.Credentials
	s.Fingerprints = resolve.Fingerprints{Current: found.Credentials, Previous: found.Previous}
	return nil
}

// recordOf returns what a cluster is to have; nil where nobody has decided.
func (r *Reconciler) recordOf(s *decide.State, proxy *v1alpha1.CorporateProxy) (*revision.Record, error) {
	var recorded *revision.Record
	if record, ok, _ := revision.ParseRecord(s.Annotation(v1alpha1.RevisionAnnotation)); ok {
		recorded = &record
	}
	if s.Past().CountsAsProxied() {
		return r.Waves.RecordFor(client.ObjectKeyFromObject(s.Cluster), recorded), nil
	}
	next, err := r.Waves.RecordForNew(proxy)
	if err == nil && recorded != nil && recorded.Proxy == next.Proxy && recorded.Digest == next.Digest && recorded.Number == next.Number {
		next.Since = recorded.Since // it is written once
	}
	return next, err
}

// holdOwnChange has a cluster wait whose ProxyOverride or facts are not those that were decided about, unless it is new.
func (r *Reconciler) holdOwnChange(s *decide.State) {
	if s.Record == nil || s.Held != nil || s.Problem != nil || s.Facts != nil && len(s.Facts.Missing) > 0 {
		return
	}
	override, facts := waves.OverrideHash(s.Override), waves.FactsHash(s.Facts)
	if !s.Past().CountsAsProxied() {
		s.Record.Override, s.Record.Facts = override, facts
		return
	}
	key := client.ObjectKeyFromObject(s.Cluster)
	what := "provider's facts"
	switch {
	case s.Record.Override == override && s.Record.Facts == facts:
		r.Waves.Untell(key)
		return
	case s.Record.Override != override:
		what = "ProxyOverride"
	}
	r.Waves.Tell(key, facts)
	s.Hold(v1alpha1.ConditionHeld, v1alpha1.ReasonWaitsForWave, fmt.Sprintf(
		"the %s of the cluster changed; its Secrets stay as they are until the rollout of CorporateProxy %s lets it go on", what, s.Record.Proxy))
}
