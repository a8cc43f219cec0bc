package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// randomEntries are of every kind, near to each other, so that they cover each other.
func randomEntries(r *rand.Rand) []string {
	var all []string
	for range 1 + r.IntN(8) {
		kinds := []string{
			fmt.Sprintf("h%d.example", r.IntN(4)), fmt.Sprintf(".h%d.example", r.IntN(4)), fmt.Sprintf("a.h%d.example", r.IntN(4)), "example", "h1.example.",
			fmt.Sprintf("10.%d.0.0/16", r.IntN(4)), fmt.Sprintf("10.1.0.%d", r.IntN(30)), "10.0.0.0/8", "10.1.0.0/28", "fd00::/16", "fd00::20", "[fd00::20]:8443",
			"h1.example:8443", "10.1.0.20:443", "10.1.0.0/16", "1.0.0.0/8",
		}
		if r.IntN(40) == 0 {
			kinds = []string{"*"}
		}
		all = append(all, kinds[r.IntN(len(kinds))])
	}
	return all
}

func randomSide(t *testing.T, r *rand.Rand, url proxyurl.URL) side {
	t.Helper()
	list, err := resolve.ParseEntries(resolve.ReasonInvalidProxy, noproxy.Elements(randomEntries(r), noproxy.Source{Layer: noproxy.LayerInstallation}), nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := resolve.Resolve(resolve.Input{
		Installation: resolve.Installation{HTTP: url, HTTPS: url, NoProxy: list, Form: resolve.Forms[r.IntN(len(resolve.Forms))], Delegation: resolve.Delegation{NoProxy: resolve.GrantAny}},
		Cluster:      resolve.Cluster{EndpointHost: "api.example", ServiceCIDRs: []string{"172.31.0.0/16"}, PodCIDRs: []string{"100.64.0.0/12"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return side{effective: e}
}

// The entries that decide nothing are found for each entry alone, so that most clusters ask the same questions. The
// answer must be the same as for the whole list.
func TestClientsDecideByTheEntriesThatMatterAsByTheWholeList(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	c := newClients()
	url, err := proxyurl.Parse("http://proxy.example:3128")
	if err != nil {
		t.Fatal(err)
	}
	shorter := 0
	for range 300 {
		s := randomSide(t, r, url)
		var urls []string
		for _, text := range randomEntries(r) {
			urls = append(urls, urlsUnder(text)...)
		}
		targets := Targets(urls)
		for _, audience := range []noproxy.Audience{noproxy.AudienceAny, noproxy.AudienceGo} {
			choices := c.choices
			if audience == noproxy.AudienceGo {
				choices = c.golang
			}
			q := question{audience: audience, urls: keyOf(targets)}
			whole, less := environmentOf(s.effective, s.effective.NoProxy.For(audience)), c.environment(s, q, targets, choices)
			if len(less.list) < len(whole.list) {
				shorter++
			}
			for _, choice := range choices {
				a, b := choice.Read(whole.variables()), choice.Read(less.variables())
				if at := slices.IndexFunc(targets, func(t dialect.Target) bool { return a(t).Route != b(t).Route }); at >= 0 {
					t.Fatalf("%s: %s: %s with\n%s, and %s with\n%s", choice, targets[at].URL, a(targets[at]).Route, whole.list, b(targets[at]).Route, less.list)
				}
			}
		}
	}
	if shorter < 300 {
		t.Errorf("only %d of 600 lists are shorter: nothing is saved", shorter)
	}
}

func TestURLsAreUnderTheirEntries(t *testing.T) {
	for entry, want := range map[string]string{
		"a.example":      "https://a.example/ https://host.a.example/",
		".a.example":     "https://host.a.example/",
		"a.example.":     "https://a.example./ https://host.a.example./",
		"a.example:8443": "https://a.example:8443/ https://host.a.example:8443/",
		"10.0.0.0/8":     "https://10.0.0.20/",
		"10.0.0.4/30":    "https://10.0.0.7/",
		"10.1.2.3":       "https://10.1.2.3/",
		"fd00::/16":      "https://[fd00::14]/",
		"fd00::1":        "https://[fd00::1]/",
		"*":              "https://example.com/",
		"10.*":           "",
	} {
		if got := strings.Join(urlsUnder(entry), " "); got != want {
			t.Errorf("%s: %s, want %s", entry, got, want)
		}
	}
}

func TestOfManyEntriesSomeThatComeAndSomeThatGoAreAskedAbout(t *testing.T) {
	change := Change{Change: Changed}
	for i := range 100 {
		change.Comes = append(change.Comes, Entry{Entry: fmt.Sprintf("new%d.example", i)})
	}
	change.Goes = []Entry{{Entry: "192.0.2.1"}, {Entry: "192.0.2.2"}}
	urls, left := urlsOf(change, resolve.Effective{}, resolve.Effective{})
	if len(urls) != maxURLs || left != 202-maxURLs || !slices.Contains(urls, "https://192.0.2.2/") || !slices.Contains(urls, "https://new0.example/") {
		t.Errorf("%d are left out of %q", left, urls)
	}
}
