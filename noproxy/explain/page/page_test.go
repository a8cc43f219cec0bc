package page_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/fairlead-io/fairlead/noproxy/dialect"
	"github.com/fairlead-io/fairlead/noproxy/explain"
	"github.com/fairlead-io/fairlead/noproxy/explain/page"
)

// client is one that decides as it is told, in the order of the URLs.
func client(name string, alsoReads []string, decisions ...dialect.Decision) dialect.Choice {
	c := &dialect.Client{Name: name, AlsoReads: alsoReads, Behaviours: []dialect.Behaviour{{Read: func(dialect.Env) dialect.Decider {
		next := 0
		return func(dialect.Target) dialect.Decision {
			next++
			return decisions[next-1]
		}
	}}}}
	return c.Newest()
}

var (
	direct = dialect.Decision{Route: dialect.Direct, Entry: dialect.Span{Start: 0, End: 10}, Variable: "NO_PROXY", Reason: "an address in this network"}
	proxy  = dialect.Decision{Route: dialect.Proxy, Variable: "HTTPS_PROXY", Reason: "no entry matches"}
	fails  = dialect.Decision{Route: dialect.Fails, Variable: "NO_PROXY", Reason: "it cannot read <the> list"}
)

// written returns the page about three clients and two URLs.
func written(t *testing.T, urls ...string) (string, *html.Node) {
	t.Helper()
	c := explain.Configuration{HTTPS: "http://p.example:3128", List: explain.Written("10.0.0.0/8,<b>", "--no-proxy")}
	var targets []dialect.Target
	for _, url := range urls {
		target, err := dialect.ParseTarget(url)
		if err != nil {
			t.Fatal(err)
		}
		targets = append(targets, target)
	}
	clients := []dialect.Choice{
		client("go", []string{"kubelet", "helm"}, direct, proxy),
		client("wget", nil, proxy, proxy),
		client("<httpx>", nil, fails, proxy),
	}
	var out bytes.Buffer
	if err := page.Write(&out, page.Page{
		Subject: "Cluster <acme>/c1", Entries: c.List.Entries(), Explanations: explain.Evaluate(c, clients, targets),
	}); err != nil {
		t.Fatal(err)
	}
	tree, err := html.Parse(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), tree
}

// elements returns the elements of a name, and of a class if one is given.
func elements(tree *html.Node, name, class string) []*html.Node {
	var found []*html.Node
	for node := range tree.Descendants() {
		if node.Type == html.ElementNode && node.Data == name && (class == "" || slices.Contains(strings.Fields(attribute(node, "class")), class)) {
			found = append(found, node)
		}
	}
	return found
}

func attribute(node *html.Node, key string) string {
	for _, a := range node.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// content returns the text of an element, white space collapsed.
func content(node *html.Node) string {
	var text strings.Builder
	for n := range node.Descendants() {
		if n.Type == html.TextNode {
			text.WriteString(n.Data)
		}
	}
	return strings.Join(strings.Fields(text.String()), " ")
}

func contents(nodes []*html.Node) []string {
	var all []string
	for _, node := range nodes {
		all = append(all, content(node))
	}
	return all
}

func TestRowsAreClientsAndColumnsAreURLs(t *testing.T) {
	_, tree := written(t, "10.1.2.3", "http://a.example/x")
	for name, test := range map[string]struct {
		got  []*html.Node
		want []string
	}{
		"title":    {elements(tree, "title", ""), []string{"NO_PROXY: Cluster <acme>/c1"}},
		"verdict":  {elements(tree, "p", "verdict"), []string{"3 clients disagree on 1 of 2 URLs"}},
		"columns":  {elements(tree, "thead", "")[0:1], []string{"client https 10.1.2.3 ≠ 1 direct 1 proxy 1 fails http a.example/x 3 proxy"}},
		"clients":  {elements(tree, "span", "name"), []string{"go", "wget", "<httpx>"}},
		"built on": {elements(tree, "span", "also"), []string{"kubelet, helm"}},
		"words":    {elements(tree, "span", "word"), []string{"direct", "proxy", "proxy", "proxy", "fails", "proxy"}},
		"sentences": {elements(tree, "dd", ""), []string{
			"go goes direct because of 10.0.0.0/8; wget does not read networks in NO_PROXY and uses the proxy; <httpx> fails: it cannot read <the> list",
			"go, wget and <httpx> use the proxy: no entry matches",
		}},
		"list": {elements(tree, "ol", "entries")[0:1], []string{"10.0.0.0/8 <b>"}},
	} {
		if got := contents(test.got); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestACellSaysWhyAndWhere(t *testing.T) {
	_, tree := written(t, "10.1.2.3", "http://a.example/x")
	notes := contents(elements(tree, "span", "note"))
	if len(notes) != 6 || notes[0] != "direct: an address in this network10.0.0.0/8--no-proxy[0]" || notes[4] != "fails: it cannot read <the> list" {
		t.Errorf("%q", notes)
	}
	for _, test := range []struct {
		class string
		want  int
	}{{"direct", 1}, {"proxy", 4}, {"fails", 1}, {"agree", 3}, {"disagree", 3}} {
		if got := len(elements(tree, "td", test.class)); got != test.want {
			t.Errorf("%d cells are %s, want %d", got, test.class, test.want)
		}
	}
	for _, cell := range elements(tree, "td", "") {
		if attribute(cell, "tabindex") != "0" {
			t.Error("a note cannot be reached by keyboard")
		}
	}
}

// Whoever gets the page needs nothing else, and its text cannot become markup.
func TestThePageNeedsNothingButItself(t *testing.T) {
	text, tree := written(t, "10.1.2.3", `http://a.example/"><script>alert(1)</script>`)
	for node := range tree.Descendants() {
		if slices.Contains([]string{"script", "link", "img", "iframe", "object", "base", "form", "svg"}, node.Data) && node.Type == html.ElementNode {
			t.Errorf("there is a <%s>", node.Data)
		}
		for _, a := range node.Attr {
			if a.Key == "src" || a.Key == "href" || a.Key == "style" || strings.HasPrefix(a.Key, "on") {
				t.Errorf("<%s %s=%q>", node.Data, a.Key, a.Val)
			}
		}
	}
	style := content(elements(tree, "style", "")[0])
	for _, forbidden := range []string{"url(", "@import", "ZgotmplZ"} {
		if strings.Contains(style, forbidden) || strings.Contains(text, "ZgotmplZ") {
			t.Errorf("the style has %s", forbidden)
		}
	}
	if source, err := os.ReadFile("page.css"); err != nil || !strings.Contains(text, string(source)) {
		t.Error("the style has been changed on its way", err)
	}
}

func TestNothingToSayIsStillAPage(t *testing.T) {
	var out bytes.Buffer
	if err := page.Write(&out, page.Page{Subject: "x"}); err != nil || !strings.Contains(out.String(), "0 clients, 0 URLs: no disagreement") {
		t.Error(err, out.String())
	}
}
