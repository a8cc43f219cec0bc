package controller

import (
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

// decision is what is to be written: the Secrets, or none if they are to stay as
// they are, and a status that lacks only what the writing will show.
type decision struct {
	secrets   []render.Secret
	configMap *render.ConfigMap // beside the Secrets, where it is wanted
	meaning   []byte            // what they tell machines; the password is in it
	lists     bypassLists
	status    v1alpha1.ProxyReportStatus
	note      string           // whether the cluster had a proxy, for the report's metadata
	problem   *resolve.Problem // why there are no Secrets to write
	paused    bool
	held      bool // a rollout lets the cluster wait

	lint func() []v1alpha1.ReportedFinding // finds what is in the status; nil: that stays
}

// decide is pure. The findings are not in the decision yet.
func (r *ClusterReconciler) decide(s state) decision {
	return decide(s, r.memory.lintOf(client.ObjectKeyFromObject(s.cluster)))
}

func decide(s state, lint listFindings) decision {
	last := s.last()
	d := decision{status: *last.DeepCopy(), lists: reportedLists(last), paused: paused(s.cluster)}
	if d.paused {
		d.leave(s)
		return d
	}
	d.note, d.status.Override = s.past().Note(""), reportedOverride(s)
	if d.hold(s) { // the generation stays, so that facts which nobody has used yet are read again
		return d
	}
	d.status.Cluster = v1alpha1.ReportedCluster{UID: s.cluster.UID, Generation: s.cluster.Generation}
	if s.problem == nil {
		d.status.Facts = s.facts
		setWhile(&d.status.Conditions, v1alpha1.ConditionFactsUnread, s.unread.Reason, s.unread.Problem)
	}
	effective, err := effective(s)
	if err == nil {
		d.secrets, err = render.Secrets(effective)
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
		d.secrets, d.configMap, d.problem = nil, nil, asProblem(s, err)
		d.leave(s)
		report(&d.status, d.problem)
		return d
	}
	report(&d.status, nil)
	describe(&d.status, effective)
	d.status.Revision = nil
	if s.record != nil {
		d.status.Revision = &s.record.ReportedRevision
	}
	d.note = s.past().Note(effective.Mode)
	d.lists = resolvedLists(effective)
	d.status.Findings = nil
	if effective.Mode == resolve.ModeProxied {
		d.lint = func() []v1alpha1.ReportedFinding { return clusterFindings(effective, inputs.Cluster(s.cluster), lint) }
	}
	return d
}

// hold sets the conditions by which a rollout lets a cluster wait, and reports whether it does.
func (d *decision) hold(s state) bool {
	for _, kind := range []string{v1alpha1.ConditionRevisionUnknown, v1alpha1.ConditionHeld} {
		if s.held != nil && s.held.condition == kind {
			setWhile(&d.status.Conditions, kind, s.held.reason, s.held.message)
		} else {
			meta.RemoveStatusCondition(&d.status.Conditions, kind)
		}
	}
	if s.held == nil {
		return false
	}
	d.held = true
	d.leave(s)
	return true
}

// leave is for Secrets that are not written. If it is in doubt what they hold, they are due as soon as they can be.
func (d *decision) leave(s state) {
	if s.doubt.open {
		distrust(&d.status)
	}
}

func effective(s state) (resolve.Effective, error) {
	cluster := inputs.Cluster(s.cluster)
	if s.problem != nil {
		if s.problem.Reason == resolve.ReasonNotSelected {
			return resolve.Unselected(cluster, s.past(), s.settles > 0, s.problem)
		}
		return resolve.Effective{}, s.problem
	}
	first := len(s.last().Secrets) == 0
	if first && s.cluster.Spec.Topology.IsDefined() && !s.cluster.Spec.InfrastructureRef.IsDefined() { // which kind has the facts, and which network the Services, is not known
		return resolve.Effective{}, resolve.NewProblem(resolve.ReasonFactsPending, cluster.Object(), "spec.infrastructureRef",
			"not known yet: Cluster API sets it from the ClusterClass")
	}
	identity := ""
	if s.record != nil {
		identity = revision.Identity(s.record.ReportedRevision)
	}
	return resolve.Resolve(resolve.Input{
		Installation: s.installation,
		Cluster:      cluster,
		Facts:        inputs.Facts(cluster.Namespace, s.facts),
		Override:     inputs.Override(s.override),
		PinnedForm:   s.promisedForm(),
		Fingerprints: s.fingerprints,
		Revision:     identity,
	})
}

func paused(cluster *clusterv1.Cluster) bool {
	_, annotated := cluster.Annotations[clusterv1.PausedAnnotation]
	return annotated || cluster.Spec.Paused != nil && *cluster.Spec.Paused
}

// asProblem wraps what is not a Problem yet: nothing that render returns may
// end in an endless retry.
func asProblem(s state, err error) *resolve.Problem {
	var p *resolve.Problem
	if errors.As(err, &p) {
		return p
	}
	return &resolve.Problem{Reason: resolve.ReasonInvalidProxy, Object: inputs.Cluster(s.cluster).Object(), Detail: err.Error()}
}

// The bounds of a report, which are those of the CRD's schema.
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
