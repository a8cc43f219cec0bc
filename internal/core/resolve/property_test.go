package resolve_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// word draws mostly valid texts, and now and then an invalid one.
func word(right ...string) *rapid.Generator[string] {
	wrong := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"", " ", ",", "a,b", "*", "[::1]", "fe80::1%eth0", "10.0.0.0/33", "a b", "http://u:mySuperSecret@h:1", "a\nb", "::ffff:10.0.0.1", "b.",
	}))
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 15).Draw(t, "wrong") == 0 {
			return wrong.Draw(t, "word")
		}
		return rapid.SampledFrom(right).Draw(t, "word")
	})
}

var inputs = rapid.Custom(func(t *rapid.T) resolve.Input {
	networks := rapid.SliceOfN(word("10.96.0.0/12", "10.244.1.1/16", "fd00::/112", "FD00:0::1/56", "10.0.0.1/32"), 0, 3)
	names := rapid.SliceOfN(word("a", "b.example", ".example", "*.example", "10.1.2.3", "10.244.0.0/16", "svc", "localhost", "8.0.0.0/8", "com"), 0, 4)
	u, err := proxyurl.Parse(rapid.SampledFrom([]string{"", exampleURL, "http://[::1]:3128"}).Draw(t, "http"))
	if err != nil {
		t.Fatal(err)
	}
	// Entries of an installation have been parsed before; a refused one ends there.
	var installation noproxy.List
	for _, text := range names.Draw(t, "installation") {
		if entry, err := noproxy.Parse(text); err == nil {
			installation = append(installation, noproxy.Item{Entry: entry, Sources: []noproxy.Source{{Layer: noproxy.LayerInstallation}}})
		}
	}
	return resolve.Input{
		Installation: resolve.Installation{
			Name: "default", Object: "CorporateProxy default", HTTP: u, NoProxy: installation,
			Form: rapid.SampledFrom([]resolve.Form{"", resolve.FormExact, resolve.FormPortable, resolve.FormPortable2, resolve.FormPortable3}).Draw(t, "form"),
			Delegation: resolve.Delegation{
				NoProxy: rapid.SampledFrom([]resolve.Grant{resolve.GrantForbidden, resolve.GrantNarrow, resolve.GrantAny, resolve.GrantAny}).Draw(t, "grant"),
				Direct:  rapid.Bool().Draw(t, "delegated"),
			},
		},
		Cluster: resolve.Cluster{
			Namespace: "n", Name: "c",
			ServiceDomain: word("", "cluster.local", "k8s.acme.").Draw(t, "domain"),
			ServiceCIDRs:  networks.Draw(t, "services"), PodCIDRs: networks.Draw(t, "pods"),
			EndpointHost:     word("10.1.2.3", "::1", "[FD00::1]", "api.example", "API.example.").Draw(t, "endpoint"),
			ControlPlaneKind: word("KubeadmControlPlane").Draw(t, "kind"),
		},
		Override: resolve.Override{
			Direct:  rapid.IntRange(0, 7).Draw(t, "direct") == 0,
			NoProxy: added(names.Draw(t, "override")...),
			Exclude: rapid.SliceOfN(word("svc", "localhost", "127.0.0.1", "cluster.local", "10.244.0.0/16"), 0, 2).Draw(t, "exclude"),
		},
	}
})

func TestWhateverIsResolvedIsDeterministicCompleteAndClean(t *testing.T) {
	resolved := 0
	rapid.Check(t, func(t *rapid.T) {
		in := inputs.Draw(t, "input")
		first, err := resolve.Resolve(in)
		second, again := resolve.Resolve(in)
		if diff := cmp.Diff(first, second, cmp.Comparer(func(a, b noproxy.Entry) bool { return a == b })); diff != "" {
			t.Fatalf("twice the same input gave:\n%s", diff)
		}
		if err != nil {
			var p *resolve.Problem
			if !errors.As(err, &p) || p.Reason == "" || p.Detail == "" || again == nil || again.Error() != err.Error() {
				t.Fatalf("first %v, then %v", err, again)
			}
			for _, text := range append(p.Refusals, p.Error()) {
				if strings.Contains(text, "mySuperSecret") {
					t.Fatalf("shows a password: %s", text)
				}
			}
			return
		}
		if first.Mode == resolve.ModeDirect {
			if !first.HTTP.IsZero() || !first.HTTPS.IsZero() || first.Entries != nil {
				t.Fatalf("Direct, but %v", first)
			}
			return
		}
		resolved++
		for _, list := range []noproxy.List{first.Entries, first.NoProxy.Any, first.NoProxy.Go} {
			checkList(t, in, list.String())
		}
	})
	if resolved == 0 {
		t.Error("nothing was ever resolved: the generators have drifted apart")
	}
}

func checkList(t *rapid.T, in resolve.Input, text string) {
	seen := map[string]bool{}
	for _, element := range strings.Split(text, ",") {
		entry, err := noproxy.Parse(element)
		if err != nil || entry.String() != element || seen[element] {
			t.Fatalf("%q in %q: %v, or twice", element, text, err)
		}
		seen[element] = true
	}
	for _, item := range in.Installation.NoProxy {
		if !seen[item.Entry.String()] {
			t.Fatalf("%q lacks the installation's %q", text, item.Entry)
		}
	}
}
