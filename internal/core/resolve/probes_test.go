package resolve_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// stage selects clusters with one value of one label.
type stage string

func (s stage) Selects(labels map[string]string) bool { return labels["stage"] == string(s) }

func probes(targets ...resolve.ProbeTarget) func(*resolve.Input) {
	return func(in *resolve.Input) {
		in.Installation.Probes, in.Cluster.Labels, in.Cluster.EndpointPort = &resolve.Probes{Targets: targets}, map[string]string{"stage": "canary"}, 6443
	}
}

func TestAClusterIsProbedForItsEndpointAndForWhatIsMeantForIt(t *testing.T) {
	reach := func(url string, clusters resolve.Selector) resolve.ProbeTarget {
		return resolve.ProbeTarget{Target: probe.Target{URL: url, Expect: probe.Reachable}, Field: "spec.probes.mustReach[1].url", Clusters: clusters}
	}
	endpoint := probe.Target{URL: "https://178.170.32.59:6443", Expect: probe.Reachable, Route: probe.Direct}
	for name, test := range map[string]struct {
		change func(*resolve.Input)
		want   *resolve.Probed
	}{
		"nobody asks":       {func(*resolve.Input) {}, nil},
		"nothing is listed": {probes(), &resolve.Probed{Targets: []probe.Target{endpoint}}},
		"no port yet":       {func(in *resolve.Input) { probes()(in); in.Cluster.EndpointPort = 0 }, &resolve.Probed{}},
		"an IPv6 endpoint": {
			func(in *resolve.Input) { probes()(in); in.Cluster.EndpointHost = "2001:db8::1" },
			&resolve.Probed{Targets: []probe.Target{{URL: "https://[2001:db8::1]:6443", Expect: probe.Reachable, Route: probe.Direct}}},
		},
		"its own, and no other's": {
			probes(reach("https://a.example", nil), reach("https://b.example", stage("canary")), reach("https://c.example", stage("rest")), reach("https://a.example", nil)),
			&resolve.Probed{Targets: []probe.Target{endpoint, {URL: "https://a.example", Expect: probe.Reachable}, {URL: "https://b.example", Expect: probe.Reachable}}},
		},
		"fingerprints": {
			func(in *resolve.Input) { probes()(in); in.Fingerprints.Current = "hash" },
			&resolve.Probed{Targets: []probe.Target{endpoint}, Credentials: resolve.Fingerprints{Current: "hash"}},
		},
		"Direct": {func(in *resolve.Input) {
			probes()(in)
			in.Installation.Delegation.Direct, in.Override.Direct = true, true
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			effective, err := resolve.Resolve(example(t, test.change))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, effective.Probed); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestProbesThatContradictEachOtherInOneClusterAreRefused(t *testing.T) {
	not := resolve.ProbeTarget{Target: probe.Target{URL: "https://a.example", Expect: probe.Unreachable}, Field: "spec.probes.mustNotReach[0].url", Clusters: stage("canary")}
	reach := resolve.ProbeTarget{Target: probe.Target{URL: "https://a.example", Expect: probe.Reachable}, Field: "spec.probes.mustReach[0].url"}
	endpoint := not
	endpoint.URL = "https://178.170.32.59:6443"
	for want, targets := range map[string][]resolve.ProbeTarget{
		"spec.probes.mustNotReach[0].url: contradicts spec.probes.mustReach[0].url for Cluster org-acme/mycluster": {reach, not},
		"spec.probes.mustNotReach[0].url: contradicts the endpoint of Cluster org-acme/mycluster":                  {endpoint},
	} {
		effective, err := resolve.Resolve(example(t, probes(targets...)))
		if p := problem(t, effective, err); !strings.Contains(p.Error(), want) {
			t.Error(p)
		}
	}
}
