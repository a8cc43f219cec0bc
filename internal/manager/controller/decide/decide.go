package decide

import (
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/core/revision"
	"github.com/fairlead-io/fairlead/internal/manager/controller/findings"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
)

// Decision has what to write: the Secrets, or none if they stay as they are, and
// a status that lacks only the result of writing them.
type Decision struct {
	Secrets   []render.Secret
	configMap *render.ConfigMap // beside the Secrets, where it is wanted
	meaning   []byte            // what they tell machines; the password is in it
	lists     bypassLists
	Status    v1alpha1.ProxyReportStatus
	note      string           // whether the cluster had a proxy, for the report's metadata
	Problem   *resolve.Problem // why there are no Secrets to write
	Paused    bool
	Held      bool // a rollout lets the cluster wait

	Lint func() []v1alpha1.ReportedFinding // finds what is in the status; nil: that stays
}

// Decide decides, and calls lint with the list. The findings are not in the decision yet.
func Decide(s State, lint findings.ListFindings) Decision {
	last := s.Last()
	d := Decision{Status: *last.DeepCopy(), lists: reportedLists(last), Paused: machinery.Paused(s.Cluster)}
	if d.Paused {
		d.leave(s)
		return d
	}
	d.note, d.Status.Override = s.Past().Note(""), reportedOverride(s)
	if d.hold(s) { // the generation stays, so that facts which nobody has used yet are read again
		return d
	}
	d.Status.Cluster = v1alpha1.ReportedCluster{UID: s.Cluster.UID, Generation: s.Cluster.Generation}
	if s.Problem == nil {
		d.Status.Facts = s.Facts
		machinery.SetWhile(&d.Status.Conditions, v1alpha1.ConditionFactsUnread, s.Unread.Reason, s.Unread.Problem)
	}
	effective, err := effective(s)
	if err == nil {
		d.Secrets, err = render.Secrets(effective)
	}
	if err == nil {
		d.meaning, err = render.Meaning(effective)
	}
	if err == nil && (effective.ConfigMap || last.ConfigMap != nil) { // what names it would find an old list
		var configMap render.ConfigMap
		configMap, err = render.ValuesConfigMap(effective)
		d.configMap = &configMap
	}
	if err != nil {
		d.Secrets, d.configMap, d.Problem = nil, nil, asProblem(s, err)
		d.leave(s)
		report(&d.Status, d.Problem)
		return d
	}
	report(&d.Status, nil)
	describe(&d.Status, effective)
	d.Status.Revision = nil
	if s.Record != nil {
		d.Status.Revision = &s.Record.ReportedRevision
	}
	d.note = s.Past().Note(effective.Mode)
	d.lists = resolvedLists(effective)
	d.Status.Findings = nil
	if effective.Mode == resolve.ModeProxied {
		d.Lint = func() []v1alpha1.ReportedFinding {
			return findings.OfCluster(effective, inputs.Cluster(s.Cluster), lint)
		}
	}
	return d
}

// hold sets the conditions by which a rollout lets a cluster wait, and reports whether it does.
func (d *Decision) hold(s State) bool {
	for _, kind := range []string{v1alpha1.ConditionRevisionUnknown, v1alpha1.ConditionHeld} {
		if s.Held != nil && s.Held.Condition == kind {
			machinery.SetWhile(&d.Status.Conditions, kind, s.Held.reason, s.Held.message)
		} else {
			meta.RemoveStatusCondition(&d.Status.Conditions, kind)
		}
	}
	if s.Held == nil {
		return false
	}
	d.Held = true
	d.leave(s)
	return true
}

// leave is for Secrets that are not written. If it is in doubt what they hold, they are due as soon as they can be.
func (d *Decision) leave(s State) {
	if s.InDoubt.Secrets {
		distrust(&d.Status)
	}
}

func effective(s State) (resolve.Effective, error) {
	cluster := inputs.Cluster(s.Cluster)
	if s.Problem != nil {
		if s.Problem.Reason == resolve.ReasonNotSelected {
			return resolve.Unselected(cluster, s.Past(), s.Settles > 0, s.Problem)
		}
		return resolve.Effective{}, s.Problem
	}
	first := len(s.Last().Secrets) == 0
	if first && s.Cluster.Spec.Topology.IsDefined() && !s.Cluster.Spec.InfrastructureRef.IsDefined() { // which kind has the facts, and which network the Services, is not known
		return resolve.Effective{}, resolve.NewProblem(resolve.ReasonFactsPending, cluster.Object(), "spec.infrastructureRef",
			"not known yet: Cluster API sets it from the ClusterClass")
	}
	identity := ""
	if s.Record != nil {
		identity = revision.Identity(s.Record.ReportedRevision)
	}
	return resolve.Resolve(resolve.Input{
		Installation: s.Installation,
		Cluster:      cluster,
		Facts:        inputs.Facts(cluster.Namespace, s.Facts),
		Override:     inputs.Override(s.Override),
		PinnedForm:   s.promisedForm(),
		Fingerprints: s.Fingerprints,
		Revision:     identity,
	})
}

// asProblem wraps an error that is no Problem yet: no error of render may end in an endless retry.
func asProblem(s State, err error) *resolve.Problem {
	var p *resolve.Problem
	if errors.As(err, &p) {
		return p
	}
	return &resolve.Problem{Reason: resolve.ReasonInvalidProxy, Object: inputs.Cluster(s.Cluster).Object(), Detail: err.Error()}
}

// The bounds of a report, equal to those in the CRD's schema.
const (
	maxRefusals      = 20
	maxEntries       = 64
	maxReportedBytes = 8 << 10
)

// report puts the refused entries of a problem into the status, or none.
func report(status *v1alpha1.ProxyReportStatus, problem *resolve.Problem) {
	status.Refusals, status.RefusalCount = nil, 0
	if problem != nil {
		status.Refusals = problem.Refusals[:min(len(problem.Refusals), maxRefusals)]
		status.RefusalCount = int32(len(problem.Refusals))
	}
}

// reportedOverride returns what a report says of ends.
func reportedOverride(s State) *v1alpha1.ReportedOverride {
	if len(s.OverrideEnds) == 0 {
		return nil
	}
	reported := &v1alpha1.ReportedOverride{}
	for _, end := range s.OverrideEnds {
		if end.What == inputs.WholeOverride && s.Override == nil {
			reported.Ended = machinery.PtrTime(end.Time)
		}
	}
	next, comes := inputs.Next(s.OverrideEnds, s.OverrideNow)
	if comes {
		reported.Ends, reported.What, reported.Owner, reported.Reason = machinery.PtrTime(next.Time), next.What, next.Owner, next.Reason
	}
	if reported.Ended == nil && reported.Ends == nil { // of entries alone, and the owner sees them
		return nil
	}
	return reported
}
