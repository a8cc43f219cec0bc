package dialect

import "strings"

// UrllibList is a NO_PROXY list as Python's urllib reads it
// (proxy_bypass_environment), compiled: a decision costs a map look-up for each
// label of the host, however long the list is. requests and aiohttp use it too.
type UrllibList struct {
	all    bool
	length int
	names  map[string]urllibEntry
	bytes  bool
	dotted bool
}

type urllibEntry struct {
	index int
	span  Span
}

func compileUrllib(noProxy string, rules urllibRules) *UrllibList {
	l := &UrllibList{all: noProxy == "*", length: len(noProxy), names: map[string]urllibEntry{}, bytes: rules.bytes, dotted: rules.dotted}
	space := pythonSpace
	if rules.bytes {
		space = func(r rune) bool { return r == ' ' || r >= '\t' && r <= '\r' }
	}
	for index, span := range elements(noProxy) {
		span = span.trimFunc(noProxy, space)
		if span.Empty() {
			continue
		}
		name := l.lower(strings.TrimLeft(span.Of(noProxy), "."))
		if _, known := l.names[name]; !known {
			l.names[name] = urllibEntry{index, span}
		}
	}
	return l
}

// lower is lower(); bytes have no case but in ASCII.
func (l *UrllibList) lower(text string) string {
	if !l.bytes {
		return strings.ToLower(text)
	}
	return asciiLower(text)
}

// Match returns the first entry that lets a host go direct. A port belongs to
// the host as it is written in the URL: entries match with and without it. An
// IPv6 address without brackets also loses its last group, if that has only
// decimal digits: it passes for a port.
func (l *UrllibList) Match(host string) (entry Span, reason string, found bool) {
	if l.all {
		return Span{0, l.length}, everything, true
	}
	host = l.lower(host)
	best := urllibEntry{index: none}
	best, reason = l.match(host, best, "")
	only, cut := cutPort(host)
	if !cut {
		only, cut = strings.CutSuffix(host, ":")
	}
	if cut {
		best, reason = l.match(only, best, reason)
	}
	return best.span, reason, best.index != none
}

func (l *UrllibList) match(host string, best urllibEntry, reason string) (urllibEntry, string) {
	if entry, ok := l.names[host]; ok && entry.index < best.index {
		best, reason = entry, theName
	}
	for at := range len(host) {
		if host[at] != '.' || at == 0 && l.dotted {
			continue
		}
		if entry, ok := l.names[host[at+1:]]; ok && entry.index < best.index {
			best, reason = entry, belowName
		}
	}
	return best, reason
}

// cutPort is splitport: digits after the last colon.
func cutPort(host string) (string, bool) {
	colon := strings.LastIndexByte(host, ':')
	if colon < 0 || colon == len(host)-1 || strings.Trim(host[colon+1:], "0123456789") != "" {
		return host, false
	}
	return host[:colon], true
}
