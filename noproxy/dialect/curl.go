package dialect

import (
	"net/netip"
	"strings"
)

// libcurl, and the curl command, which adds nothing of its own here.
//
// Rules: curl/curl. The list: check_noproxy in lib/url.c until 7.85, then
// lib/noproxy.c, since 8.21 lib/proxy.c. The variables and the URL of the
// proxy: detect_proxy and parse_proxy in lib/url.c, since 8.21 lib/proxy.c and
// lib/peer.c. What a URL's host is turned into before the list is asked:
// lib/urlapi.c and lib/idn.c. Each release below was compared with its tag.
//
// HTTP_PROXY is never read, because in a CGI program it is a request's header.
// A variable that is empty is as good as none (lib/getenv.c). "0.0.0.0/0"
// means the one address 0.0.0.0, also in the newest release: pull request
// 20306, which would have changed that, was closed without a commit.
var curlFamily = []*Client{{
	Name:       "curl",
	Latest:     "8.21",
	Aliases:    []string{"libcurl"},
	AlsoReads:  []string{"curl", "most programs that link libcurl"},
	Behaviours: curlBehaviours(),
}}

// curlRelease is a release of libcurl that changed one of the rules here. Later
// ones compare greater.
type curlRelease uint8

const (
	curlOldest         curlRelease = iota // compared with 7.74.0
	curlNumericIPv4                       // 7.77: 0x0a010203 is 10.1.2.3
	curlDecodesHosts                      // 7.80
	curlShortIPv6                         // 7.81; also addresses as such through SOCKS 5
	curlNoSeparators                      // 7.83.1: of decoded hosts
	curlBrokenCIDR                        // 7.86
	curlCIDR                              // 7.87
	curlIDNFirst                          // 7.88
	curlNoPercent                         // 8.0
	curlCommasOnly                        // 8.9
	curlLowerHex                          // 8.13: not 0X0a010203
	curlIPv6CIDR                          // 8.18
	curlOwnDefaultPort                    // 8.21, and more: see the constant's uses
)

// curlBehaviours returns a behaviour for each release that changed decisions.
func curlBehaviours() []Behaviour {
	return versions{
		{"", "", curlSource("lib/url.c"), curlOldest.read},
		{"7.77", "IPv4 addresses in hexadecimal, octal or short form are written out before the list is asked", curlSource("lib/url.c"), curlNumericIPv4.read},
		{"7.80", "percent-encoded hosts are decoded before the list is asked", curlSource("lib/url.c"), curlDecodesHosts.read},
		{"7.81", "IPv6 addresses are shortened before the list is asked", curlSource("lib/url.c"), curlShortIPv6.read},
		{"7.83.1", "hosts must not decode to separators", curlSource("lib/url.c"), curlNoSeparators.read},
		{"7.86", "IPv4 networks; by mistake names no longer cover what is below them, and most forms work as the last entry only", curlSource("lib/noproxy.c"), curlBrokenCIDR.read},
		{"7.87", "the mistakes of 7.86 are mended, trailing dots do not count", curlSource("lib/noproxy.c"), curlCIDR.read},
		{"7.88", "Unicode hosts are compared as punycode", curlSource("lib/noproxy.c"), curlIDNFirst.read},
		{"8.0", "a host must not hold a percent sign once decoded", curlSource("lib/noproxy.c"), curlNoPercent.read},
		{"8.9", "only commas separate: what follows a blank inside the list is ignored, to its end", curlSource("lib/noproxy.c"), curlCommasOnly.read},
		{"8.13", "0X0a010203 is a name, 0x0a010203 still an address", curlSource("lib/noproxy.c"), curlLowerHex.read},
		{"8.18", "IPv6 addresses are compared as addresses, IPv6 networks work; the length of a network must be a number", curlSource("lib/noproxy.c"), curlIPv6CIDR.read},
		{"8.21", "an http proxy without a port means port 80, not 1080; a proxy named ftp.… needs no scheme", curlSource("lib/proxy.c and lib/peer.c"), curlOwnDefaultPort.read},
	}.behaviours()
}

func curlSource(list string) string { return "curl/curl " + list + " and lib/urlapi.c" }

func (r curlRelease) read(env Env) Decider { return r.rules().read(env) }

// rules ask the list first.
func (r curlRelease) rules() rules {
	url := r.url()
	return rules{
		find: Env.nonEmpty, http: "http_proxy all_proxy ALL_PROXY", https: "https_proxy HTTPS_PROXY all_proxy ALL_PROXY", no: "no_proxy NO_PROXY",
		readProxy: url.read, listFirst: true,
		host: r.host,
		cut:  r.cut, entry: r.entry, covers: r.covers,
	}
}

const badURL = "the client does not accept the host of this URL"

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
