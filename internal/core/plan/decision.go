package plan

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
	"github.com/fairlead-io/fairlead/noproxy/explain"
)

// Decision says how clients decide about a URL before and after a change.
type Decision struct {
	Audience string   `json:"audience"` // any: the list of pods; go: that of machines
	URL      string   `json:"url"`
	Before   string   `json:"before"` // direct, proxy or fails
	After    string   `json:"after"`
	Clients  []string `json:"clients"`
	Of       int      `json:"of"` // clients that were asked
	// Clusters are how many of the group's decide so.
	Clusters int `json:"clusters"`
}

func (d Decision) key() string {
	return d.Audience + " " + d.URL + " " + d.Before + " " + d.After + " " + strings.Join(d.Clients, ", ")
}

// clients answer for each pair of lists once, as far as the lists matter.
type clients struct {
	choices []dialect.Choice
	golang  []dialect.Choice
	asked   map[question][]Decision
	neutral map[question]bool
	without map[question][]dialect.Route
}

// environment is all that a client reads.
type environment struct{ http, https, list, java string }

// question is about two environments, or about one of one entry.
type question struct {
	was, is  environment
	audience noproxy.Audience
	urls     string
}

func newClients() *clients {
	choices, _ := explain.Choose(nil) // every client there is
	golang, _ := explain.Choose([]string{"go"})
	return &clients{choices: choices, golang: golang, asked: map[question][]Decision{}, neutral: map[question]bool{}, without: map[question][]dialect.Route{}}
}

// decisions asks about what a change is about. Of a cluster that comes or goes there is nothing to compare.
func (c *clients) decisions(was, is side, change Change) (all []Decision, left int) {
	if change.Change != Changed || was.problem != nil || is.problem != nil {
		return nil, 0
	}
	urls, left := urlsOf(change, was.effective, is.effective)
	targets := Targets(urls)
	if len(targets) == 0 {
		return nil, left
	}
	return slices.Concat(c.ask(was, is, noproxy.AudienceAny, targets, c.choices), c.ask(was, is, noproxy.AudienceGo, targets, c.golang)), left
}

// Targets returns the URLs that a client can be asked about.
func Targets(urls []string) []dialect.Target {
	var all []dialect.Target
	for _, url := range urls {
		if target, err := dialect.ParseTarget(url); err == nil {
			all = append(all, target)
		}
	}
	return all
}

func keyOf(targets []dialect.Target) string {
	urls := make([]string, len(targets))
	for i, target := range targets {
		urls[i] = target.URL
	}
	return strings.Join(urls, ", ")
}

func (c *clients) ask(was, is side, audience noproxy.Audience, targets []dialect.Target, choices []dialect.Choice) []Decision {
	q := question{audience: audience, urls: keyOf(targets)}
	q.was, q.is = c.environment(was, q, targets, choices), c.environment(is, q, targets, choices)
	if q.was == q.is {
		return nil
	}
	if known, ok := c.asked[q]; ok {
		return known
	}
	moved := q.was.http != q.is.http || q.was.https != q.is.https
	var all []Decision
	for _, choice := range choices {
		before, after := choice.Read(q.was.variables()), choice.Read(q.is.variables())
		for _, target := range targets {
			all = merged(all, Decision{
				Audience: string(audience), URL: target.URL, Before: word(before(target), moved), After: word(after(target), moved),
				Clients: []string{choice.Client.Name}, Of: len(choices),
			})
		}
	}
	slices.SortStableFunc(all, func(a, b Decision) int { return len(b.Clients) - len(a.Clients) })
	c.asked[q] = all
	return all
}

// environment returns the variables that clients read, without entries that decide nothing about these URLs: lists of two
// clusters differ, and these parts of them seldom do.
func (c *clients) environment(s side, q question, targets []dialect.Target, choices []dialect.Choice) environment {
	e := s.effective
	if q.audience == noproxy.AudienceGo {
		e = render.OnMachine(e)
	}
	list := e.NoProxy.For(q.audience)
	less := noproxy.List{elsewhere} // a list of one entry may be read in another way than a longer one
	for _, item := range list {
		if !c.isNeutral(item, q, targets, choices) {
			less = append(less, item)
		}
	}
	if len(less) < len(list) {
		list = less
	}
	return environmentOf(e, list)
}

func environmentOf(e resolve.Effective, list noproxy.List) environment {
	java, _ := noproxy.NonProxyHosts(list)
	return environment{text(e.HTTP), text(e.HTTPS), list.String(), java}
}

// elsewhere covers nothing that anybody asks about.
var elsewhere = noproxy.Item{Entry: noproxy.Entry{Kind: noproxy.Host, Name: "elsewhere.invalid"}}

// isNeutral reports whether every client decides about the URLs as it would without the entry.
func (c *clients) isNeutral(item noproxy.Item, q question, targets []dialect.Target, choices []dialect.Choice) bool {
	key := question{audience: q.audience, urls: q.urls, is: environment{list: item.Entry.String()}}
	if known, ok := c.neutral[key]; ok {
		return known
	}
	without := question{audience: q.audience, urls: q.urls}
	if c.without[without] == nil {
		c.without[without] = routes(noproxy.List{elsewhere}, targets, choices)
	}
	c.neutral[key] = slices.Equal(routes(noproxy.List{item, elsewhere}, targets, choices), c.without[without])
	return c.neutral[key]
}

// routes returns the routes of every client for every URL. Which proxy it is decides nothing.
func routes(list noproxy.List, targets []dialect.Target, choices []dialect.Choice) []dialect.Route {
	env := environmentOf(resolve.Effective{}, list)
	env.http, env.https = "http://proxy.invalid:1", "http://proxy.invalid:1"
	var all []dialect.Route
	for _, choice := range choices {
		decide := choice.Read(env.variables())
		for _, target := range targets {
			all = append(all, decide(target).Route)
		}
	}
	return all
}

func (e environment) variables() dialect.Env { return dialect.Uniform(e.http, e.https, e.list, e.java) }

// word returns a decision, with the proxy's address if the proxy changes.
func word(d dialect.Decision, moved bool) string {
	if moved && d.Route == dialect.Proxy {
		return d.Route.String() + " " + d.Hop.Address
	}
	return d.Route.String()
}

// merged adds a client that decides differently.
func merged(all []Decision, d Decision) []Decision {
	if d.Before == d.After {
		return all
	}
	at := slices.IndexFunc(all, func(o Decision) bool { return o.URL == d.URL && o.Before == d.Before && o.After == d.After })
	if at < 0 {
		return append(all, d)
	}
	all[at].Clients = append(all[at].Clients, d.Clients...)
	return all
}

// maxURLs bounds the URLs that are asked about a change of hundreds of entries.
const maxURLs = 24

// anywhere is a URL that is in no list, for changes of the proxy itself.
const anywhere = "https://example.com/"

// urlsOf are URLs that a change may decide differently, those that its entries cover, and how many of them are left out.
func urlsOf(c Change, was, is resolve.Effective) (urls []string, left int) {
	if text(was.HTTP) != text(is.HTTP) || text(was.HTTPS) != text(is.HTTPS) {
		urls = append(urls, anywhere, "http://example.com/")
	}
	if !c.whole() {
		entries := alternating(c.Comes, c.Goes)
		for _, lists := range [][2]noproxy.List{{was.NoProxy.Any, is.NoProxy.Any}, {was.NoProxy.Go, is.NoProxy.Go}} {
			entries = append(entries, alternating(less(lists[1], lists[0]), less(lists[0], lists[1]))...)
		}
		for _, e := range entries {
			urls = append(urls, urlsUnder(e.Entry)...)
		}
	}
	urls = unique(urls)
	asked := min(len(urls), maxURLs)
	return urls[:asked], len(urls) - asked
}

// alternating takes from both in turn, so that neither is left out.
func alternating(a, b []Entry) []Entry {
	var all []Entry
	for i := range max(len(a), len(b)) {
		all = append(all, a[min(i, len(a)):min(i+1, len(a))]...)
		all = append(all, b[min(i, len(b)):min(i+1, len(b))]...)
	}
	return all
}

// urlsUnder are URLs that an entry covers: a host, a host below it, an address of a network.
func urlsUnder(text string) []string {
	e, err := noproxy.Parse(text)
	if err != nil {
		return nil
	}
	name := e.Name
	if e.Rooted {
		name += "."
	}
	switch e.Kind {
	case noproxy.All:
		return []string{anywhere}
	case noproxy.Addr:
		return []string{url(literal(e.Prefix.Addr()), e.Port)}
	case noproxy.CIDR:
		return []string{url(literal(within(e.Prefix)), e.Port)}
	case noproxy.Subdomains:
		return []string{url("host."+name, e.Port)}
	default:
		return []string{url(name, e.Port), url("host."+name, e.Port)}
	}
}

// within returns an address of a network that is no other entry by itself: the first ones have a meaning.
func within(p netip.Prefix) netip.Addr {
	const inside = 20
	addr := p.Addr()
	for range inside {
		if next := addr.Next(); p.Contains(next) {
			addr = next
		}
	}
	return addr
}

func literal(a netip.Addr) string {
	if a.Is6() {
		return "[" + a.String() + "]"
	}
	return a.String()
}

func url(host string, port uint16) string {
	if port != 0 {
		host += ":" + strconv.Itoa(int(port))
	}
	return "https://" + host + "/"
}

// URLs returns the URLs that lists may decide about: two that are in none, and for each entry a host, a host below it, or an address
// of the network.
func URLs(lists ...noproxy.List) []string {
	var all []string
	for _, item := range slices.Concat(lists...) {
		all = append(all, urlsUnder(item.Entry.String())...)
	}
	return append([]string{anywhere, "http://example.com/"}, unique(all)...)
}

// unique leaves the first of equal texts.
func unique(texts []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(texts, func(text string) bool {
		again := seen[text]
		seen[text] = true
		return again
	})
}
