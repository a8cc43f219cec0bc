package noproxy

import (
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Networks outside these are public. In them a tenant may list any network;
// of the public address space only networks that are too small to add up to
// everything within the length of one list.
var privateNetworks = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"),     // RFC 1918
	netip.MustParsePrefix("172.16.0.0/12"),  // RFC 1918
	netip.MustParsePrefix("192.168.0.0/16"), // RFC 1918
	netip.MustParsePrefix("100.64.0.0/10"),  // RFC 6598
	netip.MustParsePrefix("169.254.0.0/16"), // RFC 3927
	netip.MustParsePrefix("127.0.0.0/8"),    // RFC 1122
	netip.MustParsePrefix("fc00::/7"),       // RFC 4193
	netip.MustParsePrefix("fe80::/10"),      // RFC 4291
}

const (
	narrowestPublic4 = 16
	narrowestPublic6 = 32
)

// TooBroad says why an entry opens more than a tenant can be trusted with, or
// returns "": everything, a public suffix (publicsuffix.org), or a network of
// the public address space wider than /16 (IPv6: /32). A Host is written like a Domain, and most clients read it as one; it is too
// broad only where a registry of the Internet (ICANN's part of the list) has the suffix, since some companies' suffixes are hosts.
func TooBroad(e Entry) string {
	switch e.Kind {
	case All:
		return "covers everything"
	case CIDR:
		return broadPrefix(e.Prefix)
	case Host, Domain, Subdomains:
		suffix, icann := publicsuffix.PublicSuffix(e.Name)
		// Without a dot and outside the list it is a private top-level name.
		if suffix == e.Name && (icann || e.Kind != Host && strings.Contains(suffix, ".")) {
			return "is a public suffix, under which anyone can register names"
		}
	}
	return ""
}

// embeddings are where IPv6 has all of IPv4 in its last 32 bits.
var embeddings = []struct {
	prefix netip.Prefix
	how    string
}{
	{netip.MustParsePrefix("64:ff9b::/96"), "through NAT64"},              // RFC 6052
	{netip.MustParsePrefix("64:ff9b:1::/48"), "through a NAT64 in it"},    // RFC 8215: every /96 may be one
	{netip.MustParsePrefix("::ffff:0:0/96"), "as mapped addresses"},       // RFC 4291, 2.5.5.2
	{netip.MustParsePrefix("::/96"), "as IPv4-compatible addresses"},      // RFC 4291, 2.5.5.1
	{netip.MustParsePrefix("::ffff:0:0:0/96"), "as translated addresses"}, // RFC 2765
}

// embedded is how many bits stand in front of the IPv4 address.
const embedded = 96

func broadPrefix(p netip.Prefix) string {
	for _, e := range embeddings {
		if !p.Addr().Is6() || !e.prefix.Overlaps(p) {
			continue
		}
		if p.Bits() <= embedded {
			return "covers all of IPv4 " + e.how
		}
		v6 := p.Addr().As16()
		p = netip.PrefixFrom(netip.AddrFrom4([4]byte(v6[12:])), p.Bits()-embedded)
	}
	for _, private := range privateNetworks {
		if private.Bits() <= p.Bits() && private.Contains(p.Addr()) {
			return ""
		}
	}
	if p.Addr().Is4() && p.Bits() >= narrowestPublic4 || p.Addr().Is6() && p.Bits() >= narrowestPublic6 {
		return ""
	}
	return "covers a large part of the public address space"
}
