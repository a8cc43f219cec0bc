package explain

import (
	"net/netip"
	"strings"

	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// claim is a limitation of clients that use the proxy in spite of an entry,
// such as "read networks in NO_PROXY". Where a list and a URL are given, the
// claim holds only for clients that use the proxy there too.
type claim struct{ words, list, url string }

// of returns the words that are true of a client.
func (c claim) of(configuration Configuration, target dialect.Target, choice dialect.Choice, entry string) string {
	if configuration.alone(choice, entry, target) {
		return "find " + entry + " in this list"
	}
	if probe, err := dialect.ParseTarget(c.url); err == nil && configuration.alone(choice, c.list, probe) {
		return "take " + entry + " to cover this host"
	}
	return c.words
}

// alone reports whether a client goes direct where the list is this one entry.
func (c Configuration) alone(choice dialect.Choice, entry string, target dialect.Target) bool {
	c.List = Written(entry, "")
	return choice.Read(c.env())(target).Route == dialect.Direct
}

// claimFor returns what clients do not do that use the proxy although entry text
// covers the target. The kind of the entry tells.
func claimFor(text string, target dialect.Target) claim {
	entry, err := noproxy.Parse(text)
	switch {
	case err != nil:
		return claim{words: "read " + text + " in that way"}
	case entry.Port != 0 && target.Port == "":
		return claim{words: "take the default port for a URL's that names none"}
	case entry.Port != 0:
		return claim{"read ports in NO_PROXY", "host.example:8080", "http://host.example:8080/"}
	case entry.Kind == noproxy.All:
		return claimForAll(target)
	case entry.Kind == noproxy.CIDR:
		return claimForNetwork(text, entry, target)
	case entry.Kind == noproxy.Addr:
		return claimForAddr(text, entry, target)
	}
	return claimForName(text, entry, target)
}

func claimForAll(target dialect.Target) claim {
	if _, err := netip.ParseAddr(target.Host); err == nil {
		return claim{words: "take * to cover addresses"}
	}
	return claim{"read * in NO_PROXY", "*", "http://host.example/"}
}

func claimForNetwork(text string, entry noproxy.Entry, target dialect.Target) claim {
	switch addr, err := netip.ParseAddr(target.Host); {
	case err != nil:
		return claimForResolved(target)
	case addr.Is4In6() && entry.Prefix.Addr().Is4():
		return claim{words: "see the IPv4 address inside an IPv6 one"}
	case entry.Prefix.String() != text:
		return claim{words: "read a network that is spelled like " + text}
	case entry.Prefix.Bits() == 0:
		return claim{words: "read networks of length 0"}
	case addr.Is6():
		return claim{"read IPv6 networks in NO_PROXY", "fd12:3456::/64", "http://[fd12:3456::1]/"}
	}
	return claim{"read networks in NO_PROXY", "10.0.0.0/8", "http://10.1.2.3/"}
}

// claimForResolved is for hosts that are no address as they are written.
func claimForResolved(target dialect.Target) claim {
	if host := target.Host; host != "" && host[0] >= '0' && host[0] <= '9' && len(target.Addrs) == 0 {
		return claim{words: "read this host as an address"}
	}
	return claim{words: "resolve names before they decide"}
}

func claimForAddr(text string, entry noproxy.Entry, target dialect.Target) claim {
	addr, err := netip.ParseAddr(target.Host)
	switch {
	case err != nil:
		return claimForResolved(target)
	case addr.Is4In6() && entry.Prefix.Addr().Is4():
		return claim{words: "see the IPv4 address inside an IPv6 one"}
	case addr.WithZone("").Unmap() != entry.Prefix.Addr():
		return claim{words: "take " + text + " to cover this host"}
	case strings.HasPrefix(text, "["):
		return claim{words: "read brackets in NO_PROXY"}
	case addr.Is6() && text != target.Host:
		return claim{words: "compare IPv6 addresses by what they mean"}
	case addr.Is6():
		return claim{words: "read IPv6 addresses without brackets"}
	}
	return claim{words: "take " + text + " to cover this host"}
}

// claimForName is claimFor for an entry that is a name. The claim names the first
// way in which entry and host differ.
func claimForName(text string, entry noproxy.Entry, target dialect.Target) claim {
	host := strings.ToLower(target.Host)
	name, rooted := strings.CutSuffix(host, ".")
	below, same := strings.HasSuffix(name, "."+entry.Name), name == entry.Name
	switch {
	case !isASCII(text) || !isASCII(host):
		return claim{words: "compare internationalized names by their ASCII form"}
	case len(target.Addrs) > 0 && !same && !below:
		return claimForResolved(target)
	case !same && !below:
		return claim{words: "let an entry match the end of a longer name"}
	case rooted != entry.Rooted:
		return claim{words: "ignore the final dot of a name"}
	case host != target.Host || strings.ToLower(text) != text:
		return claim{words: "ignore upper and lower case"}
	case strings.HasPrefix(text, "*"):
		return claim{words: "read wildcards in NO_PROXY"}
	case entry.Kind == noproxy.Domain && below:
		return claim{words: "take " + text + " to cover names below it"}
	case entry.Kind == noproxy.Subdomains && same:
		return claim{words: "take " + text + " to cover " + entry.Name + " itself"}
	}
	return claim{words: "take " + text + " to cover this host"}
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > 0x7f })
}
