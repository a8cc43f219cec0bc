package dialect

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// rules are a client as a row: where its settings are, how it reads them, and
// in which order it decides. What is truly its own is a function in the row.
//
// A new client is a [Client] whose Read is the method read of a row:
//
//	rules{
//		find: Env.set, http: "http_proxy", https: "https_proxy http_proxy", no: "no_proxy",
//		readProxy: aptURL.read, listFirst: true,
//		host: func(t Target) (host, string) { return named(asciiLower(t.Host)) },
//		cut:  commas(nothing), entry: folded(asciiLower), names: exactly | ends,
//	}.read
type rules struct {
	// Where the settings are: the names, the one that wins first, with blanks
	// between them; and what counts as found, Env.set or Env.nonEmpty.
	http, https, no string
	find            func(Env, ...string) variable
	findProxy       func(Env, ...string) variable // nil: find

	// readProxy reads a proxy variable that is not empty, for the URLs of a scheme.
	readProxy func(v variable, scheme string) proxy

	// host is the host of a URL as it is compared, or why the URL fails.
	host func(Target) (h host, failure string)

	// The list: how it is cut, how an entry is read (nil: as it is written), and
	// what the entry covers, by its name and network or in another way.
	cut    func(list string) []Span
	entry  func(text string) (e entry, ok bool)
	names  match
	covers func(e *entry, h host) string

	// The order.
	listFirst    bool            // the list is asked even where no proxy is used
	networksLast bool            // every name comes before the first network
	loopback     func(host) bool // these go direct whatever the list says
}

// host is the form of a host in which a client compares it with its list.
type host struct {
	name string     // in the client's own form
	addr netip.Addr // what it is, or resolves to, if that counts
	port string

	withPort   string // the name and the port, where these are compared together
	proxyOnly  bool   // the client cannot look it up
	directOnly bool   // the client cannot ask a proxy for it
	asAddress  bool   // a SOCKS proxy is asked for it as an address
}

// named is a host that is nothing but its name.
func named(name string) (host, string) { return host{name: name}, "" }

// entry is an entry of a list, read.
type entry struct {
	span     Span
	text     string       // as it is compared
	port     string       // empty: every port
	network  netip.Prefix // not valid: none
	address  bool         // which is written as a single address
	wildcard bool         // a star or, for curl, a dot stood in front
	last     bool         // nothing follows it in the list, not even a blank
	loopback bool         // it is a loopback host, if that counts
}

// folded is an entry that is compared as text, after something is done to it.
func folded(fold func(string) string) func(string) (entry, bool) {
	return func(text string) (entry, bool) { return entry{text: fold(text)}, true }
}

// match says what an entry covers by its name. The first that fits is the reason.
type match uint8

const (
	star    match = 1 << iota // "*" alone is everything
	exactly                   // d is d
	bare                      // .d is d, too
	dotted                    // .d is what ends with it
	below                     // d is what ends with .d
	ends                      // d is every end, without regard to dots
)

// covers returns the reason why an entry covers a name, or nothing.
func (m match) covers(entry, name string) string {
	if m&star != 0 && entry == "*" {
		return everything
	}
	dot := entry != "" && entry[0] == '.'
	if !strings.HasSuffix(name, entry) { // most entries
		if m&bare != 0 && dot && entry[1:] == name {
			return theName
		}
		return ""
	}
	above := name[:len(name)-len(entry)]
	switch {
	case m&exactly != 0 && above == "":
		return theName
	case m&dotted != 0 && dot, m&below != 0 && strings.HasSuffix(above, "."):
		return belowName
	case m&ends != 0 && entry == "":
		return everything
	case m&ends != 0:
		return endsWith
	}
	return ""
}

// hasDomain reports whether a name ends with a dot and the domain.
func hasDomain(name, domain string) bool {
	above, ok := strings.CutSuffix(name, domain)
	return ok && strings.HasSuffix(above, ".")
}

// proxy is a proxy variable as a client reads it.
type proxy struct {
	variable
	ignored string // why requests go direct all the same
	over    string // the name of another variable that is used in its place
	fatal   string // why they fail, whatever the list says
	failure string // why they fail, once the proxy is needed
	hop     Hop
}

// decide is the decision where no entry matches.
func (p proxy) decide() Decision {
	switch {
	case p.name == "":
		return direct("", Span{}, noVariable)
	case p.ignored != "":
		return direct(p.name, Span{}, p.ignored)
	case p.fatal == NotJudged:
		return depends(p.name, NotJudged)
	case p.fatal != "":
		return fails(p.name, p.fatal)
	case p.failure != "":
		return fails(cmp.Or(p.over, p.name), p.failure)
	}
	return proxied(cmp.Or(p.over, p.name), p.hop)
}

// list is a list as a client reads it.
type list struct {
	variable
	entries []entry
	covers  func(e *entry, h host) string
	see     func(host) host // how this list sees a host, if in a way of its own
	// compiled asks a list of another kind instead.
	compiled func(host) (Span, string, bool)
}

// read is the client with its environment read: a Behaviour's Read.
func (r rules) read(env Env) Decider {
	return r.decider(r.proxies(env), r.readList(r.find(env, strings.Fields(r.no)...)))
}

// proxies are the proxies by the scheme of the URL.
func (r rules) proxies(env Env) map[string]proxy {
	find := r.findProxy
	if find == nil {
		find = r.find
	}
	return map[string]proxy{
		"http":  r.proxyOf(find(env, strings.Fields(r.http)...), "http"),
		"https": r.proxyOf(find(env, strings.Fields(r.https)...), "https"),
	}
}

// proxyOf: an empty variable that was found turns the proxy off.
func (r rules) proxyOf(v variable, scheme string) proxy {
	switch {
	case v.name == "":
		return proxy{}
	case v.value == "":
		return proxy{variable: v, ignored: proxyOff}
	}
	p := r.readProxy(v, scheme)
	p.variable = v
	return p
}

// because returns a decider that words the decisions of a route in another way, except
// those of an entry.
func (d Decider) because(route Route, reason string) Decider {
	return func(t Target) Decision {
		decision := d(t)
		if decision.Route == route && decision.Entry.Empty() {
			decision.Reason = reason
		}
		return decision
	}
}

// always is a client that decides the same whatever the URL.
func always(d Decision) Decider { return func(Target) Decision { return d } }

// decider decides by the proxy of each scheme and by the lists, in their order.
func (r rules) decider(proxies map[string]proxy, lists ...list) Decider {
	return func(t Target) Decision {
		h, failure := r.host(t)
		if failure != "" {
			return fails("", failure)
		}
		decision := r.decide(h, proxies[t.Scheme], lists)
		if decision.Route == Direct && h.proxyOnly {
			return fails("", unsendableHost)
		}
		return decision
	}
}

func (r rules) decide(h host, p proxy, lists []list) Decision {
	used := p.name != "" && p.ignored == ""
	if p.fatal != "" || !r.listFirst && !used {
		return p.decide()
	}
	if r.loopback != nil && r.loopback(h) {
		return direct("", Span{}, loopback)
	}
	for i := range lists {
		if entry, reason, ok := lists[i].match(h); ok {
			return direct(lists[i].name, entry, reason)
		}
	}
	if used && h.directOnly {
		return fails(p.name, unsendableHost)
	}
	if p.hop.Protocol == Socks5Name && h.asAddress {
		p.hop.Protocol = Socks5Local
	}
	return p.decide()
}

// readList reads a list once, for all URLs.
func (r rules) readList(v variable) list {
	if r.entry == nil {
		r.entry = folded(func(text string) string { return text })
	}
	if r.covers == nil {
		r.covers = func(e *entry, h host) string {
			if reason := r.names.covers(e.text, h.name); reason != "" {
				return reason
			}
			return e.contains(h)
		}
	}
	l := list{variable: v, covers: r.covers}
	for _, span := range r.cut(v.value) {
		if e, ok := r.entry(span.Of(v.value)); ok {
			e.span, e.last = span, span.End == len(v.value)
			l.entries = append(l.entries, e)
		}
	}
	if r.networksLast {
		slices.SortStableFunc(l.entries, func(a, b entry) int {
			return cmp.Compare(min(a.network.Bits(), 0), min(b.network.Bits(), 0)) // a name has -1
		})
	}
	return l
}

// contains returns the reason why a network covers an address, or nothing. An
// address is a network of its own.
func (e *entry) contains(h host) string {
	switch {
	case !e.network.IsValid() || !e.network.Contains(h.addr):
		return ""
	case e.address:
		return theAddress
	}
	return inNetwork
}

// match returns the first entry that covers a host.
func (l *list) match(h host) (Span, string, bool) {
	if l.compiled != nil {
		return l.compiled(h)
	}
	if l.see != nil {
		h = l.see(h)
	}
	for i := range l.entries {
		e := &l.entries[i]
		if e.port != "" && e.port != h.port {
			continue
		}
		if reason := l.covers(e, h); reason != "" {
			return e.span, reason, true
		}
	}
	return Span{}, "", false
}

// The ways to cut a list.

// commas cuts at commas, trims the characters of the set, and drops empty elements.
func commas(trimmed func(rune) bool) func(string) []Span {
	return func(list string) []Span {
		spans := elements(list)
		for i := range spans {
			spans[i] = spans[i].trimFunc(list, trimmed)
		}
		return slices.DeleteFunc(spans, Span.Empty)
	}
}

// elementsOf keeps empty elements, but a list without any character has none.
func elementsOf(list string) []Span {
	if list == "" {
		return nil
	}
	return elements(list)
}

// nothing trims no character.
func nothing(rune) bool { return false }

func blank(r rune) bool { return r == ' ' }

// cSpace is isspace of C.
func cSpace(r rune) bool { return r == ' ' || r >= '\t' && r <= '\r' }
