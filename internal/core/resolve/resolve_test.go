package resolve_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

const (
	exampleURL  = "http://myProxyUser:mySuperSecretPassword@192.168.52.220:3128"
	exampleList = "cluster.local,100.64.0.0/13,100.96.0.0/11,178.170.32.59,172.16.0.0/16,internal.corpdomain.net,example.com,svc,127.0.0.1,localhost"
)

// example returns the published example. Tests change the one thing they are about.
func example(tb testing.TB, changes ...func(*resolve.Input)) resolve.Input {
	tb.Helper()
	in := resolve.Input{
		Installation: resolve.Installation{
			Name: "default", Object: "CorporateProxy default", HTTP: url(tb, exampleURL), HTTPS: url(tb, exampleURL),
			NoProxy:    entries(tb, "172.16.0.0/16,internal.corpdomain.net,example.com"),
			Form:       resolve.FormExact,
			Delegation: resolve.Delegation{NoProxy: resolve.GrantNarrow},
		},
		Cluster: resolve.Cluster{
			Namespace: "org-acme", Name: "mycluster",
			ServiceDomain: "cluster.local", ServiceCIDRs: []string{"100.64.0.0/13"}, PodCIDRs: []string{"100.96.0.0/11"},
			EndpointHost: "178.170.32.59", ControlPlaneKind: "KubeadmControlPlane",
		},
	}
	for _, change := range changes {
		change(&in)
	}
	return in
}

func url(tb testing.TB, text string) proxyurl.URL {
	tb.Helper()
	u, err := proxyurl.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return u
}

func entries(tb testing.TB, text string) noproxy.List {
	tb.Helper()
	source := noproxy.Source{Layer: noproxy.LayerInstallation, Object: "Secret corporate-proxy", Field: "data.noProxy"}
	list, err := resolve.ParseEntries(resolve.ReasonInvalidProxy, noproxy.Filled(text, source), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

// problem expects a Problem, and nothing usable beside it.
func problem(tb testing.TB, effective resolve.Effective, err error) *resolve.Problem {
	tb.Helper()
	var p *resolve.Problem
	if !errors.As(err, &p) {
		tb.Fatalf("resolved to %q (%v), expected a Problem", effective.NoProxy, err)
	}
	if diff := cmp.Diff(resolve.Effective{}, effective); diff != "" {
		tb.Errorf("the Problem came with a configuration:\n%s", diff)
	}
	if strings.Contains(err.Error(), "mySuperSecret") {
		tb.Errorf("the Problem shows the password: %s", err)
	}
	return p
}

func TestThePublishedExampleIsResolvedInItsOrder(t *testing.T) {
	effective, err := resolve.Resolve(example(t))
	if err != nil {
		t.Fatal(err)
	}
	if effective.NoProxy.Any.String() != exampleList {
		t.Errorf("got  %s\nwant %s", effective.NoProxy.Any, exampleList)
	}
	if effective.HTTP.Reveal() != exampleURL || effective.HTTPS.Reveal() != exampleURL {
		t.Errorf("the URLs are %q and %q", effective.HTTP.Reveal(), effective.HTTPS.Reveal())
	}
	effective.Entries, effective.NoProxy, effective.HTTP, effective.HTTPS = nil, noproxy.Lists{}, proxyurl.URL{}, proxyurl.URL{}
	want := resolve.Effective{Namespace: "org-acme", Cluster: "mycluster", Mode: resolve.ModeProxied, Proxy: "default", Form: resolve.FormExact}
	if diff := cmp.Diff(want, effective); diff != "" {
		t.Error(diff)
	}
}

func TestEveryEntryOfTheExampleNamesItsSource(t *testing.T) {
	effective, err := resolve.Resolve(example(t, func(in *resolve.Input) {
		in.Override = resolve.Override{NoProxy: added("registry.acme.internal")}
	}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, item := range effective.Entries {
		for _, s := range item.Sources {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s: %s %s %s", item.Entry, s.Layer, s.Object, s.Field)))
		}
	}
	want := []string{
		"cluster.local: ServiceDomain Cluster org-acme/mycluster spec.clusterNetwork.serviceDomain",
		"100.64.0.0/13: ServiceCIDR Cluster org-acme/mycluster spec.clusterNetwork.services.cidrBlocks[0]",
		"100.96.0.0/11: PodCIDR Cluster org-acme/mycluster spec.clusterNetwork.pods.cidrBlocks[0]",
		"178.170.32.59: ControlPlaneEndpoint Cluster org-acme/mycluster spec.controlPlaneEndpoint.host",
		"172.16.0.0/16: Installation Secret corporate-proxy data.noProxy[0]",
		"internal.corpdomain.net: Installation Secret corporate-proxy data.noProxy[1]",
		"example.com: Installation Secret corporate-proxy data.noProxy[2]",
		"registry.acme.internal: Cluster ProxyOverride org-acme/mycluster spec.noProxy[0].value",
		"svc: Builtin",
		"127.0.0.1: Builtin",
		"localhost: Builtin",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOneURLAloneMeansThatOneAlone(t *testing.T) {
	for name, test := range map[string]struct{ http, https string }{
		"http":  {exampleURL, ""},
		"https": {"", exampleURL},
		"two":   {"http://one.example:1", "http://two.example:2"},
	} {
		t.Run(name, func(t *testing.T) {
			effective, err := resolve.Resolve(example(t, func(in *resolve.Input) {
				in.Installation.HTTP, in.Installation.HTTPS = url(t, test.http), url(t, test.https)
			}))
			if err != nil {
				t.Fatal(err)
			}
			if effective.HTTP.Reveal() != test.http || effective.HTTPS.Reveal() != test.https {
				t.Errorf("got %q and %q", effective.HTTP.Reveal(), effective.HTTPS.Reveal())
			}
			if effective.NoProxy.Any.String() != exampleList {
				t.Errorf("the list became %q", effective.NoProxy.Any)
			}
		})
	}
}

func TestNothingIsResolvedFromWhatIsMissing(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*resolve.Input)
		reason resolve.Reason
		object string
		text   string
	}{
		"both URLs": {
			func(in *resolve.Input) { in.Installation.HTTP, in.Installation.HTTPS = proxyurl.URL{}, proxyurl.URL{} },
			resolve.ReasonInvalidProxy, "CorporateProxy default", "both proxy URLs are empty",
		},
		"the endpoint": {
			func(in *resolve.Input) { in.Cluster.EndpointHost = "" },
			resolve.ReasonEndpointUnknown, "Cluster org-acme/mycluster", "spec.controlPlaneEndpoint.host: not known yet",
		},
		"required facts": {
			func(in *resolve.Input) {
				in.Facts = resolve.Facts{Object: "VCDCluster org-acme/infra", Missing: []string{"vpcCIDR", "subnetCIDRs"}}
			},
			resolve.ReasonFactsPending, "VCDCluster org-acme/infra", "not known yet: vpcCIDR, subnetCIDRs",
		},
		"the endpoint and facts": {
			func(in *resolve.Input) {
				in.Cluster.EndpointHost, in.Facts = "", resolve.Facts{Missing: []string{"vpcCIDR"}}
			},
			resolve.ReasonEndpointUnknown, "Cluster org-acme/mycluster", "not known yet",
		},
	} {
		t.Run(name, func(t *testing.T) {
			effective, err := resolve.Resolve(example(t, test.change))
			p := problem(t, effective, err)
			if p.Reason != test.reason || p.Object != test.object || !strings.Contains(p.Error(), test.text) {
				t.Errorf("%s: %s", p.Reason, p)
			}
		})
	}
}

func TestAClusterKeepsItsFormUnlessTheInstallationAsksForAnother(t *testing.T) {
	for name, test := range map[string]struct{ asked, pinned, want resolve.Form }{
		"a new cluster":                    {"", "", resolve.DefaultForm},
		"a pinned form":                    {"", resolve.FormExact, resolve.FormExact},
		"what the installation asks for":   {resolve.FormPortable, "", resolve.FormPortable},
		"asked for, whatever is pinned":    {resolve.FormPortable, resolve.FormExact, resolve.FormPortable},
		"asked for what is pinned already": {resolve.FormExact, resolve.FormExact, resolve.FormExact},
	} {
		t.Run(name, func(t *testing.T) {
			for _, direct := range []bool{false, true} {
				effective, err := resolve.Resolve(example(t, func(in *resolve.Input) {
					in.Installation.Form, in.PinnedForm = test.asked, test.pinned
					in.Override.Direct, in.Installation.Delegation.Direct = direct, true
				}))
				if err != nil || effective.Form != test.want {
					t.Errorf("direct %v: form %q (%v), want %q", direct, effective.Form, err, test.want)
				}
			}
		})
	}
}

// A list in another form would lack what every list ends with.
// Whoever lists a name of the API server, nothing is below it. A cluster's domain of that name is one.
func TestPortableV3HasTheNamesOfTheAPIServerAsHosts(t *testing.T) {
	for domain, want := range map[string]bool{"cluster.local": false, "kubernetes": true} {
		effective, err := resolve.Resolve(example(t, func(in *resolve.Input) {
			in.Installation.Form, in.Cluster.ServiceDomain, in.Installation.NoProxy = resolve.FormPortable3, domain, entries(t, "kubernetes")
		}))
		if err != nil {
			t.Fatal(err)
		}
		if below := strings.Contains(effective.NoProxy.Any.String(), ",.kubernetes,"); below != want || !strings.Contains(effective.NoProxy.Any.String(), ",kubernetes,") {
			t.Errorf("domain %s: %s", domain, effective.NoProxy.Any)
		}
	}
}

func TestAFormThatThisProgramDoesNotHaveIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		asked, pinned resolve.Form
		reason        resolve.Reason
		text          string
	}{
		"by a typo":         {"exact", resolve.FormExact, resolve.ReasonInvalidProxy, `CorporateProxy default: spec.form: "exact" is none of [Exact Portable/v1 Portable/v2 Portable/v3]`},
		"after a downgrade": {"", "Portable/v9", resolve.ReasonUnknownPromise, "ProxyReport of Cluster org-acme/mycluster: metadata.annotations[fairlead.io/form]: form Portable/v9 is unknown, this program has ["},
	} {
		effective, err := resolve.Resolve(example(t, func(in *resolve.Input) { in.Installation.Form, in.PinnedForm = test.asked, test.pinned }))
		if p := problem(t, effective, err); p.Reason != test.reason || !strings.Contains(p.Error(), test.text) {
			t.Errorf("%s: %s, %s", name, p.Reason, p)
		}
	}
}

func TestAnUnproxiedClusterHasNothing(t *testing.T) {
	got := resolve.Unproxied(example(t).Cluster)
	if diff := cmp.Diff(resolve.Effective{Namespace: "org-acme", Cluster: "mycluster", Mode: resolve.ModeUnproxied}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTenThousandEntriesAreResolved(t *testing.T) {
	in := example(t, func(in *resolve.Input) { in.Installation.NoProxy = entries(t, manyEntries(10_000)) })
	effective, err := resolve.Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	if want := 10_000 + 7; len(effective.Entries) != want {
		t.Errorf("%d entries, want %d", len(effective.Entries), want)
	}
}

func manyEntries(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "host-%d.example,", i)
	}
	return text.String()
}
