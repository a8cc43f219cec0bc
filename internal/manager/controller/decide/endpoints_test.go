package decide

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/manager/controller/findings"
	"github.com/fairlead-io/fairlead/noproxy"
)

func endpoints(hosts ...string) []clusterv1.APIEndpoint {
	var all []clusterv1.APIEndpoint
	for _, host := range hosts {
		all = append(all, clusterv1.APIEndpoint{Host: host, Port: 6443})
	}
	return all
}

func lists(list ...string) bypassLists { return bypassLists{known: true, lists: list} }

func TestAnEndpointIsDirectIfAGoClientDialsItDirectlyByEveryList(t *testing.T) {
	for name, test := range map[string]struct {
		lists     bypassLists
		endpoints []clusterv1.APIEndpoint
		proxied   string // the hosts that are named; empty: True
	}{
		"no other cluster":               {lists(""), nil, ""},
		"an address in a network":        {lists("10.0.0.0/8"), endpoints("10.1.2.3"), ""},
		"an address outside":             {lists("10.0.0.0/8"), endpoints("11.1.2.3"), "11.1.2.3"},
		"a name below a domain":          {lists(".example"), endpoints("api.c1.example"), ""},
		"names are not resolved":         {lists("127.0.0.0/8"), endpoints("api.c1.example"), "api.c1.example"},
		"an IPv6 address in a network":   {lists("fd00::/8"), endpoints("fd00::1"), ""},
		"an IPv6 address in brackets":    {lists("fd00::1"), endpoints("[fd00::1]"), ""},
		"an IPv6 address outside":        {lists("fd00::/8"), endpoints("2001:db8::1"), "2001:db8::1"},
		"another port":                   {lists("10.1.2.3:443"), endpoints("10.1.2.3"), "10.1.2.3"},
		"no port is that of https":       {lists("10.1.2.3:443"), []clusterv1.APIEndpoint{{Host: "10.1.2.3"}}, ""},
		"only the list of machines":      {lists("10.0.0.0/8", "x.example"), endpoints("10.1.2.3"), "10.1.2.3"},
		"only the list of pods":          {lists("x.example", "10.0.0.0/8"), endpoints("10.1.2.3"), "10.1.2.3"},
		"no proxy for https":             {lists(), endpoints("11.1.2.3"), ""},
		"each host once, sorted":         {lists("x.example"), endpoints("b.example", "a.example", "b.example"), "a.example, b.example"},
		"an impossible one is not ours":  {lists("x.example"), endpoints("a b", "*", "http://x"), ""},
		"one that is spelled in capital": {lists("api.example"), endpoints("API.example"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := endpointsDirect(test.lists, test.endpoints)
			if test.proxied == "" {
				if got.Status != metav1.ConditionTrue || got.Reason != v1alpha1.ReasonEndpointsBypassed {
					t.Errorf("%+v", got)
				}
				return
			}
			if got.Status != metav1.ConditionFalse || got.Reason != v1alpha1.ReasonEndpointsThroughProxy || !strings.HasSuffix(got.Message, ": "+test.proxied) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestTheMessageCountsAllHostsAndNamesTwenty(t *testing.T) {
	var hosts []string
	for i := range 45 {
		hosts = append(hosts, fmt.Sprintf("c%02d.example", i))
	}
	got := endpointsDirect(lists("x"), endpoints(hosts...)).Message
	if !strings.HasPrefix(got, "45 ") || !strings.HasSuffix(got, "c19.example and 25 more") || strings.Count(got, ".example") != maxEndpoints {
		t.Error(got)
	}
}

func TestTheListsAreThoseThatAreWrittenOrElseThoseThatWere(t *testing.T) {
	s := aState(t)
	s.Management, s.Endpoints = true, endpoints("10.9.9.9")
	if url, err := proxyurl.Parse("http://proxy.example:3128"); err != nil {
		t.Fatal(err)
	} else {
		s.Installation.HTTPS = url
	}
	entry, err := noproxy.Parse("10.9.0.0/16")
	if err != nil {
		t.Fatal(err)
	}
	status := func(s State) (metav1.ConditionStatus, v1alpha1.ProxyReportStatus) {
		d := Decide(s, findings.OfList)
		setEndpointsDirect(&d.Status.Conditions, d.lists, s)
		return meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionEndpointsDirect).Status, d.Status
	}
	is := func(want metav1.ConditionStatus, what string) v1alpha1.ProxyReportStatus {
		t.Helper()
		got, reported := status(s)
		if got != want {
			t.Errorf("%s: %s", what, got)
		}
		return reported
	}
	is(metav1.ConditionFalse, "not listed")
	uncovered := s
	s.Installation.NoProxy = noproxy.List{{Entry: entry, Sources: []noproxy.Source{{Layer: noproxy.LayerInstallation}}}}
	covered := is(metav1.ConditionTrue, "listed")

	// A problem keeps the last good Secrets, and so what they mean.
	s = uncovered
	s.Problem = &resolve.Problem{Reason: resolve.ReasonAmbiguous}
	is(metav1.ConditionUnknown, "a problem from the start")
	s.Report = &v1alpha1.ProxyReport{Status: covered}
	is(metav1.ConditionTrue, "a problem after it was covered")
	s.Report.Status.NoProxy.Any = "" // too long for the report
	is(metav1.ConditionUnknown, "a problem with a list that is not reported")
	s.Report.Status.Mode = string(resolve.ModeDirect)
	is(metav1.ConditionTrue, "a problem of a cluster that goes direct")

	s = uncovered
	s.Installation.HTTPS = proxyurl.URL{}
	is(metav1.ConditionTrue, "no proxy for https")
}

func TestOnlyTheManagementClusterHasTheCondition(t *testing.T) {
	conditions := []metav1.Condition{{Type: v1alpha1.ConditionEndpointsDirect, Status: metav1.ConditionFalse}}
	if setEndpointsDirect(&conditions, lists("x"), State{}); len(conditions) > 0 {
		t.Error(conditions)
	}
}
