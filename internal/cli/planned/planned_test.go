package planned_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/cli/planned"
	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/plan"
)

// many returns a plan in which every cluster changes in another way, with names that would be markup.
func many(n int) plan.Plan {
	p := plan.Plan{Changed: true, Digest: "d", Notes: []string{plan.CredentialsNote}, Summary: plan.Totals{Clusters: n, Changed: n}}
	for i := range n {
		g := plan.Group{Change: plan.Changed, Clusters: []string{fmt.Sprintf("org/c%d", i)}, Unasked: 7}
		for k := range 300 {
			entry := fmt.Sprintf("h%d-%d.example", i, k)
			g.Comes = append(g.Comes, plan.Entry{Entry: entry, Object: "<script>alert(1)</script>"})
			g.Decisions = append(g.Decisions, plan.Decision{Audience: "any", URL: "https://" + entry + "/", Before: "proxy", After: "direct", Clients: []string{"go"}, Of: 28, Clusters: 1})
		}
		p.Groups = append(p.Groups, g)
	}
	return p
}

func TestALargePlanIsCutWhereNobodyReadsOn(t *testing.T) {
	p := many(500)
	var page bytes.Buffer
	if err := planned.HTML(&page, p); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		text []byte
		most int
	}{
		"text":     {planned.Text(terminal.Style{}, p, false), 300_000},
		"markdown": {planned.Markdown(p), 65_536}, // GitHub takes no longer comment
		"page":     {page.Bytes(), 20_000_000},
	} {
		if len(test.text) > test.most {
			t.Errorf("%s has %d bytes", name, len(test.text))
		}
		if !strings.Contains(string(test.text), "no client was asked about 7 URLs more") || !strings.Contains(string(test.text), "-o json has all") {
			t.Errorf("%s does not say that something is left out", name)
		}
	}
	if strings.Contains(page.String(), "<script>") {
		t.Error("the page runs what a name says")
	}
}

func TestMarkdownIsNoMarkupOfOthers(t *testing.T) {
	p := plan.Plan{Changed: true, Groups: []plan.Group{{
		Change: plan.Changed, Clusters: []string{"org/c"},
		Problem: plan.Problems{Appears: &plan.Problem{Reason: "InvalidOverride", Message: "</details> @everybody *x* [a](http://b) `c`"}},
	}}}
	text := string(planned.Markdown(p))
	for _, markup := range []string{"</details> ", "@everybody", " *x*", " [a](", "`c`"} {
		if strings.Contains(text, markup) {
			t.Errorf("has %q: %s", markup, text)
		}
	}
}
