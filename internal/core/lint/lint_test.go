package lint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/cabundle"
	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

var cluster = resolve.Cluster{
	Namespace: "org-acme", Name: "mycluster", ServiceDomain: "cluster.local",
	ServiceCIDRs: []string{"100.64.0.0/13"}, PodCIDRs: []string{"100.96.0.0/11"},
	EndpointHost: "178.170.32.59", ControlPlaneKind: "KubeadmControlPlane",
}

func url(tb testing.TB, text string) proxyurl.URL {
	tb.Helper()
	u, err := proxyurl.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return u
}

// effective resolves a list of the installation for the cluster.
func effective(tb testing.TB, noProxy string, form resolve.Form) resolve.Effective {
	tb.Helper()
	source := noproxy.Source{Layer: noproxy.LayerInstallation, Object: "values.yaml", Field: "proxy.noProxy"}
	list, err := resolve.ParseEntries(resolve.ReasonInvalidProxy, noproxy.Filled(noProxy, source), nil)
	if err != nil {
		tb.Fatal(err)
	}
	proxy := url(tb, "http://192.168.52.220:3128")
	e, err := resolve.Resolve(resolve.Input{
		Installation: resolve.Installation{HTTP: proxy, HTTPS: proxy, NoProxy: list, Form: form}, Cluster: cluster,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// read is the input for a list as it stands.
func readList(list string) lint.Input { return lint.Read(list, noproxy.Source{Field: "--no-proxy"}) }

// summary returns what a finding says in one line: code, severity, entries.
func summary(f lint.Finding) string {
	values := make([]string, 0, len(f.Entries))
	for _, e := range f.Entries {
		values = append(values, e.Value)
	}
	return strings.TrimSpace(string(f.Code) + " " + string(f.Severity) + " " + strings.Join(values, ","))
}

func summaries(findings []lint.Finding) []string {
	var all []string
	for _, f := range findings {
		all = append(all, summary(f))
	}
	return all
}

// about are findings that the clients do not decide.
func structural(findings []lint.Finding) []lint.Finding {
	decided := []lint.Code{lint.Breaks, lint.NetworkMembers, lint.IPv6Network, lint.IPv6Address, lint.Port, lint.Wildcard, lint.Unmatched, lint.Apex, lint.OverMatch, lint.FinalDot}
	return slices.DeleteFunc(findings, func(f lint.Finding) bool { return slices.Contains(decided, f.Code) })
}

func TestWhatIsWrongWithAListAsItStands(t *testing.T) {
	for name, test := range map[string]struct {
		list string
		want []string
	}{
		"nothing":                         {"example.com,.example.com,10.0.0.0/8", nil},
		"everything":                      {"*", []string{"TooBroad Error *"}},
		"a public suffix":                 {"example.com,co.uk", []string{"TooBroad Error co.uk"}},
		"all addresses":                   {"0.0.0.0/0", []string{"TooBroad Error 0.0.0.0/0"}},
		"a name below another":            {"a.example.com,.example.com", []string{"Shadowed Info a.example.com"}},
		"not what some miss":              {"a.example.com,example.com", nil},
		"a name below both spellings":     {"a.example.com,example.com,.example.com", []string{"Shadowed Info a.example.com"}},
		"a wildcard is not read by all":   {"a.example.com,*.example.com", nil},
		"not an address in a network":     {"10.0.0.1,10.0.0.0/8", nil},
		"not a domain beside its dot":     {"example.com,.example.com", nil},
		"not what has the port of nobody": {"a.example.com,example.com:80", nil},
		"a client's own wildcard":         {"10.*", []string{"Unreadable Error 10.*"}},
		"an address that ends as a port":  {"fd00::1:443,fd00::1:442,fd00::443,[fd00::1]:443,fd00::1:0:443", []string{"PortLike Info fd00::1:443", "PortLike Info fd00::1:0:443"}},
		"a URL":                           {"http://example.com/", []string{"Unreadable Error http://example.com/"}},
		"an empty element":                {"a.example,,b.example", []string{"EmptyElement Error"}},
		"a comma at the end":              {"a.example,", []string{"EmptyElement Error"}},
		"blanks":                          {"a.example, b.example", []string{"Blank Warning b.example"}},
		"a line end":                      {"a.example,\nb.example", []string{"Blank Warning b.example"}},
		"two entries at once":             {"a.example b.example", []string{"Unreadable Error a.example b.example"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := summaries(structural(lint.Run(readList(test.list))))
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestAnEmptyElementNamesTheClientsThatItOpens(t *testing.T) {
	for _, f := range lint.Run(readList("a.example,,b.example")) {
		if f.Code == lint.EmptyElement && !slices.Contains(f.Clients, "perl-http-tiny") {
			t.Errorf("%q", f.Clients)
		}
	}
}

func TestAFindingNamesTheEntryItsPlaceAndTheMend(t *testing.T) {
	findings := lint.Run(readList("example.com,com"))
	if len(findings) == 0 || findings[0].Code != lint.TooBroad {
		t.Fatalf("%q", summaries(findings))
	}
	if f := findings[0]; f.Entries[0] != (lint.Entry{Value: "com", Field: "--no-proxy[1]"}) || f.Why == "" || f.Mend == "" {
		t.Errorf("%+v", f)
	}
}

func TestAListThatLacksWhatTheClusterNeedsIsAnError(t *testing.T) {
	const complete = "100.64.0.0/13,100.96.0.0/11,178.170.32.59,.svc,.cluster.local"
	for name, test := range map[string]struct {
		list string
		want []string
	}{
		"complete":               {complete, nil},
		"everything":             {"*", nil},
		"wider":                  {"100.64.0.0/10,178.170.0.0/16,svc,cluster.local", nil},
		"no services":            {strings.Replace(complete, "100.64.0.0/13,", "", 1), []string{"MissingServices"}},
		"the first service only": {strings.Replace(complete, "100.64.0.0/13,", "100.64.0.1,", 1), []string{"MissingServices"}},
		"no pods":                {strings.Replace(complete, "100.96.0.0/11,", "", 1), []string{"MissingPods"}},
		"no endpoint":            {strings.Replace(complete, "178.170.32.59,", "", 1), []string{"MissingEndpoint"}},
		"no suffix":              {strings.Replace(complete, ".svc,", "", 1), []string{"MissingServices"}},
		"no domain":              {strings.Replace(complete, ",.cluster.local", "", 1), []string{"MissingServices"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := readList(test.list)
			in.Cluster = &cluster
			var got []string
			for _, f := range lint.Run(in) {
				if strings.HasPrefix(string(f.Code), "Missing") {
					got = append(got, string(f.Code))
					if f.Severity != lint.Error || !strings.Contains(f.Why, "Cluster org-acme/mycluster") || f.Mend == "" {
						t.Errorf("%+v", f)
					}
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestAClusterThatNamesNoServiceNetworkIsAWarningUnlessAUsualOneIsListed(t *testing.T) {
	const without = "100.96.0.0/11,178.170.32.59,.svc,.cluster.local"
	for list, want := range map[string]bool{without: true, without + ",10.96.0.0/12": false, without + ",10.43.0.0/16": false, without + ",10.0.0.0/8": false, "*": false} {
		in, c := readList(list), cluster
		c.ServiceCIDRs = nil
		in.Cluster = &c
		got := slices.ContainsFunc(lint.Run(in), func(f lint.Finding) bool {
			return f.Code == lint.MissingServices && f.Severity == lint.Warning && strings.Contains(f.Why, "Cluster org-acme/mycluster names no service network")
		})
		if got != want {
			t.Errorf("%s: %v", list, got)
		}
	}
}

func TestAnAddressInThePlaceOfANetworkIsAnError(t *testing.T) {
	in, c := readList("10.96.0.0,100.96.0.0/11,178.170.32.59,.svc,.cluster.local"), cluster
	c.ServiceCIDRs = []string{"10.96.0.0"}
	in.Cluster = &c
	found := lint.Run(in)
	at := slices.IndexFunc(found, func(f lint.Finding) bool { return f.Code == lint.MissingServices })
	if at < 0 || !strings.Contains(found[at].Why, "10.96.0.0 is an address (Cluster org-acme/mycluster, spec.clusterNetwork.services.cidrBlocks[0])") {
		t.Errorf("%+v", found)
	}
}

func TestWhatTheOperatorWritesLacksNothing(t *testing.T) {
	for _, form := range resolve.Forms {
		for _, f := range lint.Run(lint.Effective(effective(t, "172.16.0.0/16,example.com", form), cluster)) {
			if f.Severity == lint.Error {
				t.Errorf("%s: %+v", form, f)
			}
		}
	}
}

// Where the cluster has IPv6, it is a choice, which testdata/field/dualstack.txtar of the command line has.
func TestAnEntryThatIsLeftOutForAnyClientIsNamed(t *testing.T) {
	got := summaries(structural(lint.Run(lint.Effective(effective(t, "fd12::/48,[fd12::1]:8080", resolve.FormPortable3), cluster))))
	want := []string{"Omitted Warning fd12::/48", "Omitted Warning [fd12::1]:8080"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The finding blames a list over the budget, not its entries.
func TestTheBudgetIsBlamedForWhatItLeavesOut(t *testing.T) {
	list := strings.Builder{}
	for i := range 3_500 {
		fmt.Fprintf(&list, "h%04d.example,", i)
	}
	for name, in := range map[string]lint.Input{
		"a little over": lint.Effective(effective(t, list.String()+"10.9.0.0/30", resolve.FormPortable), cluster),
		"under":         lint.Effective(effective(t, list.String()[:14*3_000], resolve.FormPortable), cluster),
	} {
		in.Today = true
		codes := map[lint.Code]lint.Finding{}
		for _, f := range lint.Run(in) {
			codes[f.Code] = f
		}
		budget, ok := codes[lint.Budget]
		if _, blamed := codes[lint.Unmatched]; blamed {
			t.Errorf("%s: entries are blamed", name)
		}
		if ok != (name == "a little over") {
			t.Fatalf("%s: %v", name, codes)
		}
		if ok && (budget.Severity != lint.Warning || len(budget.Entries) != 3_502 || !strings.Contains(strings.Join(budget.Clients, ","), "axios") || !strings.Contains(budget.Why, "budget of 100000 bytes")) {
			t.Errorf("%s of %d: %s %q", budget.Severity, len(budget.Entries), budget.Why, budget.Clients)
		}
	}
}

func TestWhatIsSaidOfAProxy(t *testing.T) {
	for name, test := range map[string]struct {
		http, https, noProxy string
		want                 []string
	}{
		"nothing":              {"http://me:secret@proxy.corp.example:3128", "http://me:secret@proxy.corp.example:3128", "a.example", nil},
		"one alone":            {"http://proxy.corp.example:3128", "", "a.example", []string{"OneProxy Warning"}},
		"listed by name":       {"http://proxy.corp.example:3128", "http://proxy.corp.example:3128", "corp.example", []string{"ProxyListed Info"}},
		"listed by network":    {"http://10.1.2.3:3128", "http://10.1.2.3:3128", "10.0.0.0/8", []string{"ProxyListed Info"}},
		"listed alone":         {"http://10.1.2.3:3128", "http://10.1.2.3:3128", "10.0.0.0/8,10.1.2.3", []string{"ProxyListed Warning 10.1.2.3"}},
		"its name alone":       {"http://proxy.corp.example:3128", "http://proxy.corp.example:3128", "proxy.corp.example", []string{"ProxyListed Warning proxy.corp.example"}},
		"an IPv6 one, listed":  {"http://[fd00::1]:3128", "http://[fd00::1]:3128", "fd00::1", []string{"ProxyListed Warning fd00::1"}},
		"TLS":                  {"https://proxy.corp.example:3128", "https://proxy.corp.example:3128", "a.example", []string{"HTTPSProxy Warning"}},
		"an encoded password":  {"http://me:p%40ss@proxy.corp.example:3128", "http://me:p%40ss@proxy.corp.example:3128", "a.example", []string{"PasswordEncoding Warning"}},
		"a plus sign":          {"http://me:a+b@proxy.corp.example:3128", "http://me:a+b@proxy.corp.example:3128", "a.example", []string{"PasswordEncoding Warning"}},
		"what kubelet expands": {"http://me:a$$b@proxy.corp.example:3128", "http://me:a$$b@proxy.corp.example:3128", "a.example", []string{"PasswordExpanded Warning"}},
		"a reference":          {"http://me:a$(HOME)@proxy.corp.example:3128", "http://me:a$(HOME)@proxy.corp.example:3128", "a.example", []string{"PasswordExpanded Warning"}},
		"a $ alone":            {"http://me:a$b@proxy.corp.example:3128", "http://me:a$b@proxy.corp.example:3128", "a.example", nil},
		"a dot, listed":        {"http://proxy.corp.example.:3128", "http://proxy.corp.example.:3128", "corp.example", []string{"ProxyListed Info"}},
		"an umlaut":            {"http://me:p%C3%A9@proxy.corp.example:3128", "http://me:p%C3%A9@proxy.corp.example:3128", "a.example", []string{"PasswordEncoding Warning", "PasswordEncoding Warning"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := readList(test.noProxy)
			in.HTTP, in.HTTPS = url(t, test.http), url(t, test.https)
			findings := structural(lint.Run(in))
			if got := summaries(findings); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			for _, f := range findings {
				for _, secret := range []string{"secret", "p%40ss", "p@ss", "a+b", "%C3", "a$"} {
					if strings.Contains(f.Why+f.Mend, secret) {
						t.Errorf("shows a password: %+v", f)
					}
				}
			}
		})
	}
}

func TestWhatKubeletExpandsIsWrittenOtherwiseFromPortable2On(t *testing.T) {
	for form, want := range map[resolve.Form]bool{resolve.FormExact: true, resolve.FormPortable: true, resolve.FormPortable2: false, resolve.FormPortable3: false} {
		e := effective(t, "a.example", form)
		e.HTTP = url(t, "http://me:a$$b@proxy.corp.example:3128")
		found := lint.Proxy(lint.Effective(e, cluster))
		if got := slices.ContainsFunc(found, func(f lint.Finding) bool { return f.Code == lint.PasswordExpanded }); got != want {
			t.Errorf("%s: %t", form, got)
		}
	}
}

func TestTheClientsThatCannotUseAProxyAreNamed(t *testing.T) {
	for proxy, test := range map[string]struct {
		code             lint.Code
		affected, spared string
	}{
		"https://proxy.corp.example:3128":          {lint.HTTPSProxy, "wget", "curl"},
		"http://me:p%40ss@proxy.corp.example:3128": {lint.PasswordEncoding, "axios", "curl"},
	} {
		in := readList("a.example")
		in.HTTP, in.HTTPS = url(t, proxy), url(t, proxy)
		found := lint.Run(in)
		at := slices.IndexFunc(found, func(f lint.Finding) bool { return f.Code == test.code })
		if at < 0 || !slices.Contains(found[at].Clients, test.affected) || slices.Contains(found[at].Clients, test.spared) {
			t.Errorf("%s: %+v", test.code, found)
		}
	}
}

func TestALongListSaysWhereItDoesNotFit(t *testing.T) {
	for length, want := range map[int]string{8_000: "", 9_000: "Length Info", 131_000: "Length Info", 131_001: "Length Error"} {
		list := strings.Repeat("host.example,", length/13+1)[:length-2] + ".e"
		var got string
		for _, f := range lint.Run(lint.Input{Any: list}) {
			if f.Code == lint.Length {
				got = summary(f)
			}
		}
		if got != want {
			t.Errorf("%d bytes: %q, want %q", length, got, want)
		}
	}
}

func TestTheDatesOfCertificatesAreLookedAtByWhoeverHasAClock(t *testing.T) {
	const day, now = 24 * 60 * 60, 1_800_000_000
	in := lint.Effective(effective(t, "a.example", resolve.FormPortable), cluster)
	for _, c := range []struct {
		name       string
		begin, end int64
	}{{"good", -9, 31}, {"soon", -9, 30}, {"old", -9, -1}, {"next", 1, 99}} {
		in.Certificates = append(in.Certificates, cabundle.Certificate{
			Subject: "CN=" + c.name, NotBefore: cabundle.Instant{Unix: now + c.begin*day, Text: "then"}, NotAfter: cabundle.Instant{Unix: now + c.end*day, Text: "later"},
		})
	}
	found := func() (all []string) {
		for _, f := range lint.Run(in) {
			if f.Code == lint.Certificate {
				all = append(all, string(f.Severity)+" "+f.Why)
			}
		}
		return all
	}
	if got := found(); got != nil {
		t.Errorf("nobody asked: %q", got)
	}
	in.Now = now
	want := []string{"Error CN=old expired on later", "Warning CN=soon expires on later", "Warning CN=next is not valid before then"}
	if got := found(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
