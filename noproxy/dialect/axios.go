package dialect

import (
	"cmp"
	"net/netip"
	"regexp"
	"strings"
)

// axiosRules are the versions of axios that changed what it does. Each keeps
// the changes before it.
type axiosRules int

const (
	axios100  axiosRules = iota
	axios114             // proxy-from-env 2.1
	axios115             // a matcher of its own, in addition
	axios1151            // loopback hosts are the same
	axios116             // IPv4-mapped addresses are the IPv4 ones
	axios1161            // a tunnel for https URLs
	axios118             // 0.0.0.0 and :: are loopback
	axios119             // IPv4 entries in other forms; "*" in a list
	axios120             // networks
	axios121             // IPv6 and international entries are normalized
)

const axiosSource = "axios/axios lib/adapters/http.js and lib/helpers/shouldBypassProxy.js, "

var axiosFamily = []*Client{{
	Name:   "axios",
	Latest: "1",
	Behaviours: versions{
		{"", "", "axios/axios lib/adapters/http.js, 1.0.0 to 1.13.6, with proxy-from-env 1.1.0", axios100.read},
		{"1.14.0", "npm_config_ variables are not read", axiosSource + "1.14.0, with proxy-from-env 2.1.0", axios114.read},
		{"1.15.0", "a matcher of its own beside that of proxy-from-env: dots at the end, IPv6 without brackets", axiosSource + "1.15.0", axios115.read},
		{"1.15.1", "an entry for one loopback host covers them all", axiosSource + "1.15.2", axios1151.read},
		{"1.16.0", "IPv4-mapped addresses are the IPv4 ones", axiosSource + "1.16.0", axios116.read},
		{"1.16.1", "https URLs are tunnelled (before, the proxy got them as they are)", axiosSource + "1.17.0", axios1161.read},
		{"1.18.0", "0.0.0.0 and :: are loopback hosts", axiosSource + "1.18.1", axios118.read},
		{"1.19.0", "IPv4 entries in short, octal and hexadecimal form", axiosSource + "1.19.0", axios119.read},
		{"1.20.0", "networks", axiosSource + "1.20.0", axios120.read},
		{"1.21.0", "IPv6 and international entries are normalized", axiosSource + "1.21.1", axios121.read},
	}.behaviours(),
}}

// read asks proxy-from-env first, and then a list of its own.
func (r axiosRules) read(env Env) Decider {
	fromEnv := proxyFromEnvRules(r < axios114)
	fromEnv.host, fromEnv.readProxy = whatwgTarget, r.readProxy
	decide := fromEnv.read(env)
	if r < axios115 {
		return decide
	}
	own := rules{cut: cutJS, entry: r.entry, covers: r.covers}.readList(env.nonEmpty("no_proxy", "NO_PROXY"))
	return func(t Target) Decision {
		decision := decide(t)
		if decision.Route == Direct || decision.Variable == "" || decision.Reason == NotJudged {
			return decision
		}
		h, _ := whatwgTarget(t)
		h.name = r.normalize(h.name)
		h.addr = axiosAddr(h.name)
		if entry, reason, ok := own.match(h); ok {
			return direct(own.name, entry, reason)
		}
		return decision
	}
}

func (r axiosRules) readProxy(v variable, scheme string) proxy {
	if scheme == "https" && r < axios1161 {
		return axiosURL(scheme).read(v, "http")
	}
	return axiosURL(scheme).read(v, scheme)
}

// axiosURL is setProxy, where own is the scheme of the URL that is asked for. The
// credential is sent as it is written in the proxy's. Where the request itself goes to
// the proxy, an IPv6 address keeps its brackets, and is looked up as a name.
func axiosURL(own string) *proxyTraits {
	return &proxyTraits{
		refuses: func(u *proxyURL, target string) (p proxy) {
			u.scheme = cmp.Or(u.scheme, own)
			if target == "http" && (webPorts[u.scheme] == "" || u.bracketed) {
				p = failing
			}
			return p
		},
		ports:   webOr80,
		schemes: map[string]Protocol{"https": TLS, anyScheme: Connect},
		sends:   withUser, bytes: asSerialized,
	}
}

// entry is an entry of NO_PROXY as shouldBypassProxy of axios reads it. An empty
// name matches nothing.
func (r axiosRules) entry(text string) (entry, bool) {
	text = strings.ToLower(text)
	if r >= axios120 && strings.Contains(text, "/") {
		network := axiosNetwork(text)
		return entry{network: network}, network.IsValid()
	}
	if r >= axios119 && text == "*" {
		return entry{text: text}, true
	}
	name, port := splitAxios(text)
	e := entry{text: r.normalize(name), port: port}
	e.text, e.wildcard = strings.CutPrefix(e.text, "*")
	e.loopback = r.isLoopback(e.text)
	return e, e.text != "" || e.wildcard
}

func (r axiosRules) covers(e *entry, h host) string {
	switch {
	case e.network.IsValid():
		return e.contains(h)
	case !e.wildcard && e.text == "*":
		return everything
	case strings.HasPrefix(e.text, "."):
		return dotted.covers(e.text, h.name)
	case e.text == h.name:
		return theName
	case e.loopback && r.isLoopback(h.name):
		return "one loopback host is as good as another"
	}
	return ""
}

// splitAxios is parseNoProxyEntry: what follows brackets is dropped, and where
// there is more than one colon there is no port.
func splitAxios(text string) (host, port string) {
	if inner, bracketed := strings.CutPrefix(text, "["); bracketed {
		if host, rest, closed := strings.Cut(inner, "]"); closed {
			if digits, ok := strings.CutPrefix(rest, ":"); ok && isDigits(digits) {
				port = jsPort(digits)
			}
			return host, port
		}
	}
	host, digits, ok := strings.Cut(text, ":")
	if !ok || !isDigits(digits) {
		return text, ""
	}
	return host, jsPort(digits)
}

// isLoopback is isLoopback of shouldBypassProxy, which compares texts.
func (r axiosRules) isLoopback(host string) bool {
	if r < axios1151 {
		return false
	}
	return host == "localhost" || isLoopback4(host) || isLoopback6(host) ||
		r >= axios118 && (host == "0.0.0.0" || isUnspecified6(host))
}

func isLoopback4(host string) bool {
	parts := strings.Split(host, ".")
	if len(parts) != 4 || parts[0] != "127" {
		return false
	}
	for _, part := range parts {
		if !isDigits(part) || portNumber(part) > 255 {
			return false
		}
	}
	return true
}

func isLoopback6(host string) bool {
	if mapped, ok := strings.CutPrefix(host, "::ffff:"); ok {
		high, low, hex := strings.Cut(mapped, ":")
		return isLoopback4(mapped) || hex && isGroup(low) && isGroup(high) && len(high) == 4 && high[:2] == "7f"
	}
	groups := strings.Split(host, ":")
	if host == "::1" || len(groups) != 8 {
		return host == "::1"
	}
	for _, group := range groups[:7] {
		if !isZeros(group) {
			return false
		}
	}
	last, one := strings.CutSuffix(groups[7], "1")
	return one && (last == "" || isZeros(last))
}

func isUnspecified6(host string) bool {
	left, right, compressed := strings.Cut(host, "::")
	groups := 0
	for _, half := range []string{left, right} {
		if half == "" {
			continue
		}
		for _, group := range strings.Split(half, ":") {
			groups++
			if len(group) > 4 || !isZeros(group) {
				return false
			}
		}
	}
	return compressed && groups < 8 || groups == 8
}

func isZeros(text string) bool { return text != "" && strings.Trim(text, "0") == "" }

// isGroup tells whether a text is a group of an IPv6 address.
func isGroup(text string) bool {
	return 0 < len(text) && len(text) <= 4 && strings.Trim(text, "0123456789abcdef") == ""
}

// normalize is normalizeNoProxyHost: of hosts and of entries.
func (r axiosRules) normalize(host string) string {
	if inner, ok := inBrackets(host); ok {
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
	ascii, ok := whatwgHost(name)
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
		inner, ok := inBrackets(base)
		if !ok || !strings.Contains(inner, ":") {
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
