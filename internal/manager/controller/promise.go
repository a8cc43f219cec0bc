package controller

import (
	"cmp"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// promises is what the metadata of the report is to say of what the cluster was
// promised: neither clusterctl move nor a backup carries the status. While there
// is a problem, what is there already stays.
func promises(s state, d decision) map[string]string {
	form := cmp.Or(d.status.Form, s.annotation(v1alpha1.FormAnnotation))
	if d.problem != nil {
		form = string(s.promisedForm())
	}
	promised := map[string]string{v1alpha1.HadProxyAnnotation: d.note}
	switch recorded := s.annotation(v1alpha1.RevisionAnnotation); {
	case s.held != nil:
	case s.record != nil:
		promised[v1alpha1.RevisionAnnotation] = s.record.String()
	case s.unrecorded && recorded != "":
		promised[v1alpha1.RevisionAnnotation] = ""
	}
	for name, value := range map[string]string{
		v1alpha1.FormAnnotation:         form,
		v1alpha1.FactsVersionAnnotation: cmp.Or(s.factsVersion, s.annotation(v1alpha1.FactsVersionAnnotation)),
	} {
		if value != "" {
			promised[name] = value
		}
	}
	return promised
}

// promisesDue reports whether the report has to be written for its promises. What
// the status still has and the metadata lacks, as in reports of an earlier
// version, is not urgent: it waits until the Secrets are applied anyway, since an
// upgrade would otherwise write every report at once.
func promisesDue(annotations, promised map[string]string, reapply bool) bool {
	for name, value := range promised {
		is, there := annotations[name]
		if there && is != value || !there && (reapply || name == v1alpha1.HadProxyAnnotation || name == v1alpha1.RevisionAnnotation) {
			return true
		}
	}
	return false
}

func (s state) annotation(name string) string {
	if s.report == nil {
		return ""
	}
	return s.report.Annotations[name]
}

func (s state) promisedForm() resolve.Form { return inputs.PromisedForm(s.report, s.past()) }

func (s state) unknownPromise(annotation, detail string) *resolve.Problem {
	return &resolve.Problem{
		Reason: resolve.ReasonUnknownPromise, Object: "ProxyReport of " + inputs.Cluster(s.cluster).Object(),
		Field: "metadata.annotations[" + annotation + "]", Detail: detail,
	}
}

func (s state) promisedFacts() string { return inputs.PromisedFacts(s.report, s.past()) }
