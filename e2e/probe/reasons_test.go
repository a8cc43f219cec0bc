package probe_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/internal/core/probe"
)

// times in a row everything has to be named right.
const times = 20

// seen has the expected result of the first of the targets.
type seen struct {
	name    string
	proxy   string // URL
	bundle  []*machine.Authority
	targets []probe.Target
	state   probe.State
	reason  probe.Reason
	says    string
}

// timeout is long, unless the answer is that there is none in time: a busy machine takes more than a second now and then.
func (s seen) timeout() string {
	if s.reason == probe.ProxyTimeout || s.targets[0].URL == gone {
		return "3s" // of which what answers needs a part
	}
	return "30s"
}

func (s *site) check(t *testing.T, tests []seen) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			folder := settings(t, test.proxy, test.bundle...)
			for i := range times {
				got := s.probe(t, test.timeout(), folder, test.targets...)[0]
				if got.State != test.state || got.Reason != test.reason || !strings.Contains(got.Message, test.says) {
					t.Fatalf("time %d: %+v", i+1, got)
				}
			}
		})
	}
}

func authorities(t *testing.T, names ...string) []*machine.Authority {
	t.Helper()
	var all []*machine.Authority
	for _, name := range names {
		authority, err := machine.NewAuthority(name)
		controlplanetest.Require(t, err)
		all = append(all, authority)
	}
	return all
}

func TestEachReasonIsNamedTwentyTimesInARow(t *testing.T) {
	tier.Full(t)
	t.Parallel()
	both := authorities(t, "Sites", "Proxies")
	sites, proxies := both[0], both[1]
	s := newSite(t, sites, machine.SquidOptions{Ports: []int{443, 8443}, TLS: proxies})
	s.serveNames(t)
	s.listen(t, "9999", silent)
	s.listen(t, "2222", ssh)
	good := proxyURL("http", password, "3128")
	known := []*machine.Authority{sites}
	one := func(target probe.Target) []probe.Target { return []probe.Target{target} }
	s.check(t, []seen{
		{"through the proxy", good, known, one(reach(target, probe.Proxied)), probe.Held, "", "Through the proxy at " + machine.ProxyAddress + ":3128, h2, status 401"},
		{"directly", good, known, one(reach("https://"+inside, probe.Direct)), probe.Held, "", "Directly at " + inside + ":443"},
		{"a wrong password", proxyURL("http", "wr0ng", "3128"), known, one(reach(target, "")), probe.Failed, probe.CredentialsRefused, "407"},
		{"a port that the proxy forbids", good, known, one(reach("tcp://"+machine.InternetName+":22", "")), probe.Failed, probe.ProxyForbids, "403"},
		{"a target that is down", good, known, one(reach(down, "")), probe.Failed, probe.ProxyCannotReach, "503"},
		{"a target that is not there", good, known, []probe.Target{reach(gone, ""), reach(target, "")}, probe.Failed, probe.ProxyCannotReach, ""},
		{"a name that the proxy does not find", good, known, one(reach("https://nowhere.example", "")), probe.Failed, probe.LookupFailed, "ERR_CANNOT_FORWARD"},
		{"a name that the proxy does not find, of an http URL", good, known, one(reach("http://nowhere.example", "")), probe.Failed, probe.ProxyCannotReach, "ERR_READ_ERROR"},
		{"a proxy that says nothing", proxyURL("http", password, "9999"), known, one(reach(target, "")), probe.Failed, probe.ProxyTimeout, "no answer in time"},
		{"an address without a proxy", "http://192.168.52.221:3128", known, one(reach(target, "")), probe.Failed, probe.ProxyTimeout, "o connection"},
		{"a port without a proxy", proxyURL("http", password, "3130"), known, one(reach(target, "")), probe.Failed, probe.ProxyRefused, "refused"},
		{"a port of something else", proxyURL("http", password, "2222"), known, one(reach(target, "")), probe.Failed, probe.ProxyNotHTTP, "not HTTP/1"},
		{"the port for TLS, without", proxyURL("http", password, "3129"), known, one(reach(target, "")), probe.Failed, probe.ProxyNotHTTP, ""},
		{"the port without TLS, with", proxyURL("https", password, "3128"), known, one(reach(target, "")), probe.Failed, probe.ProxyNotHTTP, "TLS"},
		{"a proxy of an unknown authority", proxyURL("https", password, "3129"), known, one(reach(target, "")), probe.Failed, probe.ProxyAuthorityUnknown, "unknown authority"},
		{"a proxy of a known one", proxyURL("https", password, "3129"), both, one(reach(target, probe.Proxied)), probe.Held, "", ":3129"},
		{"a proxy whose name nobody knows", "http://nowhere.corp.example:3128", known, one(reach(target, "")), probe.Failed, probe.ProxyLookupFailed, "DNS"},
		{"a name that nobody knows", good, known, one(reach("https://nowhere.corp.example", "")), probe.Failed, probe.LookupFailed, "DNS"},
		{"a service that is down", good, known, one(reach("https://"+inside+":8443", "")), probe.Failed, probe.ConnectionRefused, ""},
		{"a target of an unknown authority", good, nil, one(reach(target, "")), probe.Failed, probe.AuthorityUnknown, "Sites"},
		{"the settings lead through the proxy", good, known, one(reach(target, probe.Direct)), probe.Failed, probe.WentThroughProxy, ""},

		{"what must not be reached, and is, through the proxy", good, known, one(shun(target, "")), probe.Failed, probe.Reached, "through the proxy"},
		{"what must not be reached around the proxy, and is not", good, known, []probe.Target{shun("https://"+machine.InternetAddress, probe.Direct), reach("https://"+inside, "")}, probe.Held, "", "Direct: NetworkUnreachable"},
		{"what the proxy forbids", good, known, []probe.Target{shun("tcp://"+machine.InternetName+":22", probe.Proxied), reach(target, "")}, probe.Held, "", "Proxied: ProxyForbids"},
		{"by neither way", good, known, []probe.Target{shun(fmt.Sprintf("tcp://%s:22", machine.InternetAddress), ""), reach(target, ""), reach("https://"+inside, "")}, probe.Held, "", "Proxied: ProxyForbids, Direct: NetworkUnreachable"},
		{"a name that the proxy does not find is not blocked", good, known, []probe.Target{shun("https://nowhere.example", probe.Proxied), reach(target, "")}, probe.Unknown, probe.LookupFailed, ""},
		{"nor is one of an http URL", good, known, []probe.Target{shun("http://nowhere.example", probe.Proxied), reach(target, "")}, probe.Unknown, probe.ProxyCannotReach, ""},
		{"a name that nobody knows is not blocked", good, known, []probe.Target{shun("https://nowhere.corp.example", probe.Direct), reach("https://"+inside, "")}, probe.Unknown, probe.LookupFailed, ""},
		{"a proxy that is down blocks nothing", proxyURL("http", password, "3130"), known, []probe.Target{shun(target, probe.Proxied), reach(target, "")}, probe.Unknown, probe.ProxyRefused, ""},
		{"nor does a wrong password", proxyURL("http", "wr0ng", "3128"), known, []probe.Target{shun(target, probe.Proxied), reach(target, "")}, probe.Unknown, probe.CredentialsRefused, ""},
	})
}

// The issuer that is seen says who inspects. With the company's bundle everything works, and the result says that it is inspected.
func TestInspectionOfTLSIsNamedWithTheBundleAndWithout(t *testing.T) {
	tier.Full(t)
	t.Parallel()
	both := authorities(t, "Sites", "Example Corp TLS Inspection")
	sites, company := both[0], both[1]
	s := newSite(t, sites, machine.SquidOptions{Bump: company, Hubs: sites, Ports: []int{443, 8443}})
	good := proxyURL("http", password, "3128")
	s.check(t, []seen{
		{"without the bundle", good, nil, []probe.Target{reach(target, "")}, probe.Failed, probe.Intercepted, "Example Corp TLS Inspection"},
		{"with the bundle", good, []*machine.Authority{company}, []probe.Target{reach(target, probe.Proxied)}, probe.Held, "", "TLS by \"Example Corp TLS Inspection\", trusted by the bundle"},
		{"a target that is down, with the bundle", good, []*machine.Authority{company}, []probe.Target{reach(down, "")}, probe.Failed, probe.ProxyCannotReach, "503"},
		{"what the proxy does not reach, with the bundle", good, []*machine.Authority{company}, []probe.Target{shun(down, probe.Proxied), reach(target, "")}, probe.Held, "", "ProxyCannotReach"},
		{"what the proxy does not reach, without", good, nil, []probe.Target{shun(down, probe.Proxied), reach("http://"+machine.InternetName, "")}, probe.Unknown, probe.NoControl, ""},
	})
}
