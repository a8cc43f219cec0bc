package inputs

import (
	"cmp"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/provider"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// Past returns what the report of a cluster, nil if there is none, remembers of it.
func Past(report *v1alpha1.ProxyReport) resolve.Past {
	if report == nil {
		return resolve.Past{}
	}
	return resolve.Past{Report: true, Mode: resolve.Mode(report.Status.Mode), HadProxy: report.Annotations[v1alpha1.HadProxyAnnotation]}
}

// PromisedForm returns the form that a cluster has; empty for a new cluster, which gets
// the newest. One that counts as proxied and does not say was written before there
// was a second version of Portable.
func PromisedForm(report *v1alpha1.ProxyReport, past resolve.Past) resolve.Form {
	if report == nil {
		return ""
	}
	form := resolve.Form(cmp.Or(report.Annotations[v1alpha1.FormAnnotation], report.Status.Form))
	if form == "" && past.CountsAsProxied() {
		return resolve.FormPortable
	}
	return form
}

// PromisedFacts returns the version of the built-in table that the cluster has; empty
// for a new cluster, which gets the latest. One that counts as proxied and does
// not say was written before there was a second version.
func PromisedFacts(report *v1alpha1.ProxyReport, past resolve.Past) string {
	if report == nil {
		return ""
	}
	if version := report.Annotations[v1alpha1.FactsVersionAnnotation]; version != "" {
		return version
	}
	if facts := report.Status.Facts; facts != nil && facts.Version != "" {
		return facts.Version
	}
	if past.CountsAsProxied() {
		return provider.First
	}
	return ""
}
