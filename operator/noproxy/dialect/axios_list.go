package dialect

import (
	"net/netip"
	"strings"
)

// axiosList is NO_PROXY as shouldBypassProxy of axios reads it.
type axiosList struct {
	variable variable
	rules    axiosRules
	entries  []axiosEntry
}

type axiosEntry struct {
	span     Span
	all      bool
	host     string // normalized; "" matches nothing
	port     int    // 0: every port
	loopback bool
	network  netip.Prefix
}

func readAxiosList(v variable, rules axiosRules) axiosList {
	l := axiosList{variable: v, rules: rules}
	if rules < axios115 {
		return l
	}
	for _, span := range jsElements(v.value, isCommaOrSpace) {
		entry := rules.entry(strings.ToLower(span.Of(v.value)))
		entry.span = span
		l.entries = append(l.entries, entry)
	}
	return l
}

func (r axiosRules) entry(text string) axiosEntry {
	if r >= axios120 && strings.Contains(text, "/") {
		return axiosEntry{network: axiosNetwork(text)}
	}
	if r >= axios119 && text == "*" {
		return axiosEntry{all: true}
	}
	host, port := splitAxios(text)
	host = r.normalize(host)
	return axiosEntry{host: host, port: port, loopback: r.isLoopback(strings.TrimPrefix(host, "*"))}
}

// splitAxios is parseNoProxyEntry: what follows brackets is dropped, and where
// there is more than one colon there is no port.
func splitAxios(text string) (host string, port int) {
	if inner, bracketed := strings.CutPrefix(text, "["); bracketed {
		if host, rest, closed := strings.Cut(inner, "]"); closed {
			if digits, found := strings.CutPrefix(rest, ":"); found && isDigits(digits) {
				port = portNumber(digits)
			}
			return host, port
		}
	}
	host, digits, found := strings.Cut(text, ":")
	if !found || !isDigits(digits) {
		return text, 0
	}
	return host, portNumber(digits)
}

func (l *axiosList) match(host string, port int) (Span, string, bool) {
	if len(l.entries) == 0 {
		return Span{}, "", false
	}
	host = l.rules.normalize(host)
	addr := axiosAddr(host)
	loopbackHost := l.rules.isLoopback(host)
	for i := range l.entries {
		entry := &l.entries[i]
		if reason := entry.match(host, port, addr, loopbackHost); reason != "" {
			return entry.span, reason, true
		}
	}
	return Span{}, "", false
}

func (e *axiosEntry) match(host string, port int, addr netip.Addr, loopbackHost bool) string {
	suffix := strings.TrimPrefix(e.host, "*")
	switch {
	case e.all:
		return everything
	case e.network.Contains(addr):
		return inNetwork
	case e.host == "" || e.port != 0 && e.port != port:
		return ""
	case strings.HasPrefix(suffix, ".") && strings.HasSuffix(host, suffix):
		return belowName
	case suffix == host && !strings.HasPrefix(suffix, "."):
		return theName
	case e.loopback && loopbackHost:
		return "one loopback host is as good as another"
	}
	return ""
}
