package egress

import (
	"encoding/binary"
	"net/netip"
	"slices"
)

// metadata has the addresses at which clouds hand out credentials, beside the link-local ones.
var metadata = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"), // AWS, Azure, Google, OpenStack
	netip.MustParseAddr("169.254.170.2"),   // ECS
	netip.MustParseAddr("169.254.170.23"),  // EKS Pod Identity
	netip.MustParseAddr("168.63.129.16"),   // Azure's wire server
	netip.MustParseAddr("100.100.100.200"), // Alibaba
	netip.MustParseAddr("fd00:ec2::254"),   // AWS
	netip.MustParseAddr("fd00:ec2::23"),    // EKS Pod Identity
	netip.MustParseAddr("fd20:ce::254"),    // Google
}

// Prefixes whose addresses lead to an IPv4 address that stands in them, with the byte where it begins.
var translated = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},   // NAT64, RFC 6052
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12}, // NAT64, RFC 8215, with a prefix of 96 bits in it
	{netip.MustParsePrefix("2002::/16"), 2},       // 6to4, RFC 3056
	{netip.MustParsePrefix("::/96"), 12},          // IPv4-compatible, RFC 4291
}

var teredo = netip.MustParsePrefix("2001::/32") // RFC 4380: the address stands inverted in its end

// plain returns the address that a packet reaches in the end, as far as the address itself tells.
func plain(addr netip.Addr) netip.Addr {
	addr = addr.Unmap()
	if addr.Is4() {
		return addr
	}
	bytes := addr.As16()
	if teredo.Contains(addr) {
		var inverted [4]byte
		binary.BigEndian.PutUint32(inverted[:], ^binary.BigEndian.Uint32(bytes[12:]))
		return netip.AddrFrom4(inverted)
	}
	for _, t := range translated {
		if t.prefix.Contains(addr) && addr != netip.IPv6Loopback() && addr != netip.IPv6Unspecified() {
			return netip.AddrFrom4([4]byte(bytes[t.at : t.at+4]))
		}
	}
	return addr
}

// CheckAddress refuses an address to which nobody may connect through a relay, whatever its configuration allows: who
// reaches the relay would reach what the relay reaches. Denied are further networks: nodes, the API server.
func CheckAddress(addr netip.Addr, denied []netip.Prefix) *Refusal {
	addr = plain(addr)
	switch {
	case slices.Contains(metadata, addr):
		return refuse(Metadata, "%s is a metadata service: no relay leads there", addr)
	case addr.IsLoopback():
		return refuse(Loopback, "%s is the loopback interface of whoever connects: no relay leads there", addr)
	case addr.IsLinkLocalUnicast():
		return refuse(LinkLocal, "%s is a link-local address: no relay leads there", addr)
	case addr.IsMulticast(), addr.IsUnspecified(), addr.Is4() && addr.As4()[0] == 0, addr.Is4() && addr.As4()[0] >= 240:
		return refuse(Special, "%s is the address of no host", addr)
	case slices.ContainsFunc(denied, func(p netip.Prefix) bool { return p.Contains(addr) }):
		return refuse(Denied, "%s is in a network that the relay's configuration denies", addr)
	}
	return nil
}
