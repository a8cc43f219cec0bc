package dialect

import (
	"net/netip"
	"strings"
)

// curlList is a no_proxy list as libcurl reads it, cut and parsed once.
type curlList struct {
	release  curlRelease
	variable string
	all      bool // the whole list is "*"
	entries  []curlEntry
}

type curlEntry struct {
	span     Span
	name     string       // in lower case, without the dots that do not count
	dotted   bool         // a dot stood in front of the name
	last     bool         // nothing follows it, not even a blank
	network  netip.Prefix // invalid if it is none
	oneOfAll bool         // the network is a single address
}

// compile never fails: libcurl ignores what it does not understand.
func (r curlRelease) compile(v variable) *curlList {
	l := &curlList{release: r, variable: v.name, all: v.value == "*"}
	for _, span := range r.cut(v.value) {
		text := asciiLower(span.Of(v.value))
		entry := curlEntry{span: span, last: span.End == len(v.value)}
		if r >= curlBrokenCIDR {
			entry.network = r.parseNetwork(text, entry.last)
			entry.oneOfAll = entry.network.IsSingleIP()
		}
		if r >= curlCIDR {
			text = strings.TrimSuffix(text, ".")
		}
		entry.name, entry.dotted = strings.CutPrefix(text, ".")
		l.entries = append(l.entries, entry)
	}
	return l
}

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

// parseNetwork reads an address or a network. A length of 0 is no length, and
// until 8.17 so is one that is not a number, while what follows a number is
// ignored. In 7.86 an address was read together with all that follows it in
// the list, so that only the last one could be valid.
func (r curlRelease) parseNetwork(text string, last bool) netip.Prefix {
	address, length, slash := strings.Cut(text, "/")
	if len(text) >= 128 || r == curlBrokenCIDR && !slash && !last {
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

// match returns the first entry that covers a host, which is an IPv6 address
// without brackets.
func (l *curlList) match(host string) (entry Span, reason string, found bool) {
	if l.all {
		return Span{0, 1}, everything, host != "" || l.release < curlCIDR
	}
	if l.release >= curlBrokenCIDR {
		addr := literal(host)
		if addr.IsValid() && addr.Zone() == "" && (addr.Is4() || l.release >= curlIPv6CIDR) {
			return l.matchAddr(addr)
		}
	}
	host = asciiLower(host)
	if l.release >= curlCIDR {
		host = strings.TrimSuffix(host, ".")
	}
	for i := range l.entries {
		if reason := l.entries[i].covers(host, l.release); reason != "" {
			return l.entries[i].span, reason, true
		}
	}
	return Span{}, "", false
}

func (l *curlList) matchAddr(addr netip.Addr) (entry Span, reason string, found bool) {
	for i := range l.entries {
		if e := &l.entries[i]; e.network.Contains(addr) {
			if e.oneOfAll {
				return e.span, theAddress, true
			}
			return e.span, inNetwork, true
		}
	}
	return Span{}, "", false
}

// covers compares names; it returns the reason, or nothing. An IPv6 address is
// a name like any other until 8.17, an IPv4 address until 7.85.
func (e *curlEntry) covers(host string, release curlRelease) string {
	switch {
	case release == curlBrokenCIDR:
		return e.covers786(host)
	case e.name == host:
		return theName
	case len(e.name) < len(host) && host[len(host)-len(e.name)-1] == '.' && strings.HasSuffix(host, e.name):
		return belowName
	}
	return ""
}

// covers786: an entry without a dot is the name itself only; one with a dot is
// a suffix without regard to dots, but a longer host matches only the last one.
func (e *curlEntry) covers786(host string) string {
	switch {
	case e.name == host:
		return theName
	case e.dotted && e.last && strings.HasSuffix(host, e.name):
		return endsWith
	}
	return ""
}
