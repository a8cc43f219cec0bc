package noproxy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/noproxy"
)

const (
	installation = noproxy.LayerInstallation
	services     = noproxy.LayerServiceCIDR
)

func TestPortableWritesEachIntentAsEveryClientReadsIt(t *testing.T) {
	type lists map[noproxy.Layer]string
	for name, test := range map[string]struct {
		lists    lists
		any, goo string // goo is the list for Go; empty: the same
		omitted  string
	}{
		"a domain":                    {lists{installation: "example.com"}, "example.com,.example.com", "", ""},
		"what is below a domain":      {lists{installation: ".example.com"}, ".example.com", "", ""},
		"a rooted domain":             {lists{installation: "example.com."}, "example.com.,.example.com.", "", ""},
		"an address":                  {lists{installation: "10.1.2.3,fd00::1"}, "10.1.2.3,fd00::1", "", ""},
		"a port":                      {lists{installation: "a.b:80,10.1.2.3:80"}, "10.1.2.3:80,a.b:80,.a.b:80", "", ""},
		"a port of an IPv6 address":   {lists{installation: "[fd00::1]:80,a.b"}, "a.b,.a.b", "[fd00::1]:80,a.b,.a.b", "[fd00::1]:80"},
		"an IPv4 network":             {lists{installation: "10.0.0.0/8"}, "10.0.0.0/8", "", ""},
		"a small one":                 {lists{installation: "10.0.0.4/30"}, "10.0.0.4/30,10.0.0.4,10.0.0.5,10.0.0.6,10.0.0.7", "10.0.0.4/30", ""},
		"the largest of them":         {lists{installation: "10.0.0.0/28"}, "10.0.0.0/28,10.0.0.0,10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4,10.0.0.5,10.0.0.6,10.0.0.7,10.0.0.8,10.0.0.9,10.0.0.10,10.0.0.11,10.0.0.12,10.0.0.13,10.0.0.14,10.0.0.15", "10.0.0.0/28", ""},
		"one that is not small":       {lists{installation: "10.0.0.0/27"}, "10.0.0.0/27", "", ""},
		"the smallest one":            {lists{installation: "10.0.0.4/31"}, "10.0.0.4/31,10.0.0.4,10.0.0.5", "10.0.0.4/31", ""},
		"a foreign IPv6 network":      {lists{installation: "fd00::/64"}, "", "fd00::/64", "fd00::/64"},
		"an IPv6 cluster":             {lists{installation: "fd00::/64", noproxy.LayerPodCIDR: "fd01::/64"}, "fd00::/64,fd01::/64", "", ""},
		"a service network":           {lists{services: "10.96.0.0/12"}, "10.96.0.0/12,10.96.0.1,10.96.0.10", "", ""},
		"one too small for a DNS":     {lists{services: "10.96.0.0/29"}, "10.96.0.0/29,10.96.0.0,10.96.0.1,10.96.0.2,10.96.0.3,10.96.0.4,10.96.0.5,10.96.0.6,10.96.0.7", "10.96.0.0/29,10.96.0.1", ""},
		"an IPv6 service network":     {lists{services: "fd00:10:96::/112"}, "fd00:10:96::/112,fd00:10:96::1,fd00:10:96::a", "", ""},
		"a network around metadata":   {lists{installation: "169.254.0.0/16"}, "169.254.0.0/16,169.254.169.254", "", ""},
		"the cluster's domain":        {lists{noproxy.LayerServiceDomain: "cluster.local"}, ".cluster.local,.cluster.local.", "", ""},
		"the services' suffix":        {lists{noproxy.LayerBuiltin: "svc"}, ".svc,.svc.", "", ""},
		"one that somebody wrote too": {lists{noproxy.LayerBuiltin: "svc", installation: "svc"}, "svc,.svc,.svc.", "", ""},
		"one that only somebody did":  {lists{installation: "svc"}, "svc,.svc", "", ""},
		"localhost":                   {lists{noproxy.LayerBuiltin: "localhost"}, "localhost,.localhost", "", ""},
		"everything":                  {lists{installation: "*,a"}, "*,a,.a", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var merged []noproxy.List
			for layer, text := range test.lists {
				merged = append(merged, list(t, layer, text))
			}
			written, omitted := noproxy.Portable(noproxy.Merge(merged...), noproxy.AudienceAny)
			if written.String() != test.any || omitted.String() != test.omitted {
				t.Errorf("any: %q without %q", written, omitted)
			}
			if test.goo == "" {
				test.goo = test.any
			}
			if written, omitted = noproxy.Portable(noproxy.Merge(merged...), noproxy.AudienceGo); written.String() != test.goo || len(omitted) > 0 {
				t.Errorf("go: %q without %q", written, omitted)
			}
		})
	}
}

func TestPortableV3HasNoIPv6NetworkForAnyClient(t *testing.T) {
	merged := noproxy.Merge(list(t, services, "10.96.0.0/12,fd00:10:96::/112"), list(t, noproxy.LayerPodCIDR, "fd01::/64"), list(t, installation, "fd00::/16"))
	const own = "10.96.0.0/12,10.96.0.1,10.96.0.10,"
	if w := noproxy.Write(merged, noproxy.AudienceAny, noproxy.V3); w.Written.String() != own+"fd00:10:96::1,fd00:10:96::a,fd00:ec2::254" ||
		w.Omitted.String() != "fd00:10:96::/112,fd01::/64,fd00::/16" {
		t.Errorf("any: %s without %s", w.Written, w.Omitted)
	}
	if w := noproxy.Write(merged, noproxy.AudienceGo, noproxy.V3); w.Written.String() != own+"fd00::/16,fd00:10:96::/112,fd00:10:96::1,fd00:10:96::a,fd00:ec2::254,fd01::/64" || len(w.Omitted) > 0 {
		t.Errorf("go: %s without %s", w.Written, w.Omitted)
	}
}

func TestAHostMeansNothingBelowIt(t *testing.T) {
	written, _ := noproxy.Portable(host(t, noproxy.LayerEndpoint, "api.example.com"), noproxy.AudienceAny)
	if written.String() != "api.example.com" {
		t.Errorf("%q", written)
	}
}

func TestAListOverTheBudgetIsWrittenAsShortAsItsMeaningAllows(t *testing.T) {
	var text strings.Builder
	for i := range 7_000 {
		fmt.Fprintf(&text, "h%d.example,", i)
	}
	merged := noproxy.Merge(list(t, installation, text.String()+"10.0.0.0/30"), list(t, noproxy.LayerBuiltin, "svc"))
	if whole := len(merged.String()); whole >= noproxy.Budget || 2*whole <= noproxy.Budget {
		t.Fatalf("%d bytes prove nothing", whole)
	}
	written, omitted := noproxy.Portable(merged, noproxy.AudienceAny)
	if want := len(merged) + 1; len(written) != want || len(omitted) > 0 { // .svc and .svc. in place of svc
		t.Errorf("%d entries, want %d; without %q", len(written), want, omitted)
	}
}

// layered draws a merged list with entries of every layer.
var layered = rapid.Custom(func(t *rapid.T) noproxy.List {
	layers := []noproxy.Layer{noproxy.LayerServiceDomain, services, noproxy.LayerPodCIDR, noproxy.LayerEndpoint, noproxy.LayerProvider, installation, noproxy.LayerCluster, noproxy.LayerBuiltin}
	var lists []noproxy.List
	for _, layer := range layers {
		part := parsed(t, written.Draw(t, string(layer)))
		for i := range part {
			part[i].Sources = []noproxy.Source{{Layer: layer}}
		}
		lists = append(lists, part)
	}
	return noproxy.Merge(lists...)
})

var audience = rapid.SampledFrom([]noproxy.Audience{noproxy.AudienceAny, noproxy.AudienceGo})

func TestPortableIsIdempotentAndIndependentOfOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		merged, audience := layered.Draw(t, "list"), audience.Draw(t, "audience")
		once, omitted := noproxy.Portable(merged, audience)
		if twice, _ := noproxy.Portable(once, audience); twice.String() != once.String() {
			t.Fatalf("%q became %q", once, twice)
		}
		shuffled := rapid.Permutation(merged).Draw(t, "order")
		again, left := noproxy.Portable(shuffled, audience)
		if again.String() != once.String() || !slices.Equal(set(left), set(omitted)) {
			t.Fatalf("%q in another order is %q", once, again)
		}
		for _, item := range once {
			if len(item.Sources) == 0 {
				t.Fatalf("%q has no source", item.Entry)
			}
		}
	})
}

// Go reads every entry as it is meant, so it is the judge of the meaning: what
// somebody listed is bypassed in the portable form exactly as in their own words.
func TestPortableNeitherWidensNorNarrowsWhatGoReads(t *testing.T) {
	matched := 0
	rapid.Check(t, func(t *rapid.T) {
		merged := parsed(t, written.Draw(t, "list"))
		for i := range merged {
			merged[i].Sources = []noproxy.Source{{Layer: installation}}
		}
		target := targets.Draw(t, "target")
		portable, _ := noproxy.Portable(noproxy.Merge(merged), noproxy.AudienceGo)
		meant, does := bypass(t, merged.String(), target), bypass(t, portable.String(), target)
		if meant != does {
			t.Fatalf("%s with %q: %v, with %q: %v", target, merged, meant, portable, does)
		}
		if does {
			matched++
		}
		// The other audience may only lack what is said to be omitted.
		anyone, omitted := noproxy.Portable(noproxy.Merge(merged), noproxy.AudienceAny)
		if does := bypass(t, noproxy.Merge(anyone, omitted).String(), target); does != meant {
			t.Fatalf("%s with %q: %v, with %q and %q: %v", target, merged, meant, anyone, omitted, does)
		}
	})
	if matched == 0 {
		t.Error("no entry ever matched: the generators have drifted apart")
	}
}
