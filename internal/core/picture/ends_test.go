package picture_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/picture"
)

func TestWhatEndsNextIsSaidWithWhoKnowsWhy(t *testing.T) {
	at := func(days int) *metav1.Time { return &metav1.Time{Time: now.AddDate(0, 0, days)} }
	entry := func(value string, days int) v1alpha1.NoProxyEntry {
		return v1alpha1.NoProxyEntry{Value: value, Owner: "team", Reason: "moves", Until: at(days)}
	}
	report := func(name string, ends v1alpha1.ReportedOverride) v1alpha1.ProxyReport {
		r := v1alpha1.ProxyReport{Status: v1alpha1.ProxyReportStatus{Override: &ends}}
		r.Namespace, r.Name = "org", name
		return r
	}
	proxy := v1alpha1.CorporateProxy{Spec: v1alpha1.CorporateProxySpec{NoProxy: []v1alpha1.NoProxyEntry{
		entry("late.example", 9), entry("gone.example", -1), entry("next.example", 3), {Value: "stays.example"},
	}}}
	proxy.Name = "europe"
	p := picture.Of(picture.Input{Now: now, Proxies: []v1alpha1.CorporateProxy{proxy}, Reports: []v1alpha1.ProxyReport{
		report("whole", v1alpha1.ReportedOverride{Ends: at(2), What: "ProxyOverride", Owner: "lead", Reason: "tries"}),
		report("part", v1alpha1.ReportedOverride{Ends: at(4), What: "own.example", Owner: "lead", Reason: "tries"}),
		report("ended", v1alpha1.ReportedOverride{Ended: at(-4)}),
		report("stale", v1alpha1.ReportedOverride{Ends: at(-4), What: "ProxyOverride"}),
	}})
	var got []string
	for _, e := range p.Expires {
		got = append(got, fmt.Sprintf("%d %s: %s", e.Time.Sub(now)/(24*time.Hour), e.What, e.More))
	}
	compared(t, got, []string{
		"2 ProxyOverride org/whole (lead: tries): kubectl describe proxyoverride --namespace org whole",
		"3 next.example of CorporateProxy europe (team: moves): kubectl describe corporateproxy europe",
		"4 own.example of ProxyOverride org/part (lead: tries): kubectl describe proxyoverride --namespace org part",
	})
}
