package dialect

import "strings"

// entry is an entry of parseNoProxy. The text is in lower case; a wildcard
// covers no name itself since 8.11.
func (r undiciRules) entry(text string) (entry, bool) {
	name, port := splitPort(text)
	if r >= undici810 {
		name, port = splitUndici(text)
	}
	if r >= undici722 {
		name = trimWildcard(name)
	}
	if r >= undici8101 {
		name = trimFinalDot(name)
	}
	return entry{text: strings.ToLower(name), port: port, wildcard: text[0] == '*'}, true
}

func (r undiciRules) covers(e *entry, h host) string {
	switch {
	case r < undici722:
		return matchProxyFromEnv(e.text, h.name)
	case r < undici811:
		return (exactly | below).covers(e.text, h.name)
	case e.wildcard:
		return (star | below).covers(e.text, h.name)
	}
	return (star | exactly | below).covers(e.text, h.name)
}

// splitUndici cuts a port off: after brackets, or after the only colon.
func splitUndici(text string) (host, port string) {
	host, port = splitPort(text)
	if inner, found := inBrackets(host); found && host != text {
		return inner, port
	}
	if inner, found := inBrackets(text); found {
		text = inner
	}
	if strings.Count(text, ":") != 1 {
		return text, ""
	}
	return splitPort(text)
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
