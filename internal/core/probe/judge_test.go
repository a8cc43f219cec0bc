package probe

import (
	"slices"
	"strings"
	"testing"
)

var (
	mustReach  = Target{URL: "https://a.example", Expect: Reachable}
	mustDirect = Target{URL: "https://10.0.0.1", Expect: Reachable, Route: Direct}
	mustNot    = Target{URL: "https://b.example", Expect: Unreachable}
)

func through(seen Seen) Seen  { seen.Route = Proxied; return seen }
func directly(seen Seen) Seen { seen.Route = Direct; return seen }

func tried(target Target, chosen Route, seen ...Seen) Tried {
	d, _ := ParseURL(target.URL)
	return Tried{Target: target, Chosen: chosen, Host: d.Host, Seen: seen}
}

// The real answers of a real squid are in e2e/probe; these are the combinations.
func TestWhatMustNotBeReachedNeedsAControlOfEachWay(t *testing.T) {
	forbids, noWay := through(Seen{Stage: ProxyAnswer, Fault: Answered, Status: 403}), directly(Seen{Stage: Connect, Fault: NoRoute})
	done := Seen{Stage: Done}
	for name, test := range map[string]struct {
		round  []Tried
		state  State
		reason Reason
	}{
		"both":            {[]Tried{tried(mustNot, Proxied, forbids, noWay), tried(mustReach, Proxied, through(done)), tried(mustDirect, Direct, directly(done))}, Held, ""},
		"no direct one":   {[]Tried{tried(mustNot, Proxied, forbids, noWay), tried(mustReach, Proxied, through(done))}, Unknown, NoControl},
		"none that holds": {[]Tried{tried(mustNot, Proxied, forbids, noWay), tried(mustReach, Proxied, forbids), tried(mustDirect, Direct, directly(done))}, Unknown, NoControl},
		"another that must not be reached is none": {[]Tried{tried(mustNot, Proxied, forbids), tried(Target{URL: "https://c.example", Expect: Unreachable}, Proxied, through(done))}, Unknown, NoControl},
		"reached by the second way":                {[]Tried{tried(mustNot, Proxied, forbids, directly(done)), tried(mustReach, Proxied, through(done))}, Failed, Reached},
		"a certificate of nobody is somebody":      {[]Tried{tried(mustNot, Proxied, directly(Seen{Stage: TLS, Fault: UnknownAuthority}))}, Failed, Reached},
		"TLS that is cut off":                      {[]Tried{tried(mustNot, Direct, directly(Seen{Stage: TLS, Fault: Malformed})), tried(mustDirect, Direct, directly(done))}, Held, ""},
		"a proxy that waits may wait for DNS":      {[]Tried{tried(mustNot, Proxied, through(Seen{Stage: ProxyAnswer, Fault: Timeout})), tried(mustReach, Proxied, through(done))}, Unknown, ProxyCannotReach},
		"a 500 is no block":                        {[]Tried{tried(mustNot, Proxied, through(Seen{Stage: ProxyAnswer, Fault: Answered, Status: 500})), tried(mustReach, Proxied, through(done))}, Unknown, ProxyAnswers},
		"nothing was tried":                        {[]Tried{tried(mustNot, Direct)}, Unknown, NoControl},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Judge(test.round)[0]; got.State != test.state || got.Reason != test.reason {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestTheRestOfARoundTellsWhatOneAttemptCannot(t *testing.T) {
	unknown := func(authority string) Seen {
		return through(Seen{Stage: TLS, Fault: UnknownAuthority, Authority: authority})
	}
	other := Target{URL: "https://b.other", Expect: Reachable}
	same := Target{URL: "https://b.a.example", Expect: Reachable}
	for name, test := range map[string]struct {
		round []Tried
		want  Reason
	}{
		"one authority signs for two companies": {[]Tried{tried(mustReach, Proxied, unknown("x")), tried(other, Proxied, unknown("x"))}, Intercepted},
		"two authorities":                       {[]Tried{tried(mustReach, Proxied, unknown("x")), tried(other, Proxied, unknown("y"))}, AuthorityUnknown},
		"one company has an authority":          {[]Tried{tried(mustReach, Proxied, unknown("x")), tried(same, Proxied, unknown("x"))}, AuthorityUnknown},
		"a proxy that is silent for all":        {[]Tried{tried(mustReach, Proxied, through(Seen{Stage: ProxyAnswer, Fault: Timeout})), tried(other, Proxied, through(Seen{Stage: ProxyAnswer, Fault: Timeout}))}, ProxyTimeout},
		"a proxy that is silent for one":        {[]Tried{tried(mustReach, Proxied, through(Seen{Stage: ProxyAnswer, Fault: Timeout})), tried(other, Proxied, through(Seen{Stage: Done}))}, ProxyCannotReach},
	} {
		if got := Judge(test.round)[0]; got.State != Failed || got.Reason != test.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A relay hands on the reason that the company's proxy gave: e2e/probe has a real
// one.
func TestARelayHandsOnTheReason(t *testing.T) {
	for cause, want := range map[string]Reason{
		"407": CredentialsRefused, "backoff": CredentialsRefused, "403": ProxyForbids, "503": ProxyCannotReach, "timeout": ProxyTimeout,
		"tls": ProxyAuthorityUnknown, "refused": ProxyRefused, "lookup": ProxyLookupFailed, "failed": ProxyNotHTTP, "500": ProxyAnswers,
	} {
		seen := through(Seen{Stage: ProxyAnswer, Fault: Answered, Status: 502, Cause: RelayCause + cause})
		if got := Judge([]Tried{tried(mustReach, Proxied, seen)})[0]; got.Reason != want {
			t.Errorf("%s: %+v", cause, got)
		}
	}
	own := through(Seen{Stage: ProxyAnswer, Fault: Answered, Status: 403, Cause: RelayCause + "Denied"})
	if got := Judge([]Tried{tried(mustReach, Proxied, own)})[0]; got.Reason != ProxyForbids {
		t.Errorf("the relay's own refusal: %+v", got)
	}
}

func TestWhichWaysAreTried(t *testing.T) {
	for _, test := range []struct {
		target Target
		chosen Route
		proxy  bool
		want   []Route
	}{
		{mustReach, Proxied, true, []Route{Proxied}},
		{mustReach, Direct, true, []Route{Direct}},
		{mustDirect, Proxied, true, nil},
		{mustNot, Proxied, true, []Route{Proxied, Direct}},
		{mustNot, Direct, false, []Route{Direct}},
		{Target{Expect: Unreachable, Route: Direct}, Proxied, true, []Route{Direct}},
		{Target{Expect: Unreachable, Route: Proxied}, Direct, false, nil},
	} {
		if got := Ways(test.target, test.chosen, test.proxy); !slices.Equal(got, test.want) {
			t.Errorf("%+v by %s: %v", test.target, test.chosen, got)
		}
	}
}

func TestASentenceInASentenceKeepsItsAbbreviations(t *testing.T) {
	got := Judge([]Tried{tried(mustNot, Direct, directly(Seen{Stage: Lookup, Fault: NoAddress, Detail: "DNS has no address of b.example"}))})[0]
	if want := "Nobody knows whether it is closed: DNS has no address of b.example."; got.Message != want {
		t.Errorf("%q, want %q", got.Message, want)
	}
}

func TestAMessageNamesTheBundleAndKeepsNames(t *testing.T) {
	try := func(seen Seen) string {
		seen.Route = Proxied
		return Judge([]Tried{{Target: Target{URL: "https://a.example", Expect: Reachable}, Chosen: Proxied, Host: "a.example", Seen: []Seen{seen}}})[0].Message
	}
	unknown := try(Seen{Stage: TLS, Fault: UnknownAuthority, Issuer: "Corp"})
	for got, want := range map[string]string{
		unknown: `"Corp", which neither the system nor the bundle (trustedCA.bundle of fairlead-policies) has`,
		try(Seen{Stage: Done, Issuer: "Corp", Trust: ByBundle}):                            `TLS by "Corp", trusted by the bundle.`,
		try(Seen{Stage: TLS, Fault: BadCertificate, Detail: "x509: certificate is valid"}): "x509: certificate is valid.",
		try(Seen{Stage: TLS, Fault: BadCertificate, Detail: "the certificate is old"}):     "The certificate is old.",
		describe(TargetResult{Message: unknown}):                                           `"Corp", which neither the system nor the bundle of spec.trustedCARef has`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
