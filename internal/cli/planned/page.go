package planned

import (
	_ "embed"
	"io"
	"strings"

	"github.com/fairlead-io/fairlead/internal/cli/page"
	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/plan"
)

var (
	//go:embed page.html
	pageBody string
	//go:embed page.css
	pageCSS string

	planPage = page.New("fairlead plan", pageCSS, "", pageBody, map[string]any{
		"title": func(g plan.Group) string { return title(g, false) }, "from": originText, "lists": lists, "cost": cost, "problems": problems,
		"dash": terminal.Dash, "number": number, "failure": failure, "expected": func(e *plan.Expectations) string { return strings.TrimPrefix(expected(*e), "Expectations: ") },
		"warnings": func(w plan.Waves) []string { _, all := rollout(w); return all },
		"entries":  func(all []plan.Entry) []plan.Entry { return some(all, onPage) }, "decisions": func(all []plan.Decision) []plan.Decision { return some(all, onPage) },
		"groups": func(all []plan.Group) []plan.Group { return some(all, onPage) },
		"more":   func(all int) string { return more(all, onPage, "line") }, "plural": plural, "unasked": unasked,
		"route": route,
	})
)

// onPage is how many of something a page has.
const onPage = 200

// HTML writes the plan as one page that needs nothing but itself.
func HTML(out io.Writer, p plan.Plan) error {
	return planPage.Write(out, "Proxy plan: "+headline(p), struct {
		plan.Plan
		Headline string
	}{p, headline(p)})
}

// route returns the class of a decision: direct, proxy or fails.
func route(decision string) string {
	word, _, _ := strings.Cut(decision, " ")
	return word
}
