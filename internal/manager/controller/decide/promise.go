package decide

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
)

// Accepted returns the condition of a ProxyOverride after what was decided for its cluster was written, with Ready of its report; nil where
// nothing new was decided.
func Accepted(s State, d Decision, ready metav1.Condition) *metav1.Condition {
	is := &metav1.Condition{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionFalse}
	switch {
	case s.Wish == nil, d.Paused, d.Held:
		return nil
	case s.Override == nil:
		is.Reason, is.Message = v1alpha1.ReasonEnded, fmt.Sprintf("it ended at %s", s.Wish.Spec.Until.UTC().Format(time.RFC3339))
	case d.Problem == nil && d.Status.Mode == string(resolve.ModeUnproxied):
		is.Reason, is.Message = string(resolve.ReasonNotSelected), "no CorporateProxy selects the cluster"
	case d.Problem == nil && ready.Status == metav1.ConditionTrue:
		is.Status, is.Reason = metav1.ConditionTrue, v1alpha1.ReasonAccepted
	case d.Problem == nil:
		is.Status, is.Reason, is.Message = metav1.ConditionUnknown, ready.Reason, ready.Message
	case slices.Contains(ofOverride, d.Problem.Reason):
		is.Reason, is.Message = string(d.Problem.Reason), machinery.Shorten(d.Problem.Error())
	default:
		is.Status, is.Reason, is.Message = metav1.ConditionUnknown, string(d.Problem.Reason), machinery.Shorten("the cluster has no new list: "+d.Problem.Error())
	}
	return is
}

// ofOverride are the problems by which a ProxyOverride is not accepted.
var ofOverride = []resolve.Reason{resolve.ReasonInvalidOverride, resolve.ReasonNotDelegated, resolve.ReasonNotSelected}

// Promises returns the annotations of the report that say what the cluster was promised: neither clusterctl move nor a
// backup carries the status. While there is a problem, the promises that are there stay.
func Promises(s State, d Decision) map[string]string {
	form := cmp.Or(d.Status.Form, s.Annotation(v1alpha1.FormAnnotation))
	if d.Problem != nil {
		form = string(s.promisedForm())
	}
	promised := map[string]string{v1alpha1.HadProxyAnnotation: d.note}
	switch recorded := s.Annotation(v1alpha1.RevisionAnnotation); {
	case s.Held != nil:
	case s.Record != nil:
		promised[v1alpha1.RevisionAnnotation] = s.Record.String()
	case s.Unrecorded && recorded != "":
		promised[v1alpha1.RevisionAnnotation] = ""
	}
	for name, value := range map[string]string{
		v1alpha1.FormAnnotation:         form,
		v1alpha1.FactsVersionAnnotation: cmp.Or(s.FactsVersion, s.Annotation(v1alpha1.FactsVersionAnnotation)),
	} {
		if value != "" {
			promised[name] = value
		}
	}
	return promised
}

// PromisesDue reports whether the report has to be written for its promises. What
// the status still has and the metadata lacks, as in reports of an earlier
// version, is not urgent: it waits until the Secrets are applied anyway, since an
// upgrade would otherwise write every report at once.
func PromisesDue(annotations, promised map[string]string, reapply bool) bool {
	for name, value := range promised {
		written, ok := annotations[name]
		if ok && written != value || !ok && (reapply || name == v1alpha1.HadProxyAnnotation || name == v1alpha1.RevisionAnnotation) {
			return true
		}
	}
	return false
}
