package vector

import (
	"net/netip"

	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// Observe words a decision as a measurement of that client would record it.
// The result shows the credential, which is why only checks may use it.
func Observe(choice dialect.Choice, d dialect.Decision) string {
	if choice.Observe != nil {
		return choice.Observe(d)
	}
	switch d.Route {
	case dialect.Direct:
		return "direct"
	case dialect.Proxy:
		return observeHop(d.Hop)
	case dialect.Depends:
		return "depends"
	}
	return "error"
}

func observeHop(hop dialect.Hop) string {
	proxies := map[string]string{ProxyA: "proxy A", ProxyB: "proxy B", ProxyV6: "proxy v6"}
	proxy, measured := proxies[hop.Address]
	if !measured {
		return observeElsewhere(hop.Address)
	}
	text := proxy + " " + string(hop.Protocol)
	if !hop.Auth.IsZero() {
		text += " auth=" + latin1(hop.Auth.Bytes())
	}
	return text
}

// observeElsewhere is for other addresses. Where clients are measured, every name
// resolves to the server that plays the target.
func observeElsewhere(address string) string {
	if _, err := netip.ParseAddrPort(address); err != nil {
		return "direct"
	}
	return "connects to " + address
}

// latin1 makes a character of each byte, as the measuring proxy does.
func latin1(bytes string) string {
	runes := make([]rune, len(bytes))
	for i := range len(bytes) {
		runes[i] = rune(bytes[i])
	}
	return string(runes)
}
