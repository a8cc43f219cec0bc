package dialect

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

var rubyEntries = regexp.MustCompile(`[^:,\s\v]+(?::[0-9]+)?`)

// cutRuby is the pattern of URI::Generic.use_proxy?: anything but colons, commas
// and white space is an entry, with or without a port. IPv6 addresses and
// networks fall apart at their colons.
func cutRuby(list string) []Span {
	var spans []Span
	for _, at := range rubyEntries.FindAllStringIndex(list, -1) {
		spans = append(spans, Span{at[0], at[1]})
	}
	return spans
}

func (r rubyRules) entry(text string) (entry, bool) {
	name, port, _ := strings.Cut(text, ":")
	e := entry{text: strings.ToLower(name), port: trimZeros(port)}
	e.network, _ = rubyIPAddr(name, r.oldIPAddr)
	e.address = e.network.Bits() == 32
	return e, true
}

// covers: for the old ipaddr an IPv4-mapped address is an IPv4 address.
func (r rubyRules) covers(e *entry, h host) string {
	how := exactly | below
	if e.text[0] == '.' {
		how = dotted
	}
	if reason := how.covers(e.text, h.name); reason != "" {
		return reason
	}
	if r.oldIPAddr {
		h.addr = h.addr.Unmap()
	}
	return e.contains(h)
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
