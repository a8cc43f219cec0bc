package decide

import (
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/manager/controller/findings"
)

const (
	hadProxy = v1alpha1.HadProxyAnnotation
	form     = v1alpha1.FormAnnotation
	facts    = v1alpha1.FactsVersionAnnotation
)

func reportWith(annotations map[string]string, status v1alpha1.ProxyReportStatus) *v1alpha1.ProxyReport {
	return &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}, Status: status}
}

// A move or a restore takes the metadata along, and not the status.
func TestTheFormOutlivesTheStatus(t *testing.T) {
	status := v1alpha1.ProxyReportStatus{Form: "Exact"}
	for name, test := range map[string]struct {
		report *v1alpha1.ProxyReport
		asked  resolve.Form
		want   string // in the metadata; empty: it is held
	}{
		"new":                           {nil, "", "Portable/v3"},
		"never had a proxy":             {reportWith(map[string]string{hadProxy: "false"}, v1alpha1.ProxyReportStatus{Mode: "Unproxied"}), "", "Portable/v3"},
		"pinned to the form before":     {reportWith(map[string]string{hadProxy: "true", form: "Portable/v1"}, v1alpha1.ProxyReportStatus{}), "", "Portable/v1"},
		"without a pin":                 {reportWith(map[string]string{hadProxy: "true"}, v1alpha1.ProxyReportStatus{Mode: "Proxied"}), "", "Portable/v1"},
		"moved":                         {reportWith(map[string]string{hadProxy: "true", form: "Exact"}, v1alpha1.ProxyReportStatus{}), "", "Exact"},
		"of an earlier version":         {reportWith(map[string]string{hadProxy: "true"}, status), "", "Exact"},
		"another is asked for":          {reportWith(map[string]string{hadProxy: "true", form: "Exact"}, status), "Portable/v1", "Portable/v1"},
		"of a later version":            {reportWith(map[string]string{hadProxy: "true", form: "Portable/v7"}, status), "", ""},
		"of a later version, in status": {reportWith(nil, v1alpha1.ProxyReportStatus{Form: "Portable/v7"}), "", ""},
		"of a later version, and asked": {reportWith(map[string]string{form: "Portable/v7"}, status), "Exact", "Exact"},
	} {
		s := aState(t)
		s.Report, s.Installation.Form = test.report, test.asked
		d := Decide(s, findings.OfList)
		promised := Promises(s, d)
		if test.want == "" {
			if d.Problem == nil || d.Problem.Reason != resolve.ReasonUnknownPromise || len(d.Secrets) > 0 || promised[form] != "Portable/v7" {
				t.Errorf("%s: %v, promised %v", name, d.Problem, promised)
			}
			continue
		}
		if d.Problem != nil || d.Status.Form != test.want || promised[form] != test.want {
			t.Errorf("%s: %s, %v, %v", name, d.Status.Form, promised, d.Problem)
		}
	}
}

func TestAPromiseStaysInTheMetadataThroughEveryProblem(t *testing.T) {
	s := aState(t)
	s.Report = reportWith(map[string]string{hadProxy: "true", form: "Exact", facts: "Facts/v1"}, v1alpha1.ProxyReportStatus{})
	s.Problem = &resolve.Problem{Reason: resolve.ReasonAmbiguous}
	if got := Promises(s, Decide(s, findings.OfList)); !maps.Equal(got, s.Report.Annotations) {
		t.Errorf("%v", got)
	}
}

func TestPromisesAreWrittenOnlyWhenTheyChange(t *testing.T) {
	promised := map[string]string{hadProxy: "true", form: "Exact"}
	for name, test := range map[string]struct {
		annotations map[string]string
		at, reapply bool // they are due at once, and when the Secrets are applied anyway
	}{
		"all are there":                  {map[string]string{hadProxy: "true", form: "Exact", "other": "x"}, false, false},
		"none is there":                  {nil, true, true},
		"another form":                   {map[string]string{hadProxy: "true", form: "Portable/v1"}, true, true},
		"it gets a proxy":                {map[string]string{hadProxy: "false"}, true, true},
		"written by an earlier operator": {map[string]string{hadProxy: "true"}, false, true},
	} {
		if at, reapply := PromisesDue(test.annotations, promised, false), PromisesDue(test.annotations, promised, true); at != test.at || reapply != test.reapply {
			t.Errorf("%s: %t, %t", name, at, reapply)
		}
	}
}
