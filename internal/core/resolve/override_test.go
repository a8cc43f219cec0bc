package resolve_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// added are entries of spec.noProxy as package inputs reads them.
func added(values ...string) []noproxy.Element {
	elements := noproxy.Elements(values, noproxy.Source{Layer: noproxy.LayerCluster, Field: "spec.noProxy"})
	for i := range elements {
		elements[i].Source.Field += ".value"
	}
	return elements
}

func overridden(tb testing.TB, grant resolve.Grant, add, exclude []string) (resolve.Effective, error) {
	tb.Helper()
	return resolve.Resolve(example(tb, func(in *resolve.Input) {
		in.Installation.Delegation.NoProxy = grant
		in.Override = resolve.Override{NoProxy: added(add...), Exclude: exclude}
	}))
}

func TestAnOwnerAddsWhatIsDelegated(t *testing.T) {
	const before, after = "cluster.local,100.64.0.0/13,100.96.0.0/11,178.170.32.59,172.16.0.0/16,internal.corpdomain.net,example.com,", "svc,127.0.0.1,localhost"
	for name, test := range map[string]struct {
		grant resolve.Grant
		add   []string
		want  string
	}{
		"nothing, where nothing may be added":  {resolve.GrantForbidden, nil, before + after},
		"entries, in their order":              {resolve.GrantNarrow, []string{"b.acme.internal", "A.acme.internal:8443", "10.9.0.0/16"}, before + "b.acme.internal,a.acme.internal:8443,10.9.0.0/16," + after},
		"what is there already":                {resolve.GrantNarrow, []string{"example.com", "svc", "172.16.0.0/16"}, before + after},
		"what is built in, ahead of its place": {resolve.GrantNarrow, []string{"localhost"}, before + "localhost,svc,127.0.0.1"},
		"a broad entry, where any may be":      {resolve.GrantAny, []string{"*", "0.0.0.0/0", "com"}, before + "*,0.0.0.0/0,com," + after},
		"an entry, where nothing is said":      {"", []string{"acme.internal"}, before + "acme.internal," + after},
	} {
		t.Run(name, func(t *testing.T) {
			effective, err := overridden(t, test.grant, test.add, nil)
			// "svc" and others that stand twice keep their first place.
			want := noproxy.Merge(entries(t, test.want)).String()
			if err != nil || effective.NoProxy.Any.String() != want {
				t.Errorf("got  %s (%v)\nwant %s", effective.NoProxy.Any, err, want)
			}
		})
	}
}

func TestAnOwnerIsRefusedWhatIsNotDelegated(t *testing.T) {
	for name, test := range map[string]struct {
		grant        resolve.Grant
		add, exclude []string
		reason       resolve.Reason
		field        string
		refusals     []string
	}{
		"any entry, where none may be":        {resolve.GrantForbidden, []string{"acme.internal"}, nil, resolve.ReasonNotDelegated, "spec.noProxy", nil},
		"any exclusion, where none may be":    {resolve.GrantForbidden, nil, []string{"svc"}, resolve.ReasonNotDelegated, "spec.exclude", nil},
		"everything":                          {resolve.GrantNarrow, []string{"*"}, nil, resolve.ReasonNotDelegated, "spec.noProxy[0].value", []string{"TooBroad"}},
		"a wide network, where none is named": {"", []string{"0.0.0.0/0"}, nil, resolve.ReasonNotDelegated, "spec.noProxy[0].value", []string{"TooBroad"}},
		"broad ones among others":             {resolve.GrantNarrow, []string{"acme.internal", "co.uk", "a.example", "::/0"}, nil, resolve.ReasonNotDelegated, "spec.noProxy[1].value", []string{"TooBroad", "TooBroad"}},
		"what is no entry":                    {resolve.GrantAny, []string{"a b", "acme.internal", "10.0.0.0/33"}, nil, resolve.ReasonInvalidOverride, "spec.noProxy[0].value", []string{"Space", "Prefix"}},
		"two entries in one":                  {resolve.GrantNarrow, []string{"a.example,b.example"}, nil, resolve.ReasonInvalidOverride, "spec.noProxy[0].value", []string{"Character"}},
		"an exclusion that is no entry":       {resolve.GrantNarrow, nil, []string{"svc", "a b"}, resolve.ReasonInvalidOverride, "spec.exclude[1]", []string{"Space"}},
		"to exclude what is not derived":      {resolve.GrantNarrow, nil, []string{"10.96.0.0/12"}, resolve.ReasonInvalidOverride, "spec.exclude[0]", []string{"NotDerived"}},
		"to exclude the installation's":       {resolve.GrantAny, nil, []string{"example.com"}, resolve.ReasonInvalidOverride, "spec.exclude[0]", []string{"NotDerived"}},
		"a password that commas have cut":     {resolve.GrantNarrow, nil, []string{"http://me:x", "mySuperSecret", "y@p:1"}, resolve.ReasonInvalidOverride, "spec.exclude[0]", []string{"Userinfo"}},
		"a password in the wrong place":       {resolve.GrantAny, []string{exampleURL}, nil, resolve.ReasonInvalidOverride, "spec.noProxy[0].value", []string{"Userinfo"}},
	} {
		t.Run(name, func(t *testing.T) {
			effective, err := overridden(t, test.grant, test.add, test.exclude)
			p := problem(t, effective, err)
			if p.Reason != test.reason || p.Object != "ProxyOverride org-acme/mycluster" || p.Field != test.field {
				t.Errorf("%s of %s: %s", p.Reason, p.Object, p)
			}
			if len(p.Refusals) != len(test.refusals) {
				t.Fatalf("%d refusals, want %d: %q", len(p.Refusals), len(test.refusals), p.Refusals)
			}
			for i, reason := range test.refusals {
				if !strings.Contains(p.Refusals[i], "("+reason+")") || strings.Contains(p.Refusals[i], "mySuperSecret") {
					t.Errorf("refusal %d: %s, want %s", i, p.Refusals[i], reason)
				}
			}
		})
	}
}

func TestAnOwnerExcludesDerivedEntriesAlone(t *testing.T) {
	for name, test := range map[string]struct {
		exclude []string
		want    string
	}{
		"a network, in another spelling": {[]string{"100.96.1.2/11"}, "cluster.local,100.64.0.0/13,178.170.32.59,172.16.0.0/16,internal.corpdomain.net,example.com,svc,127.0.0.1,localhost"},
		"the endpoint":                   {[]string{"178.170.32.59"}, "cluster.local,100.64.0.0/13,100.96.0.0/11,172.16.0.0/16,internal.corpdomain.net,example.com,svc,127.0.0.1,localhost"},
		"a built-in entry":               {[]string{"svc"}, "cluster.local,100.64.0.0/13,100.96.0.0/11,178.170.32.59,172.16.0.0/16,internal.corpdomain.net,example.com,127.0.0.1,localhost"},
		"every derived entry": {
			[]string{"cluster.local", "100.64.0.0/13", "100.96.0.0/11", "178.170.32.59", "svc", "127.0.0.1", "localhost"},
			"172.16.0.0/16,internal.corpdomain.net,example.com",
		},
	} {
		t.Run(name, func(t *testing.T) {
			effective, err := overridden(t, resolve.GrantNarrow, nil, test.exclude)
			if err != nil || effective.NoProxy.Any.String() != test.want {
				t.Errorf("got  %s (%v)\nwant %s", effective.NoProxy.Any, err, test.want)
			}
		})
	}
}

// What the installation wants stays, although the cluster implies the same.
func TestAnExclusionLeavesTheInstallationsOwnEntryOfThatSpelling(t *testing.T) {
	effective, err := resolve.Resolve(example(t, func(in *resolve.Input) {
		in.Installation.NoProxy = entries(t, "svc")
		in.Override.Exclude = []string{"svc"}
	}))
	if err != nil || !strings.HasSuffix(effective.NoProxy.Any.String(), ",svc,127.0.0.1,localhost") {
		t.Errorf("got %s (%v)", effective.NoProxy.Any, err)
	}
}

// A proxy without NO_PROXY sends the cluster's own traffic through the proxy.
func TestAnOwnerCannotExcludeTheWholeList(t *testing.T) {
	effective, err := resolve.Resolve(example(t, func(in *resolve.Input) {
		in.Installation.NoProxy = nil
		in.Override.Exclude = []string{"cluster.local", "100.64.0.0/13", "100.96.0.0/11", "178.170.32.59", "svc", "127.0.0.1", "localhost"}
	}))
	if p := problem(t, effective, err); p.Reason != resolve.ReasonInvalidOverride || p.Field != "spec.exclude" {
		t.Errorf("%s: %s", p.Reason, p)
	}
}

func TestDirectIsBlankWhereItIsDelegated(t *testing.T) {
	effective, err := resolve.Resolve(example(t, func(in *resolve.Input) {
		in.Installation.Delegation.Direct, in.Override.Direct = true, true
		in.Override.NoProxy = added("acme.internal")
		// It needs nothing that is not known yet.
		in.Cluster.EndpointHost, in.Facts = "", resolve.Facts{Missing: []string{"vpcCIDR"}}
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := resolve.Effective{Namespace: "org-acme", Cluster: "mycluster", Mode: resolve.ModeDirect, Proxy: "default", Form: resolve.FormExact}
	if diff := cmp.Diff(want, effective); diff != "" {
		t.Error(diff)
	}
}

func TestDirectIsRefusedWhereItIsNotDelegated(t *testing.T) {
	effective, err := resolve.Resolve(example(t, func(in *resolve.Input) { in.Override.Direct = true }))
	p := problem(t, effective, err)
	if p.Reason != resolve.ReasonNotDelegated || p.Object != "ProxyOverride org-acme/mycluster" || p.Field != "spec.mode" {
		t.Errorf("%s: %s", p.Reason, p)
	}
}
