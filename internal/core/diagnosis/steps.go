package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/revision"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
)

// LeaseName is the name of the operator's Lease.
const LeaseName = "fairlead-operator"

// OperatorStopped is the code of an operator that does not run.
const OperatorStopped = "Operator/Stopped"

// skew is how far the clocks of a user and of the operator may be apart.
const skew = time.Minute

// Stopped reports whether the operator that renewed a Lease has stopped.
func (l Lease) Stopped(now time.Time) bool {
	return l.Holder == "" || l.Renewed.Add(l.Duration+skew).Before(now)
}

const startOperator = "platform team: kubectl get deployments,pods --namespace {operator}"

func (j *judge) lease() {
	switch {
	case j.unread(SourceOperator):
		j.say(Unknown, "Operator/Unread", "whether the operator runs is not known, so the rest may be out of date", j.Unread[SourceOperator], nil, "")
	case j.Lease == nil:
		j.say(Unknown, "Operator/NoLease", "the namespace {operator} has no Lease "+LeaseName+": the operator is in another namespace, was never started, or elects no leader", "", nil,
			"give its namespace: --operator-namespace")
	case j.Lease.Stopped(j.Now):
		j.stopped = true
		renewed := metav1.NewTime(j.Lease.Renewed)
		j.say(Error, OperatorStopped, "the operator does not run: it renewed its Lease {operator}/"+LeaseName+" the last time then, and the statuses below are from before", "", &renewed, startOperator)
	}
}

// existence is about objects that are missing.
func (j *judge) existence() {
	if j.Cluster == nil && !j.unread(SourceCluster) {
		j.say(Warning, "Cluster/NotFound", "the Cluster {namespace}/{name} does not exist: the report is of one that is gone, or of one that is not yet imported", "", nil, "")
		j.generally("the Cluster does not exist: the report is of one that is gone, or of one that is not yet imported")
	}
	if j.Cluster != nil && j.Cluster.DeletionTimestamp != nil {
		j.say(Info, "Cluster/Deleting", "the Cluster is being deleted", "", j.Cluster.DeletionTimestamp, "")
	}
	switch {
	case j.unread(SourceReport):
		j.say(Unknown, "ProxyReport/Unread", "what the operator says of the cluster could not be read", j.Unread[SourceReport], nil, "")
	case j.Report == nil:
		j.say(Error, "ProxyReport/NotFound", "the Cluster has no ProxyReport: the operator has not seen it, or it is paused from the start; it gets no Secrets", "", nil,
			"cluster's owner: resume the Cluster if it is paused; else platform team: look into the operator's log")
	case j.ready() == nil:
		j.say(Unknown, "ProxyReport/Empty", "the ProxyReport says nothing yet", "", &j.Report.CreationTimestamp, "")
	}
}

func (j *judge) ready() *metav1.Condition {
	return meta.FindStatusCondition(j.status.Conditions, v1alpha1.ConditionReady)
}

// report says what the conditions of the report mean.
func (j *judge) report() {
	for _, c := range j.status.Conditions {
		switch c.Type {
		case v1alpha1.ConditionMachinesOutdated, v1alpha1.ConditionEgressVerified, v1alpha1.ConditionPodsReached: // elsewhere
		case v1alpha1.ConditionNameTaken, v1alpha1.ConditionContended:
			if ready := j.ready(); ready == nil || ready.Reason != c.Reason { // or else it is said already
				j.condition(ofReport, c)
			}
		default:
			j.condition(ofReport, c)
		}
	}
	seen := j.status.Cluster.Generation
	if j.Cluster != nil && seen != 0 && seen < j.Cluster.Generation && !j.stopped && j.waitsForNothing() {
		j.say(Info, "Cluster/Changed", "the Cluster changed, and the operator has not yet said what that means", "", nil, "")
	}
}

// OfFindings begins the codes of lint's findings about the settings.
const OfFindings = "Findings/"

// findings are the findings of lint that somebody should act on. The settings work as they are written, so no verdict depends on
// them: what lint learns to find must not fail a pipeline in which nothing changed.
func (j *judge) findings() {
	for _, f := range j.status.Findings {
		if severity := Severity(f.Severity); severity == Error || severity == Warning {
			j.say(Info, OfFindings+f.Code, "lint says "+f.Severity, strings.Join(append(f.Entries[:len(f.Entries):len(f.Entries)], f.Message), ": "), nil,
				keeper+"docs/reference/lint.md says what to do about "+f.Code)
		}
	}
}

// waitsForNothing reports whether the operator would act on a change at once.
func (j *judge) waitsForNothing() bool {
	all := j.status.Conditions
	return meta.IsStatusConditionTrue(all, v1alpha1.ConditionReady) && !meta.IsStatusConditionTrue(all, v1alpha1.ConditionPaused) &&
		!meta.IsStatusConditionTrue(all, v1alpha1.ConditionHeld) && !meta.IsStatusConditionTrue(all, v1alpha1.ConditionRevisionUnknown)
}

const reapply = `platform team: kubectl annotate proxyreport {name} --namespace {namespace} --overwrite ` + v1alpha1.ReapplyAnnotation + `="$(date)"`

// secrets compares the Secrets that are there with those that were written.
func (j *judge) secrets() {
	if j.unread(SourceSecrets) {
		return
	}
	for _, record := range j.status.Secrets {
		at := slices.IndexFunc(j.Secrets, func(s metav1.ObjectMeta) bool { return s.Name == record.Name })
		switch {
		case record.Name == "" || record.UID == "":
		case at < 0:
			j.say(Error, "Secret/Missing", "the Secret "+record.Name+" is gone; it was written then, and the operator writes it again within its interval", "", record.Written, reapply)
		case j.Secrets[at].UID != record.UID:
			created := j.Secrets[at].CreationTimestamp
			j.say(Warning, "Secret/Replaced", "the Secret "+record.Name+" is not the one that the operator wrote: somebody replaced it then", "", &created, reapply)
		}
	}
}

// machines counts them itself: the report's counts are as old as the operator's last look.
func (j *judge) machines() {
	status := j.status
	if status.Nodes == nil {
		return
	}
	all, outdated, since := int(status.Nodes.Machines), int(status.Nodes.Outdated), status.Nodes.Since
	if !j.unread(SourceMachines) {
		all, outdated = 0, 0
		for _, m := range j.Machines {
			if m.DeletionTimestamp != nil {
				continue
			}
			all++
			if since != nil && m.CreationTimestamp.Before(since) {
				outdated++
			}
		}
	}
	if outdated > 0 {
		detail, do := "", "platform team: fairlead nodes --namespace {namespace}, and clusterctl alpha rollout restart for each owner that it names"
		if status.Rollout != nil && status.Rollout.Message != "" {
			detail = status.Rollout.Message
		}
		if j.Proxy != nil && j.Proxy.Spec.Node.Rollout == v1alpha1.RolloutRolling && (status.Rollout == nil || status.Rollout.Skipped == nil) {
			do = "" // the operator replaces them
		}
		j.say(severityOf(do, Warning), v1alpha1.ConditionMachinesOutdated+"/"+v1alpha1.ReasonBuiltBefore,
			fmt.Sprintf("%d of %s were created before the settings changed, and keep the old ones until they are replaced", outdated, plural(all, "machine")), detail, since, do)
		j.generally("machines were created before the settings changed, and keep the old ones until they are replaced")
	}
	if pools := status.Nodes.OutdatedMachinePools; pools > 0 {
		j.say(Warning, v1alpha1.ConditionMachinesOutdated+"/MachinePools", plural(int(pools), "MachinePool")+" had instances when the settings changed; older instances keep the old ones", "", since,
			"platform team: replace the older instances, in the way of their provider")
		j.generally("MachinePools had instances when the settings changed; older instances keep the old ones")
	}
}

// generally returns what the last sentence says of any cluster, where its text has numbers.
func (j *judge) generally(text string) { j.said[len(j.said)-1].General = text }

// severityOf is Info where nobody must do anything.
func severityOf(do string, otherwise Severity) Severity {
	if do == "" {
		return Info
	}
	return otherwise
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// proxy says what the conditions of the CorporateProxy mean for this cluster.
func (j *judge) proxy() {
	if j.Proxy == nil {
		return
	}
	all := j.Proxy.Status.Conditions
	stalled := meta.FindStatusCondition(all, v1alpha1.ConditionStalled)
	for _, c := range all {
		switch c.Type {
		case v1alpha1.ConditionProxyReachable:
			if c.Status == metav1.ConditionFalse || stalled == nil || !slices.Contains(unanswered, stalled.Reason) {
				j.condition(ofProxy, c)
			}
		case v1alpha1.ConditionReady:
			if ready := j.ready(); ready != nil && ready.Reason == c.Reason {
				continue // the report has it
			}
			j.condition(ofProxy, c)
		case v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling:
			if c.Reason != v1alpha1.ReasonPreflightFailed || !meta.IsStatusConditionFalse(all, v1alpha1.ConditionProxyReachable) { // which says it
				j.rollout(c)
			}
		default:
			j.condition(ofProxy, c)
		}
	}
}

// unanswered are the reasons of Stalled that say the same as ProxyReachable, and what to do.
var unanswered = []string{v1alpha1.ReasonPreflightNoAnswer, v1alpha1.ReasonPreflightNoRoom}

// rollout says what a rollout means for this cluster: it failed with the revision, waits for it, has it, or is waited for.
func (j *judge) rollout(c metav1.Condition) {
	r := j.Proxy.Status.Rollout
	if c.Status != metav1.ConditionTrue || r == nil {
		j.condition(ofProxy, c)
		return
	}
	for _, failure := range r.Failures {
		if reason, ok := strings.CutPrefix(failure, j.Namespace+"/"+j.Name+": "); ok {
			do := "platform team: repair the cluster, or fairlead rollout undo {proxy}"
			if strings.Contains(reason, rollout.NotObservedSince) {
				do = lookAtObserver + "; the rollout then continues by itself"
			}
			j.say(Error, c.Type+"/Failed", fmt.Sprintf("this cluster failed with revision %d of CorporateProxy {proxy}", r.Revision), reason, &c.LastTransitionTime, do)
			if c.Reason == v1alpha1.ReasonHalted {
				return // for that
			}
		}
	}
	before := len(j.said)
	j.condition(ofProxy, c)
	has := j.status.Revision != nil && j.status.Revision.Number == r.Revision
	if len(j.said) > before && has { // others wait, and not this one
		s := &j.said[before]
		s.Severity = Info
		if j.awaited() {
			s.Text = "this cluster has its Secrets, and its probes are awaited if they held before; " + s.Text
			return
		}
		s.Text = "this cluster has the newest revision already. Of the others: " + s.Text
	}
}

// awaited reports whether it may be the probes of this cluster that a rollout waits for.
func (j *judge) awaited() bool {
	status, spec := j.status, j.Proxy.Spec.Rollout
	seen := status.Observed
	if seen == nil || spec == nil || spec.HaltOn.Probes != v1alpha1.ProbesRequired {
		return false
	}
	return seen.Egress != v1alpha1.EgressVerified || status.Revision != nil && triedOther(seen, *status.Revision) ||
		status.RevisionSince != nil && !seen.Time.After(status.RevisionSince.Time)
}

// inside judges what was observed in the workload cluster.
func (j *judge) inside() {
	if !j.observed() {
		return
	}
	conditions, seen := j.status.Conditions, j.status.Observed
	verified := meta.FindStatusCondition(conditions, v1alpha1.ConditionEgressVerified)
	switch {
	case verified != nil && verified.Reason == v1alpha1.ReasonStale && seen != nil:
		c := *verified
		c.LastTransitionTime = seen.Time
		j.condition(ofReport, c)
	case verified != nil:
		j.condition(ofReport, *verified)
	case seen.Egress == v1alpha1.EgressFailed:
		j.condition(ofReport, metav1.Condition{Type: v1alpha1.ConditionEgressVerified, Status: metav1.ConditionFalse, Reason: seen.Egress, Message: seen.Message, LastTransitionTime: seen.Time})
	case seen.Egress == v1alpha1.EgressUnknown:
		j.condition(ofReport, metav1.Condition{Type: v1alpha1.ConditionEgressVerified, Status: metav1.ConditionUnknown, Reason: seen.Egress, Message: seen.Message, LastTransitionTime: seen.Time})
	}
	unknown := verified != nil && verified.Status == metav1.ConditionUnknown
	said := func(c *metav1.Condition) bool {
		return unknown && c.Reason == verified.Reason && c.Message == verified.Message
	}
	if reached := meta.FindStatusCondition(conditions, v1alpha1.ConditionPodsReached); reached != nil && !said(reached) {
		j.condition(ofReport, *reached)
	}
	j.olderRevision()
	if !unknown && seen != nil && !seen.Time.IsZero() && seen.Period != nil && seen.Time.Add(2*seen.Period.Duration+skew).Before(j.Now) {
		j.say(Unknown, "Observed/Stale", "the inside of the cluster was seen then the last time, which is longer ago than two periods", "", &seen.Time,
			lookAtObserver)
	}
	if seen != nil && seen.Nodes != nil && seen.Nodes.Failed > 0 {
		j.say(Error, "Observed/NodesFailed", fmt.Sprintf("%d of %s with a relay do not get out", seen.Nodes.Failed, plural(int(seen.Nodes.Total), "node")), "", &seen.Time,
			"platform team: kubectl get configmap fairlead-probe in the workload cluster, in the namespace of fairlead-policies, names them")
		j.generally("nodes with a relay do not get out")
	}
}

// olderRevision is about settings that do not come into the cluster: the Secrets have had others for longer than it takes, when
// the probe still tried them.
func (j *judge) olderRevision() {
	has, since, seen := j.status.Revision, j.status.RevisionSince, j.status.Observed
	if has == nil || since == nil || seen == nil || !triedOther(seen, *has) {
		return
	}
	patience := 10 * time.Minute
	if seen.Period != nil {
		patience = max(patience, 3*seen.Period.Duration)
	}
	if seen.Time.Sub(since.Time) > patience {
		j.say(Warning, "Observed/OlderRevision", fmt.Sprintf("the cluster still uses other settings (%s) than those of revision %d, which its Secrets have since then", seen.Revision, has.Number),
			"", since, "whoever installs fairlead-policies in the cluster: upgrade it there with the values of Secret {name}-cluster-values (Flux, the App platform, Argo CD or helm)")
	}
}

// triedOther reports whether the probe says that it tried other settings than those.
func triedOther(seen *v1alpha1.Observed, has v1alpha1.ReportedRevision) bool {
	return seen.Revision != "" && seen.Revision != revision.Identity(has)
}

// observed reports whether somebody looks into the workload cluster.
func (j *judge) observed() bool {
	return j.status.Observed != nil || meta.FindStatusCondition(j.status.Conditions, v1alpha1.ConditionEgressVerified) != nil
}
