package decide

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
)

// contended is how many reverts in a row make a rival.
const contended = 2

// Conclude returns the status of a report, from the decision, the results of the writes, and these findings. It is
// pure.
func Conclude(s State, d Decision, w Writes, found []v1alpha1.ReportedFinding) v1alpha1.ProxyReportStatus {
	status, out := d.Status, w.Outcome()
	status.Secrets, status.Conditions, status.Nodes = slices.Clone(status.Secrets), slices.Clone(status.Conditions), status.Nodes.DeepCopy()
	status.Findings = found
	w.recordIn(&status, s.InDoubt.Machines)
	setRevisionSince(&status, s)
	switch {
	case out.Retry != nil:
		keepDescription(&status, s.Last())
	case len(w.Attempts) > 0:
		status.HandledRequest = s.Report.Annotations[v1alpha1.ReapplyAnnotation]
	}
	count(status.Nodes, s.Machines)
	setEndpointsDirect(&status.Conditions, d.lists, s)
	setObserved(&status.Conditions, s)
	setDelivered(&status)
	setConditions(&status, d, out, NextGeneration(&s, d, out))
	paceFindings(&status, s)
	return status
}

// setRevisionSince notes since when the Secrets have their revision. What is repaired later had it before.
func setRevisionSince(status *v1alpha1.ProxyReportStatus, s State) {
	switch {
	case status.Revision == nil:
		status.RevisionSince = nil
	case s.Record == nil, s.Last().Revision != nil && *s.Last().Revision == *status.Revision:
	default:
		since := s.Record.Since
		for _, secret := range status.Secrets {
			if secret.Written != nil && since.Before(secret.Written) {
				since = *secret.Written
			}
		}
		status.RevisionSince = &since
	}
}

// setConditions sets the conditions that follow from the decision and from the outcome of the writes.
func setConditions(status *v1alpha1.ProxyReportStatus, d Decision, out Outcome, generation int64) {
	conditions := &status.Conditions
	pause := ""
	if d.Paused {
		pause = "the Cluster is paused; nothing is written"
	}
	machinery.SetWhile(conditions, v1alpha1.ConditionPaused, v1alpha1.ReasonPaused, pause)
	machinery.SetWhile(conditions, v1alpha1.ConditionMachinesOutdated, v1alpha1.ReasonBuiltBefore, outdatedMessage(status.Nodes))
	if !d.Paused && !d.Held && out.Retry == nil { // otherwise the last known state is the best there is
		if d.Problem == nil {
			machinery.SetWhile(conditions, v1alpha1.ConditionNameTaken, v1alpha1.ReasonNameTaken, strings.Join(out.Taken, "; "))
			machinery.SetWhile(conditions, v1alpha1.ConditionContended, v1alpha1.ReasonContended, rivalMessage(*status))
		}
		meta.SetStatusCondition(conditions, ready(*status, d, out))
	}
	if !d.Paused && out.Retry != nil && !machinery.Unavailable(out.Retry) {
		meta.SetStatusCondition(conditions, metav1.Condition{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonWriteFailed, Message: machinery.Shorten(out.Retry.Error()),
		})
	}
	for i := range *conditions {
		(*conditions)[i].ObservedGeneration = generation
	}
}

// keepDescription puts back what the status says of the Secrets, where new ones were not written.
func keepDescription(status *v1alpha1.ProxyReportStatus, last v1alpha1.ProxyReportStatus) {
	status.Revision, status.RevisionSince = last.Revision, last.RevisionSince
	status.Mode, status.ProxyName, status.Form, status.NoProxy = last.Mode, last.ProxyName, last.Form, last.NoProxy
	status.Entries, status.EntryCounts, status.Findings, status.Facts = last.Entries, last.EntryCounts, last.Findings, last.Facts
	status.Refusals, status.RefusalCount = last.Refusals, last.RefusalCount
	status.Cluster.Generation = last.Cluster.Generation
}

// paceFindings leaves the findings as they are where nothing else of the report changes, until the cluster's next turn: a
// new version finds something else in the same lists, and all reports of a fleet would be written at its start.
func paceFindings(status *v1alpha1.ProxyReportStatus, s State) {
	next := *status
	next.Findings = s.Last().Findings
	if !s.Paced && !ReapplyRequested(&s) && equality.Semantic.DeepEqual(next, s.Last()) {
		*status = next
	}
}

// ready returns the condition Ready of a report.
func ready(status v1alpha1.ProxyReportStatus, d Decision, out Outcome) metav1.Condition {
	condition := func(reason, message string) metav1.Condition {
		is := metav1.ConditionFalse
		if reason == v1alpha1.ReasonApplied {
			is = metav1.ConditionTrue
		}
		return metav1.Condition{Type: v1alpha1.ConditionReady, Status: is, Reason: reason, Message: machinery.Shorten(message)}
	}
	switch {
	case d.Problem != nil:
		return condition(string(d.Problem.Reason), d.Problem.Error()+consequence(status, d.note))
	case len(out.Taken) > 0:
		return condition(v1alpha1.ReasonNameTaken, strings.Join(out.Taken, "; "))
	case len(out.Refused) > 0:
		return condition(v1alpha1.ReasonRefused, strings.Join(out.Refused, "; "))
	case rivalMessage(status) != "":
		return condition(v1alpha1.ReasonContended, rivalMessage(status))
	}
	return condition(v1alpha1.ReasonApplied, summary(status))
}

// consequence says what a problem means for the Secrets.
func consequence(status v1alpha1.ProxyReportStatus, note string) string {
	switch {
	case len(status.Secrets) > 0 && (status.Mode == string(resolve.ModeUnproxied) || status.Mode == string(resolve.ModeDirect)):
		return "; both Secrets stay blank"
	case len(status.Secrets) > 0:
		return "; both Secrets stay as last written"
	case note == resolve.NoteHadProxy:
		return fmt.Sprintf("; both Secrets stay as they are, since the cluster counts as one that had a proxy (annotation %s of its ProxyReport)", v1alpha1.HadProxyAnnotation)
	}
	return "; both Secrets are withheld"
}

func summary(status v1alpha1.ProxyReportStatus) string {
	switch resolve.Mode(status.Mode) {
	case resolve.ModeDirect:
		return "direct, as the ProxyOverride asks: both Secrets are blank"
	case resolve.ModeUnproxied:
		return "no CorporateProxy selects this cluster: both Secrets are blank"
	}
	return fmt.Sprintf("through CorporateProxy %s, %d NO_PROXY entries", status.ProxyName, status.NoProxy.Entries)
}

func rivalMessage(status v1alpha1.ProxyReportStatus) string {
	var messages []string
	for _, record := range records(status) {
		if record.Reverts < contended {
			continue
		}
		rival := "somebody"
		if record.Rival != "" {
			rival = fmt.Sprintf("field manager %q", record.Rival)
		}
		kind := "Secret"
		if record.Role == render.ConfigMapRole {
			kind = "ConfigMap"
		}
		messages = append(messages, fmt.Sprintf("%s %s: %s undid the last write %d times in a row; it is written again at growing intervals", kind, record.Name, rival, record.Reverts))
	}
	return strings.Join(messages, "; ")
}
