package noproxy

import (
	"net/netip"
	"strings"
)

// NonProxyHosts writes a list as the value of Java's system property
// http.nonProxyHosts, which is for http and https URLs: patterns with a "*" at
// one end, joined by "|". What has no such pattern comes back as omitted: a
// port, and a network that does not end at a dot of the address. Addresses of
// one are listed by Portable beside it.
//
// Source: openjdk/jdk src/java.base/share/classes/sun/net/spi/DefaultProxySelector.java.
// Java compares IPv6 addresses as text, so they are written in both spellings
// that its own classes produce.
func NonProxyHosts(list List) (value string, omitted List) {
	var patterns []string
	written := map[string]bool{}
	for _, item := range list {
		found := javaPatterns(item.Entry)
		if found == nil {
			omitted = append(omitted, item)
		}
		for _, pattern := range found {
			if !written[pattern] {
				written[pattern] = true
				patterns = append(patterns, pattern)
			}
		}
	}
	return strings.Join(patterns, "|"), omitted
}

func javaPatterns(e Entry) []string {
	if e.Port != 0 {
		return nil
	}
	name := e.Name
	if e.Rooted {
		name += "."
	}
	switch e.Kind {
	case All:
		return []string{"*"}
	case Host:
		return []string{name}
	case Domain:
		return []string{name, "*." + name}
	case Subdomains:
		return []string{"*." + name}
	case Addr:
		return javaAddr(e.Prefix.Addr())
	}
	return javaNetwork(e.Prefix)
}

func javaAddr(addr netip.Addr) []string {
	if addr.Is4() {
		return []string{addr.String()}
	}
	short, long := "["+addr.String()+"]", "["+javaIPv6(addr)+"]"
	if short == long {
		return []string{short}
	}
	return []string{short, long}
}

// javaIPv6 is java.net.Inet6Address.getHostAddress: eight groups, none left out.
func javaIPv6(addr netip.Addr) string {
	groups := strings.Split(addr.StringExpanded(), ":")
	for i, group := range groups {
		if groups[i] = strings.TrimLeft(group, "0"); groups[i] == "" {
			groups[i] = "0"
		}
	}
	return strings.Join(groups, ":")
}

// javaNetwork is for IPv4 networks of whole bytes.
func javaNetwork(p netip.Prefix) []string {
	if !p.Addr().Is4() || p.Bits() == 0 || p.Bits()%8 != 0 {
		return nil
	}
	bytes := strings.Split(p.Addr().String(), ".")
	return []string{strings.Join(bytes[:p.Bits()/8], ".") + ".*"}
}
