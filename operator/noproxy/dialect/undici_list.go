package dialect

import "strings"

// undiciEntry is an entry of NO_PROXY. Which fields are read how depends on
// the version.
type undiciEntry struct {
	span     Span
	host     string // lower-case
	below    string // the same with a dot in front
	port     int    // 0: every port
	wildcard bool   // starts with "*"
}

// readList is parseNoProxy. It cuts at commas and at white space of any kind.
func (a *undiciAgent) readList() {
	list := a.noProxy.value
	for _, span := range jsElements(list, isCommaOrSpace) {
		text := span.Of(list)
		entry := undiciEntry{span: span, wildcard: text[0] == '*'}
		if a.rules >= undici810 {
			entry.host, entry.port = splitUndici(text)
		} else {
			entry.host, entry.port = splitPort(text)
		}
		if a.rules >= undici722 {
			entry.host = trimWildcard(entry.host)
		}
		if a.rules >= undici8101 {
			entry.host = trimFinalDot(entry.host)
		}
		entry.host = strings.ToLower(entry.host)
		entry.below = "." + entry.host
		a.entries = append(a.entries, entry)
	}
}

// splitUndici cuts a port off: after brackets, or after the only colon.
func splitUndici(text string) (host string, port int) {
	host, port = splitPort(text)
	if inner, found := inBrackets(host); found && host != text {
		return inner, port
	}
	if inner, found := inBrackets(text); found {
		text = inner
	}
	if strings.Count(text, ":") != 1 {
		return text, 0
	}
	return splitPort(text)
}

func inBrackets(text string) (string, bool) {
	if len(text) > 2 && text[0] == '[' && text[len(text)-1] == ']' {
		return text[1 : len(text)-1], true
	}
	return text, false
}

// trimWildcard takes off one "*." or one dot.
func trimWildcard(host string) string {
	if rest, found := strings.CutPrefix(host, "*."); found {
		return rest
	}
	return strings.TrimPrefix(host, ".")
}

func trimFinalDot(name string) string {
	if len(name) > 1 {
		return strings.TrimSuffix(name, ".")
	}
	return name
}

// match returns the first entry that lets a URL go direct.
func (a *undiciAgent) match(u whatwgURL) (Span, string, bool) {
	if len(a.entries) == 0 {
		return Span{}, "", false
	}
	if a.noProxy.value == "*" {
		return a.entries[0].span, everything, true
	}
	host, port := u.host, portNumber(u.portOr(whatwgPorts[u.scheme]))
	if a.rules >= undici810 {
		host, _ = inBrackets(host)
	}
	if a.rules >= undici8101 {
		host = trimFinalDot(host)
	}
	for i := range a.entries {
		entry := &a.entries[i]
		if entry.port != 0 && entry.port != port {
			continue
		}
		if reason := entry.match(host, a.rules); reason != "" {
			return entry.span, reason, true
		}
	}
	return Span{}, "", false
}

// match returns why the entry covers the host, or nothing.
func (e *undiciEntry) match(host string, rules undiciRules) string {
	switch {
	case rules < undici722:
		return matchProxyFromEnv(e.host, host)
	case rules >= undici811 && e.host == "*":
		return everything
	case host == e.host && (rules < undici811 || !e.wildcard):
		return theName
	case strings.HasSuffix(host, e.below):
		return belowName
	}
	return ""
}
