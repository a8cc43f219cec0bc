package dialect

import (
	"net/netip"
	"strings"
)

// rustList is NoProxy of hyper-util: addresses and names are apart, so that a
// name, even "*", never covers an address.
type rustList struct {
	foldCase bool
	networks []rustNetwork
	names    []rustName
}

type rustNetwork struct {
	span    Span
	network netip.Prefix
	single  bool
}

type rustName struct {
	span Span
	text string
}

func readRustList(list string, foldCase bool) rustList {
	l := rustList{foldCase: foldCase}
	for _, span := range elements(list) {
		trimmed := strings.TrimSpace(span.Of(list))
		span.Start += strings.Index(span.Of(list), trimmed)
		span.End = span.Start + len(trimmed)
		network, ok := parseIPNet(trimmed)
		addr := literal(trimmed)
		switch {
		case ok:
			l.networks = append(l.networks, rustNetwork{span, network, false})
		case addr.IsValid() && addr.Zone() == "":
			l.networks = append(l.networks, rustNetwork{span, netip.PrefixFrom(addr, addr.BitLen()), true})
		case trimmed != "":
			l.names = append(l.names, rustName{span, trimmed})
		}
	}
	return l
}

// parseIPNet is the parser of the ipnet crate: at most two digits of length for
// IPv4 and three for IPv6, and zeros in front of IPv4 octets are allowed.
func parseIPNet(text string) (netip.Prefix, bool) {
	base, length, found := strings.Cut(text, "/")
	digits := 2
	if strings.Contains(base, ":") {
		digits = 3
	} else {
		base = trimOctets(base)
	}
	addr := literal(base)
	bits := portNumber(length)
	if !found || !addr.IsValid() || addr.Zone() != "" || !isDigits(length) || len(length) > digits || bits > addr.BitLen() {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(addr, bits), true
}

// trimOctets takes zeros off the front of octets that have up to three digits.
func trimOctets(text string) string {
	octets := strings.Split(text, ".")
	for i, octet := range octets {
		for len(octet) <= 3 && len(octet) > 1 && octet[0] == '0' {
			octet = octet[1:]
		}
		octets[i] = octet
	}
	return strings.Join(octets, ".")
}

func (l rustList) match(host string) (Span, string, bool) {
	addr := literal(host)
	if !addr.IsValid() || addr.Zone() != "" {
		return l.matchName(host)
	}
	for i := range l.networks {
		n := &l.networks[i]
		if n.single && n.network.Addr() == addr {
			return n.span, theAddress, true
		}
		if !n.single && n.network.Contains(addr) {
			return n.span, inNetwork, true
		}
	}
	return Span{}, "", false
}

func (l rustList) matchName(host string) (Span, string, bool) {
	for i := range l.names {
		n := &l.names[i]
		bare, dotted := strings.CutPrefix(n.text, ".")
		before := len(host) - len(n.text)
		switch {
		case l.equal(bare, host), l.equal(n.text, host):
			return n.span, theName, true
		case n.text == "*":
			return n.span, everyName, true
		case before > 0 && l.equal(host[before:], n.text) && (dotted || host[before-1] == '.'):
			return n.span, belowName, true
		}
	}
	return Span{}, "", false
}

func (l rustList) equal(a, b string) bool {
	if !l.foldCase {
		return a == b
	}
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lowerASCII(a[i]) != lowerASCII(b[i]) {
			return false
		}
	}
	return true
}

func lowerASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
