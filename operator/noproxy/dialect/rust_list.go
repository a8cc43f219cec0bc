package dialect

import (
	"net/netip"
	"strings"
)

// host: NoProxy of hyper-util holds addresses and names apart, so that a name,
// even "*", never covers an address.
func (r rustRules) host(t Target) (host, string) {
	if _, ok := parseRustURI(t.URL); !ok {
		return host{}, invalidURL
	}
	h := host{name: r.fold(t.Host), addr: literal(t.Host)}
	if h.addr.Zone() != "" {
		h.addr = netip.Addr{}
	}
	return h, ""
}

func (r rustRules) fold(name string) string {
	if r.foldCase {
		return asciiLower(name)
	}
	return name
}

func (r rustRules) entry(text string) (entry, bool) {
	e := entry{text: r.fold(text)}
	if network, ok := parseIPNet(text); ok {
		e.network = network
	} else if addr := literal(text); addr.IsValid() && addr.Zone() == "" {
		e.network, e.address = netip.PrefixFrom(addr, addr.BitLen()), true
	}
	return e, true
}

func rustCovers(e *entry, h host) string {
	switch {
	case e.network.IsValid() != h.addr.IsValid():
		return ""
	case e.network.IsValid():
		return e.contains(h)
	case e.text == "*" && h.name != "*":
		return everyName
	}
	return (exactly | bare | dotted | below).covers(e.text, h.name)
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
