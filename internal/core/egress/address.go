package egress

import (
	"encoding/binary"
	"net/netip"
	"slices"
)

// metadata has the addresses at which clouds hand out credentials, beside the link-local ones.
var metadata = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"),    // AWS, Azure, Google, OpenStack
	netip.MustParseAddr("169.254.170.2"),      // ECS
	netip.MustParseAddr("169.254.170.23"),     // EKS Pod Identity
	netip.MustParseAddr("168.63.129.16"),      // Azure's wire server
	netip.MustParseAddr("100.100.100.200"),    // Alibaba
	netip.MustParseAddr("192.0.0.192"),        // Oracle
	netip.MustParseAddr("fd00:c1::a9fe:a9fe"), // Oracle
	netip.MustParseAddr("fd00:ec2::254"),      // AWS
	netip.MustParseAddr("fd00:ec2::23"),       // EKS Pod Identity
	netip.MustParseAddr("fd20:ce::254"),       // Google
}

// Prefixes whose addresses end with the IPv4 address to which they lead.
var translated = []netip.Prefix{
	netip.MustParsePrefix("64:ff9b::/96"),    // NAT64, RFC 6052
	netip.MustParsePrefix("::ffff:0:0:0/96"), // SIIT, RFC 2765
	netip.MustParsePrefix("::/96"),           // IPv4-compatible, RFC 4291
}

var (
	sixToFour = netip.MustParsePrefix("2002::/16")      // RFC 3056
	teredo    = netip.MustParsePrefix("2001::/32")      // RFC 4380: the address stands inverted in its end
	local     = netip.MustParsePrefix("64:ff9b:1::/48") // RFC 8215: NAT64 with a prefix of 48 to 96 bits in it
)

// reached returns the addresses that a packet may reach in the end, as far as the address itself tells.
func reached(addr netip.Addr) []netip.Addr {
	addr = addr.Unmap()
	bytes := addr.As16()
	inner := func(at ...int) netip.Addr {
		return netip.AddrFrom4([4]byte{bytes[at[0]], bytes[at[1]], bytes[at[2]], bytes[at[3]]})
	}
	contains := func(p netip.Prefix) bool { return p.Contains(addr) }
	switch {
	case addr.Is4(), addr == netip.IPv6Loopback(), addr == netip.IPv6Unspecified():
		return []netip.Addr{addr}
	case teredo.Contains(addr):
		var inverted [4]byte
		binary.BigEndian.PutUint32(inverted[:], ^binary.BigEndian.Uint32(bytes[12:]))
		return []netip.Addr{addr, netip.AddrFrom4(inverted)}
	case sixToFour.Contains(addr):
		return []netip.Addr{addr, inner(2, 3, 4, 5)}
	case slices.ContainsFunc(translated, contains):
		return []netip.Addr{addr, inner(12, 13, 14, 15)}
	case !local.Contains(addr):
		return []netip.Addr{addr}
	}
	// RFC 6052, section 2.2: byte 8 is 0, and what is behind the IPv4 address, too. Nobody knows how long the prefix is.
	all := []netip.Addr{addr}
	zeros := func(from int) bool {
		return bytes[8] == 0 && !slices.ContainsFunc(bytes[from:], func(b byte) bool { return b != 0 })
	}
	for _, form := range []struct {
		is bool
		at []int
	}{
		{zeros(11), []int{6, 7, 9, 10}},
		{zeros(12), []int{7, 9, 10, 11}},
		{zeros(13), []int{9, 10, 11, 12}},
		{!zeros(13) || !slices.ContainsFunc(bytes[6:12], func(b byte) bool { return b != 0 }), []int{12, 13, 14, 15}},
	} {
		if found := inner(form.at...); form.is && !found.IsUnspecified() {
			all = append(all, found)
		}
	}
	return all
}

// CheckAddress refuses an address to which nobody may connect through a relay, whatever its configuration allows: who
// reaches the relay would reach what the relay reaches. Denied are further networks: nodes, the API server.
func CheckAddress(addr netip.Addr, denied []netip.Prefix) *Refusal {
	for _, each := range reached(addr) {
		if refusal := checkAddress(each, denied); refusal != nil {
			return refusal
		}
	}
	return nil
}

func checkAddress(addr netip.Addr, denied []netip.Prefix) *Refusal {
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
