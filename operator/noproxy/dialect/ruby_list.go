package dialect

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// rubyList is a NO_PROXY list as URI::Generic.use_proxy? reads it: anything but
// colons, commas and white space is an entry, with or without a port. IPv6
// addresses and networks fall apart at their colons.
type rubyList struct{ entries []rubyEntry }

type rubyEntry struct {
	span    Span
	name    string       // in lower case
	network netip.Prefix // of IPv4, if the entry is an address or network
	port    string       // without leading zeros; empty: every port
	anyPort bool
	mapped  bool // IPv4-mapped addresses are IPv4 addresses
}

var rubyEntries = regexp.MustCompile(`([^:,\s\v]+)(?::([0-9]+))?`)

func compileRuby(noProxy string, oldIPAddr bool) *rubyList {
	l := &rubyList{}
	for _, at := range rubyEntries.FindAllStringSubmatchIndex(noProxy, -1) {
		host := noProxy[at[2]:at[3]]
		entry := rubyEntry{span: Span{at[0], at[1]}, name: strings.ToLower(host), anyPort: at[4] < 0, mapped: oldIPAddr}
		if !entry.anyPort {
			entry.port = strings.TrimLeft(noProxy[at[4]:at[5]], "0")
		}
		entry.network, _ = rubyIPAddr(host, oldIPAddr)
		l.entries = append(l.entries, entry)
	}
	return l
}

func (l *rubyList) match(host string, addr netip.Addr, port string) (Span, string, bool) {
	port = strings.TrimLeft(port, "0")
	for i := range l.entries {
		e := &l.entries[i]
		if !e.anyPort && e.port != port {
			continue
		}
		if reason := e.covers(host, addr); reason != "" {
			return e.span, reason, true
		}
	}
	return Span{}, "", false
}

// covers returns the reason why an entry covers a host, or nothing.
func (e *rubyEntry) covers(host string, addr netip.Addr) string {
	switch {
	case strings.HasPrefix(e.name, "."):
		if strings.HasSuffix(host, e.name) {
			return belowName
		}
	case e.name == host:
		return theName
	case hasDomain(host, e.name):
		return belowName
	}
	if e.mapped {
		addr = addr.Unmap()
	}
	switch {
	case !e.network.IsValid() || !addr.IsValid() || !e.network.Contains(addr):
		return ""
	case e.network.Bits() == 32:
		return theAddress
	}
	return inNetwork
}

// rubyIPAddr is IPAddr.new for IPv4, the only kind that an entry can hold: a
// length or a netmask may follow.
func rubyIPAddr(text string, old bool) (netip.Prefix, bool) {
	left, mask, found := strings.Cut(text, "/")
	addr, err := netip.ParseAddr(left)
	if err != nil || !addr.Is4() {
		return netip.Prefix{}, false
	}
	if old { // split drops what follows a second slash, and an empty length
		mask, _, _ = strings.Cut(mask, "/")
		found = mask != ""
	}
	if !found {
		return netip.PrefixFrom(addr, 32), true
	}
	if netmask, err := netip.ParseAddr(mask); err == nil && netmask.Is4() {
		return rubyNetmask(addr, netmask)
	}
	bits, err := strconv.ParseUint(mask, 10, 16)
	if err != nil || bits > 32 || !old && len(mask) > 1 && mask[0] == '0' {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(addr, int(bits)).Masked(), true
}

// rubyNetmask makes a prefix of a netmask whose ones are all in front.
func rubyNetmask(addr, netmask netip.Addr) (netip.Prefix, bool) {
	var mask uint32
	for _, b := range netmask.As4() {
		mask = mask<<8 | uint32(b)
	}
	bits := 0
	for mask<<bits>>31 == 1 {
		bits++
	}
	if mask<<bits != 0 {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(addr, bits).Masked(), true
}
