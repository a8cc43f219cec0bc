package lint

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// probe is a request that an entry implies.
type probe struct {
	url    string
	direct bool // how it should go
	code   Code // what it is, if a client decides otherwise
}

// probes returns the requests that tell whether a client reads an entry as it
// is meant. A host's subdomains are not among them: no spelling excludes them.
// Nor are those of a name without a dot, such as a Service's, that is no domain.
func probes(e noproxy.Entry, listed noproxy.List) []probe {
	port, other, unread := "", ":8081", Unmatched
	if e.Port != 0 {
		port, unread = fmt.Sprintf(":%d", e.Port), Port
	}
	if port == other {
		other = ":8082"
	}
	name := e.Name
	if e.Rooted {
		name += "."
	}
	var found []probe
	add := func(host, port string, direct bool, code Code) {
		found = append(found, probe{"http://" + host + port + "/", direct, code})
	}
	switch e.Kind {
	case noproxy.All:
		add("any.example", "", true, Wildcard)
		return found
	case noproxy.Host:
		add(name, port, true, unread)
	case noproxy.Domain:
		add(name, port, true, unread)
		if strings.Contains(e.Name, ".") || slices.Contains(topLevel, e.Name) {
			add("a."+name, port, true, unread)
			add("a."+e.Name+".", port, true, FinalDot)
			add("x"+name, port, false, OverMatch)
		}
	case noproxy.Subdomains:
		add("a."+name, port, true, unread)
		add("a."+e.Name+".", port, true, FinalDot)
		add(name, port, false, Apex)
		add("x"+name, port, false, OverMatch)
	case noproxy.Addr:
		addr := e.Prefix.Addr()
		if addr.Is6() && e.Port == 0 {
			unread = IPv6Address
		}
		add(hostOf(addr), port, true, unread)
		if wider, err := netip.ParseAddr("1" + addr.String()); err == nil && addr.Is4() {
			add(wider.String(), port, false, OverMatch)
		}
	case noproxy.CIDR:
		if member, ok := unlisted(e.Prefix, listed); ok {
			code := NetworkMembers
			if member.Is6() {
				code = IPv6Network
			}
			add(hostOf(member), "", true, code)
		}
	}
	if e.Port != 0 && e.Kind != noproxy.CIDR {
		host := strings.TrimSuffix(strings.TrimPrefix(found[0].url, "http://"), port+"/")
		add(host, other, false, Port)
	}
	return found
}

// topLevel are names without a dot that have others below them: of clusters, and of private networks (RFC 6762, sections 3
// and appendix G). Those of the internet are TooBroad.
var topLevel = []string{"svc", "local", "intranet", "internal", "private", "corp", "home", "lan"}

// unlisted returns an address of a network that is not listed on its own.
func unlisted(p netip.Prefix, listed noproxy.List) (netip.Addr, bool) {
	addr := p.Addr()
	for range 300 {
		if addr = addr.Next(); !p.Contains(addr) {
			break
		}
		if !slices.ContainsFunc(listed, func(item noproxy.Item) bool {
			return item.Entry.Kind == noproxy.Addr && item.Entry.Prefix.Addr() == addr
		}) {
			return addr, true
		}
	}
	return netip.Addr{}, false
}

func hostOf(addr netip.Addr) string {
	if addr.Is6() {
		return "[" + addr.String() + "]"
	}
	return addr.String()
}

// reader is a client that has read the list.
type reader struct {
	choice dialect.Choice
	decide dialect.Decider
}

const anyProxy = "http://proxy.example:3128"

// readers reads a list by every client in every behaviour. Java reads what the
// list means in its own language.
func readers(list string, entries noproxy.List, today bool) []reader {
	hosts, _ := noproxy.NonProxyHosts(entries)
	env := dialect.Uniform(anyProxy, anyProxy, list, hosts)
	var all []reader
	for _, choice := range choices() {
		if !today || choice.Since == choice.Client.Newest().Since {
			all = append(all, reader{choice, choice.Read(env)})
		}
	}
	return all
}

// choices are the clients, in every behaviour, that use a proxy of the
// environment and go direct to a host that the list names: some releases read
// no proxy, some no list, and some ask about what the name resolves to.
var choices = sync.OnceValue(func() []dialect.Choice {
	target, _ := dialect.ParseTarget("http://any.example/")
	proxied, listed := dialect.Uniform(anyProxy, anyProxy, "", ""), dialect.Uniform(anyProxy, anyProxy, "any.example", "any.example")
	return slices.DeleteFunc(dialect.All(), func(c dialect.Choice) bool {
		return c.Read(proxied)(target).Route != dialect.Proxy || c.Read(listed)(target).Route != dialect.Direct
	})
})
