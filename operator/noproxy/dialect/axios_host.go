package dialect

import (
	"net/netip"
	"regexp"
	"strings"
)

// normalize is normalizeNoProxyHost: of hosts and of entries.
func (r axiosRules) normalize(host string) string {
	if inner, found := inBrackets(host); found {
		host = inner
	}
	host = strings.TrimRight(host, ".")
	if r >= axios121 {
		ascii, done := axiosASCII(host)
		if done {
			return ascii
		}
		host = ascii
	}
	if r >= axios119 {
		if ipv4 := axiosIPv4(host); ipv4 != host {
			return ipv4
		}
	}
	if r >= axios116 {
		return unmapAxios(host)
	}
	return host
}

// axiosASCII normalizes an IPv6 address or an international name. It is done
// where nothing more is tried.
func axiosASCII(host string) (ascii string, done bool) {
	if strings.Contains(host, ":") {
		address, ok := whatwgIPv6("[" + host + "]")
		if !ok {
			return host, true
		}
		return address[1 : len(address)-1], false
	}
	name := strings.TrimLeft(host, "*.")
	if strings.IndexFunc(host, func(r rune) bool { return r >= 0x80 }) < 0 {
		return host, false
	}
	ascii, ok := whatwgHost(name, true)
	if !ok {
		return "", true
	}
	return host[:len(host)-len(name)] + strings.TrimRight(ascii, "."), false
}

// axiosIPv4 is normalizeIPAddress: two to four parts, each decimal, octal or
// hexadecimal. Anything else is returned as it is.
func axiosIPv4(host string) string {
	if strings.Trim(host, "0123456789.abcdefABCDEFxX") != "" || strings.Contains(host, "0x.") || strings.HasSuffix(host, "0x") {
		return host
	}
	if parts := strings.Count(host, "."); parts < 1 || parts > 3 {
		return host
	}
	if address, ok := whatwgIPv4(host); ok {
		return address
	}
	return host
}

var (
	axiosMappedDotted = regexp.MustCompile(`(?i)^(?:::|(?:0{1,4}:){1,4}:|(?:0{1,4}:){5})ffff:(\d+\.\d+\.\d+\.\d+)$`)
	axiosMappedHex    = regexp.MustCompile(`(?i)^(?:::|(?:0{1,4}:){1,4}:|(?:0{1,4}:){5})ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$`)
)

// unmapAxios turns ::ffff:a01:203 into 10.1.2.3.
func unmapAxios(host string) string {
	if !strings.Contains(host, ":") {
		return host
	}
	if dotted := axiosMappedDotted.FindStringSubmatch(host); dotted != nil {
		return dotted[1]
	}
	hex := axiosMappedHex.FindStringSubmatch(host)
	if hex == nil {
		return host
	}
	return literal("::ffff:" + hex[1] + ":" + hex[2]).Unmap().String()
}

// axiosNetwork is parseCidrEntry; the zero prefix means that it matches nothing.
func axiosNetwork(text string) netip.Prefix {
	slash := strings.LastIndexByte(text, '/')
	base, length := text[:slash], text[slash+1:]
	bits := portNumber(length)
	if !isDigits(length) || len(length) > 1 && length[0] == '0' || strings.HasSuffix(base, ".") {
		return netip.Prefix{}
	}
	if strings.ContainsAny(base, "[]") {
		inner, found := inBrackets(base)
		if !found || !strings.Contains(inner, ":") {
			return netip.Prefix{}
		}
		base = inner
	}
	mapped := false
	if strings.Contains(base, ":") {
		address, ok := whatwgIPv6("[" + base + "]")
		if !ok {
			return netip.Prefix{}
		}
		base = unmapAxios(address[1 : len(address)-1])
		mapped = !strings.Contains(base, ":")
	} else {
		base = axiosIPv4(base)
	}
	if mapped {
		bits -= 96
	}
	addr := axiosAddr(base)
	if !addr.IsValid() || bits < 0 || bits > addr.BitLen() {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(addr, bits)
}

// axiosAddr is ipToBytes: IPv6 without a part in IPv4 form, and no zone.
func axiosAddr(host string) netip.Addr {
	addr := literal(host)
	if addr.Zone() != "" || addr.Is6() && strings.Contains(host, ".") {
		return netip.Addr{}
	}
	return addr
}
