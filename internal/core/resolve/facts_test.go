package resolve_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// portableWith returns the example in form Portable/v1 with provider facts.
func portableWith(tb testing.TB, known, read string, changes ...func(*resolve.Input)) resolve.Input {
	tb.Helper()
	source := noproxy.Source{Layer: noproxy.LayerProvider, Object: "AWSCluster org-acme/infra", Field: "fact vpcCIDR"}
	in := example(tb, func(in *resolve.Input) {
		in.Installation.Form = resolve.FormPortable
		in.Facts = resolve.Facts{Object: source.Object, Known: noproxy.Filled(known, source), Read: noproxy.Filled(read, source)}
	})
	for _, change := range changes {
		change(&in)
	}
	return in
}

func TestFactsAreEntriesOfThePortableFormAlone(t *testing.T) {
	in := portableWith(t, "169.254.169.254", "10.0.0.0/16,.internal")
	effective, err := resolve.Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range []string{"169.254.169.254", "10.0.0.0/16", ".internal"} {
		if !strings.Contains(","+effective.NoProxy.Any.String()+",", ","+entry+",") {
			t.Errorf("%s lacks %s", effective.NoProxy.Any, entry)
		}
	}
	in.Installation.Form = resolve.FormExact
	if effective, err = resolve.Resolve(in); err != nil || effective.NoProxy.Any.String() != exampleList {
		t.Errorf("Exact: %s (%v)", effective.NoProxy.Any, err)
	}
}

func TestIPv6AddressesOfTheTableAreForClustersWithIPv6(t *testing.T) {
	const metadata = "fd00:ec2::254"
	for want, pods := range map[bool][]string{false: {"100.96.0.0/11"}, true: {"100.96.0.0/11", "fd01::/56"}} {
		effective, err := resolve.Resolve(portableWith(t, "169.254.169.254,"+metadata, "", func(in *resolve.Input) { in.Cluster.PodCIDRs = pods }))
		if got := strings.Contains(effective.Entries.String(), metadata); err != nil || got != want {
			t.Errorf("with pods %q: %t (%v)", pods, got, err)
		}
	}
}

// An infrastructure object may be a tenant's to write.
func TestWhatIsReadFromAnObjectMayNotBeTooBroad(t *testing.T) {
	for _, broad := range []string{"0.0.0.0/0", "*", "com", "::/0"} {
		_, err := resolve.Resolve(portableWith(t, "", broad))
		var p *resolve.Problem
		if !errors.As(err, &p) || p.Reason != resolve.ReasonInvalidFacts || !strings.Contains(p.Error(), "AWSCluster org-acme/infra") {
			t.Errorf("%s: %v", broad, err)
		}
		if _, err := resolve.Resolve(portableWith(t, "", broad, func(in *resolve.Input) { in.Installation.Delegation.NoProxy = resolve.GrantAny })); err != nil {
			t.Errorf("%s, where anything is delegated: %v", broad, err)
		}
	}
}

func TestAFinalDotOfTheProxyIsKeptFromPortable2On(t *testing.T) {
	const with, without = "http://me:p@proxy.example.:3128", "http://me:p@proxy.example:3128"
	for form, want := range map[resolve.Form]string{resolve.FormExact: without, resolve.FormPortable: without, resolve.FormPortable2: with, resolve.FormPortable3: with} {
		u, err := proxyurl.Parse(with)
		if err != nil {
			t.Fatal(err)
		}
		e, err := resolve.Resolve(example(t, func(in *resolve.Input) { in.Installation.Form, in.Installation.HTTP = form, u }))
		if err != nil || e.HTTP.Reveal() != want {
			t.Errorf("%q: %s (%v)", form, e.HTTP.Reveal(), err)
		}
	}
}
