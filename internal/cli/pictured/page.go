package pictured

import (
	_ "embed"
	"io"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/cli/page"
	"github.com/fairlead-io/fairlead/internal/core/picture"
)

var (
	//go:embed page.html
	pageBody string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string

	//go:embed live.js
	liveJS string
	//go:embed signin.html
	signInBody string
	//go:embed signin.js
	signInJS string

	fleetPage  = page.New("fairlead status", pageCSS, pageJS, pageBody, functions)
	livePage   = page.NewLive("fairlead-operator", pageCSS, pageJS+liveJS, pageBody, functions)
	signInPage = page.NewLive("fairlead-operator", pageCSS, signInJS, signInBody, functions)

	functions = map[string]any{
		"lower": func(s picture.State) string { return strings.ToLower(string(s)) }, "meaning": func(s picture.State) string { return meanings[s] },
		"mark": func(s picture.State) string { return marks[s] }, "behind": func(what string) string { return behindNames[what] },
		"phase": phase, "dashed": dashed, "age": age, "lasting": lasting, "left": timeLeft, "clock": clock,
	}
)

// marks say without a colour what a tile is.
var marks = map[picture.State]string{picture.Error: "✕", picture.Warning: "!", picture.Unknown: "?", picture.Waiting: "…", picture.Fine: "✓"}

var meanings = map[picture.State]string{
	picture.Error:   "the cluster does not get its settings, or they do not work",
	picture.Warning: "they work, and somebody must do something",
	picture.Unknown: "nobody can tell",
	picture.Waiting: "it continues by itself",
	picture.Fine:    "nothing is wrong",
}

// tile has the map's data about a cluster.
type tile struct {
	Namespace string `json:"n"`
	Name      string `json:"c"`
	State     int    `json:"s"` // its place in picture.States
	Proxy     string `json:"p,omitempty"`
	Provider  string `json:"i,omitempty"`
	Text      string `json:"t,omitempty"` // the worst

	Codes []string `json:"k,omitempty"` // of all that is said
}

// inChunk is how many clusters' details a browser reads at a time, when one of them is opened.
const inChunk = 50

// HTML writes the picture as one page that needs nothing but itself.
func HTML(out io.Writer, p picture.Picture, namespace string) error {
	return write(fleetPage, out, p, namespace, "")
}

// Live writes the page of a server, which asks it for another one that has not this tag.
func Live(out io.Writer, p picture.Picture, etag string) error {
	return write(livePage, out, p, "", etag)
}

// SignIn returns the page that asks for a token, and then shows the one above.
func SignIn() (string, error) {
	var out strings.Builder
	err := signInPage.Write(&out, "Fleet: sign in", nil)
	return out.String(), err
}

// LivePolicy returns the Content-Security-Policy of both.
func LivePolicy() string { return page.Policy(livePage, signInPage) }

func write(kind *page.Page, out io.Writer, p picture.Picture, namespace, etag string) error {
	view := struct {
		picture.Picture
		Headline, Namespace string
		ETag                string
		Tiles               []tile
		Details             [][]detail
		InChunk             int
	}{Picture: p, Headline: headline(p), Namespace: namespace, ETag: etag, Tiles: []tile{}, InChunk: inChunk}
	for i, c := range p.Clusters {
		view.Tiles = append(view.Tiles, tileOf(c))
		if i%inChunk == 0 {
			view.Details = append(view.Details, nil)
		}
		last := &view.Details[len(view.Details)-1]
		*last = append(*last, detailOf(p, c))
	}
	return kind.Write(out, "Fleet: "+view.Headline, view)
}

func tileOf(c picture.Cluster) tile {
	t := tile{Namespace: c.Namespace, Name: c.Name, Proxy: c.Proxy, Provider: c.Provider, Codes: c.Codes}
	for i, state := range picture.States {
		if state == c.State {
			t.State = i
		}
	}
	if len(c.Said) > 0 {
		t.Text = c.Said[0].General
	}
	return t
}

// headline returns the worst in a few words.
func headline(p picture.Picture) string {
	for _, count := range p.States {
		if count.Clusters > 0 {
			return plural(count.Clusters, len(p.Clusters), count.State) + before(p)
		}
	}
	return "no cluster"
}

func plural(n, of int, state picture.State) string {
	if state == picture.Fine {
		return "all " + strconv.Itoa(of) + " clusters are fine"
	}
	return strconv.Itoa(n) + " of " + strconv.Itoa(of) + " clusters: " + string(state)
}
