package dialect

import "strings"

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
			if digits, found := strings.CutPrefix(rest, ":"); found && isDigits(digits) {
				port = jsPort(digits)
			}
			return host, port
		}
	}
	host, digits, found := strings.Cut(text, ":")
	if !found || !isDigits(digits) {
		return text, ""
	}
	return host, jsPort(digits)
}
