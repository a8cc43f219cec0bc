// Package page has the common parts of the command line's pages: a skeleton, a style sheet for light and dark, and a
// Content-Security-Policy. By the policy, a page loads nothing: no network, no frame, no form, and no script or style
// but those that it was written with.
package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template" // what it writes is HTML
	"io"
	"strings"
)

var (
	//go:embed skeleton.html
	skeleton string
	//go:embed base.css
	base string
)

// Page is a kind of page.
type Page struct {
	template          *template.Template
	generator, policy string
	hashes            [2]string // of the style and the script; the latter may be empty
	style             template.CSS
	script            template.JS
}

// New makes a kind of page from files of the program: a style sheet beside the common one, a script, which may be
// empty, and the template of the body.
func New(generator, css, script, body string, funcs map[string]any) *Page {
	t := template.Must(template.New("skeleton").Funcs(funcs).Parse(skeleton))
	template.Must(t.New("body").Parse(body))
	style := base + css
	hashes := [2]string{hash(style)}
	if script != "" {
		hashes[1] = hash(script)
	}
	return &Page{
		template: t, generator: generator, policy: policy(hashes), hashes: hashes,
		style: template.CSS(style), script: template.JS(script), //nolint:gosec // files of this program
	}
}

// NewLive makes a kind of page that may ask the server that it comes from, and nobody else.
func NewLive(generator, css, script, body string, funcs map[string]any) *Page {
	p := New(generator, css, script, body, funcs)
	p.policy += "; connect-src 'self'"
	return p
}

// Write writes a page. Whatever is in the data is escaped.
func (p *Page) Write(out io.Writer, title string, data any) error {
	return p.template.Execute(out, struct {
		Title, Generator, Policy string
		Style                    template.CSS
		Script                   template.JS
		Data                     any
	}{title, p.generator, p.policy, p.style, p.script, data})
}

// Policy returns the Content-Security-Policy with which a server sends any of these live pages.
func Policy(pages ...*Page) string {
	var all [2]string
	for _, p := range pages {
		for i := range all {
			all[i] = strings.TrimSpace(all[i] + " " + p.hashes[i])
		}
	}
	return policy(all) + "; connect-src 'self'; frame-ancestors 'none'"
}

// policy allows what has these hashes, and nothing else (https://www.w3.org/TR/CSP3/#grammardef-hash-source).
func policy(hashes [2]string) string {
	text := "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + hashes[0]
	if hashes[1] != "" {
		text += "; script-src " + hashes[1]
	}
	return text
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
