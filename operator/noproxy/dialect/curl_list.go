package dialect

import (
	"net/netip"
	"strings"
)

// cut finds the entries. Since 8.9 a blank that no comma follows ends the list;
// before, it separated. Tabs are blanks since 7.86.
func (r curlRelease) cut(list string) []Span {
	blanks := " \t"
	if r < curlBrokenCIDR {
		blanks = " "
	}
	var spans []Span
	for at := 0; at < len(list); {
		start := skip(list, at, blanks)
		end := start
		for end < len(list) && list[end] != ',' && strings.IndexByte(blanks, list[end]) < 0 {
			end++
		}
		if end > start {
			spans = append(spans, Span{start, end})
		}
		at = skip(list, end, blanks)
		if r >= curlCommasOnly && at < len(list) && list[at] != ',' {
			break
		}
		at = skip(list, at, ",")
	}
	return spans
}

// entry never fails: libcurl ignores what it does not understand.
func (r curlRelease) entry(text string) (entry, bool) {
	text = asciiLower(text)
	e := entry{network: r.parseNetwork(text)}
	e.address = e.network.IsSingleIP()
	e.text, e.wildcard = strings.CutPrefix(r.withoutDot(text), ".")
	return e, true
}

// withoutDot drops a trailing dot, since 7.87.
func (r curlRelease) withoutDot(name string) string {
	if r >= curlCIDR {
		return strings.TrimSuffix(name, ".")
	}
	return name
}

// parseNetwork reads an address or a network. A length of 0 is no length, and
// until 8.17 so is one that is not a number, while what follows a number is
// ignored.
func (r curlRelease) parseNetwork(text string) netip.Prefix {
	address, length, slash := strings.Cut(text, "/")
	if len(text) >= 128 || r < curlBrokenCIDR {
		return netip.Prefix{}
	}
	addr := literal(address)
	if !addr.IsValid() || addr.Zone() != "" || addr.Is6() && r < curlIPv6CIDR {
		return netip.Prefix{}
	}
	bits := atoi(length)
	if bits < 0 || r >= curlIPv6CIDR && slash && !isDigits(length) {
		return netip.Prefix{}
	}
	if bits == 0 {
		bits = addr.BitLen()
	}
	return netip.PrefixFrom(addr, bits).Masked() // the zero Prefix if it is too long
}

// covers: an IPv6 address is a name like any other until 8.17, an IPv4 address
// until 7.85. A star covers everything only as the whole list.
func (r curlRelease) covers(e *entry, h host) string {
	name := r.withoutDot(h.name)
	switch {
	case e.text == "*" && e.span == (Span{0, 1}) && e.last:
		if h.name != "" || r < curlCIDR {
			return everything
		}
		return ""
	case r == curlBrokenCIDR:
		return e.covers786(h)
	case h.addr.IsValid():
		return e.contains(h)
	}
	return (exactly | below).covers(e.text, name)
}

// covers786: an entry without a dot is the name itself only; one with a dot is
// a suffix without regard to dots, but a longer host matches only the last one.
// An address was read together with all that follows it in the list, so that
// only the last one is valid.
func (e *entry) covers786(h host) string {
	switch {
	case h.addr.IsValid() && !strings.Contains(e.text, "/") && !e.last:
		return ""
	case h.addr.IsValid():
		return e.contains(h)
	case e.text != h.name && e.wildcard && e.last && strings.HasSuffix(h.name, e.text):
		return endsWith
	}
	return exactly.covers(e.text, h.name)
}
