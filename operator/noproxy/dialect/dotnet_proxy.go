package dialect

import (
	"strconv"
	"strings"
)

// dotnetSchemes are what a proxy may start with, in any case.
var dotnetSchemes = []struct {
	prefix, port string
	protocol     Protocol
}{
	{"http://", "80", Connect},
	{"https://", "443", TLS},
	{"socks4://", "80", Socks4},
	{"socks5://", "80", Socks5Name},
	{"socks4a://", "80", Socks4},
}

func (r dotnetRules) readProxy(v variable, scheme string) proxy {
	if hop, ok := r.readHop(v.value); ok {
		return proxy{hop: hop.toward(scheme)}
	}
	return proxy{ignored: unusableProxy}
}

// readHop is GetUriFromString. What comes before the last "@" is a
// credential, which is only sent after the proxy has asked for one; what
// follows the digits of the port is dropped.
func (r dotnetRules) readHop(value string) (Hop, bool) {
	hop, port := Hop{Protocol: Connect}, "80"
	for i, scheme := range dotnetSchemes {
		if (i == 0 || r.schemes) && len(value) >= len(scheme.prefix) && strings.EqualFold(value[:len(scheme.prefix)], scheme.prefix) {
			value, port, hop.Protocol = value[len(scheme.prefix):], scheme.port, scheme.protocol
			break
		}
	}
	host := value[strings.LastIndexByte(value, '@')+1:]
	if colon := strings.LastIndexByte(host, ':'); colon >= 0 && colon > strings.IndexByte(host, ']') {
		digits := host[colon+1:]
		if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
			digits = digits[:end]
		}
		number, err := strconv.ParseUint(digits, 10, 16)
		if err != nil {
			return Hop{}, false
		}
		host, port = host[:colon], strconv.FormatUint(number, 10)
	}
	host, _, _ = strings.Cut(host, "/") // a path is accepted
	if !isDotnetHost(host) {
		return Hop{}, false
	}
	hop.Address = host + ":" + port
	return hop, true
}

// isDotnetHost tells whether UriBuilder accepts a host.
func isDotnetHost(host string) bool {
	if inner, found := inBrackets(host); found {
		return literal(inner).Is6()
	}
	return host != "" && !strings.ContainsFunc(host, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune(`"#%/:<>?@[\]^{|}`+"`", r)
	})
}
