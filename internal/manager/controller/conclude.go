package controller

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// contended is how many reverts in a row make a rival.
const contended = 2

// conclude sets the conditions, from what was decided and what became of it.
func conclude(d *decision, out outcome, generation int64) {
	conditions := &d.status.Conditions
	setWhile(conditions, v1alpha1.ConditionPaused, v1alpha1.ReasonPaused, when(d.paused, "the Cluster is paused; nothing is written"))
	setWhile(conditions, v1alpha1.ConditionMachinesOutdated, v1alpha1.ReasonBuiltBefore, outdatedMessage(d.status.Nodes))
	if !d.paused && out.retry == nil { // otherwise the last known state is the best there is
		if d.problem == nil {
			setWhile(conditions, v1alpha1.ConditionNameTaken, v1alpha1.ReasonNameTaken, strings.Join(out.taken, "; "))
			setWhile(conditions, v1alpha1.ConditionContended, v1alpha1.ReasonContended, rivalMessage(d.status))
		}
		meta.SetStatusCondition(conditions, ready(*d, out))
	}
	if !d.paused && out.retry != nil && !unavailable(out.retry) {
		meta.SetStatusCondition(conditions, metav1.Condition{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonWriteFailed, Message: shorten(out.retry.Error()),
		})
	}
	for i := range *conditions {
		(*conditions)[i].ObservedGeneration = generation
	}
}

// ready is the condition Ready of a report.
func ready(d decision, out outcome) metav1.Condition {
	condition := func(reason, message string) metav1.Condition {
		status := metav1.ConditionFalse
		if reason == v1alpha1.ReasonApplied {
			status = metav1.ConditionTrue
		}
		return metav1.Condition{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: shorten(message)}
	}
	switch {
	case d.problem != nil:
		return condition(string(d.problem.Reason), d.problem.Error()+fate(d))
	case len(out.taken) > 0:
		return condition(v1alpha1.ReasonNameTaken, strings.Join(out.taken, "; "))
	case len(out.refused) > 0:
		return condition(v1alpha1.ReasonRefused, strings.Join(out.refused, "; "))
	case rivalMessage(d.status) != "":
		return condition(v1alpha1.ReasonContended, rivalMessage(d.status))
	}
	return condition(v1alpha1.ReasonApplied, summary(d.status))
}

// fate says what a problem means for the Secrets.
func fate(d decision) string {
	switch {
	case len(d.status.Secrets) > 0:
		return "; both Secrets stay as last written"
	case d.note == resolve.NoteHadProxy:
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

// setWhile keeps an abnormal condition while there is something to say.
func setWhile(conditions *[]metav1.Condition, kind, reason, message string) {
	if message == "" {
		meta.RemoveStatusCondition(conditions, kind)
		return
	}
	meta.SetStatusCondition(conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: shorten(message)})
}

func when(on bool, message string) string {
	if on {
		return message
	}
	return ""
}

// shorten keeps a message readable in a terminal, and within what an Event takes: 1,024 bytes.
func shorten(message string) string {
	const most, cut = 1024, "…"
	if len(message) <= most {
		return message
	}
	return strings.ToValidUTF8(message[:most-len(cut)], "") + cut
}

// announce records events for what changed, and nothing for what did not.
func (r *ClusterReconciler) announce(s state, status v1alpha1.ProxyReportStatus, out outcome) {
	for _, name := range out.mended {
		r.Events.Eventf(s.report, s.cluster, corev1.EventTypeWarning, "DriftMended", "Apply", "%s had been changed and is again as it was", name)
	}
	if len(s.exists) > 0 {
		r.Events.Eventf(s.report, s.cluster, corev1.EventTypeWarning, "Kept", "Apply", "%s exists and stays as it is: the cluster counts as one that had a proxy", strings.Join(s.exists, " and "))
	}
	if len(out.created) > 0 {
		r.Events.Eventf(s.report, s.cluster, corev1.EventTypeNormal, "Written", "Apply", "wrote %s", strings.Join(out.created, " and "))
	}
	was, is := meta.FindStatusCondition(s.last().Conditions, v1alpha1.ConditionReady), meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if is == nil || was != nil && was.Reason == is.Reason || is.Status == metav1.ConditionTrue {
		return
	}
	r.Events.Eventf(s.report, s.cluster, corev1.EventTypeWarning, is.Reason, "Resolve", "%s", is.Message)
}
