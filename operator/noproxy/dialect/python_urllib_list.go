package dialect

import "strings"

// list is a NO_PROXY list as urllib reads it (proxy_bypass_environment). requests
// and aiohttp ask it, too.
func (r urllibRules) list(v variable) list {
	space := pythonSpace
	if r.bytes {
		space = cSpace
	}
	l := rules{cut: commas(space), covers: r.covers, entry: func(text string) (entry, bool) {
		return entry{text: r.lower(strings.TrimLeft(text, "."))}, true
	}}
	if v.value == "*" {
		l.covers = func(*entry, host) string { return everything }
	}
	read := l.readList(v)
	read.see = r.see
	return read
}

// lower is lower(); bytes have no case but in ASCII.
func (r urllibRules) lower(text string) string {
	if r.bytes {
		return asciiLower(text)
	}
	return strings.ToLower(text)
}

// see: a port belongs to the host as it is written in the URL, and entries match
// with and without it. An IPv6 address without brackets also loses its last group,
// if that has only decimal digits: it passes for a port.
func (r urllibRules) see(h host) host {
	h.withPort = r.lower(h.name)
	var cut bool
	if h.name, cut = cutPort(h.withPort); !cut {
		h.name = strings.TrimSuffix(h.name, ":")
	}
	return h
}

func (r urllibRules) covers(e *entry, h host) string {
	if reason := r.coversName(e.text, h.withPort); reason != "" || h.name == h.withPort {
		return reason
	}
	return r.coversName(e.text, h.name)
}

func (r urllibRules) coversName(entry, name string) string {
	reason := (exactly | below).covers(entry, name)
	if reason == belowName && r.dotted && len(name) == len(entry)+1 {
		return ""
	}
	return reason
}

// cutPort is splitport: digits after the last colon.
func cutPort(host string) (string, bool) {
	colon := strings.LastIndexByte(host, ':')
	if colon < 0 || !isDigits(host[colon+1:]) {
		return host, false
	}
	return host[:colon], true
}
