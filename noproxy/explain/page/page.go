// Package page writes what clients do with URLs as one web page: clients down,
// URLs across. The page needs nothing but itself, neither a script nor a
// network, so it can be mailed, attached and kept.
package page

import (
	_ "embed"
	"html/template" // what it writes is HTML
	"io"

	"github.com/fairlead-io/fairlead/noproxy/explain"
)

// Page has the content of a page.
type Page struct {
	Subject      string // such as "Cluster org-acme/mycluster"
	Entries      []explain.Entry
	Explanations []explain.Explanation
}

var (
	//go:embed page.html
	text string
	//go:embed page.css
	css string

	page = template.Must(template.New("page").Parse(text))
)

// Write writes the page. The explanations are about the same clients in the
// same order, as explain.Evaluate returns them.
func Write(out io.Writer, p Page) error {
	return page.Execute(out, view{
		Subject: p.Subject, Verdict: verdict(p.Explanations),
		Style:   template.CSS(css), //nolint:gosec // a file of this package
		Entries: p.Entries, Columns: columns(p.Explanations), Rows: rows(p.Explanations), Routes: routes,
	})
}
