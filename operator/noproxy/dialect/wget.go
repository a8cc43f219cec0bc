package dialect

import "strings"

// GNU Wget 1.x, built without libproxy as in Debian.
//
// Rules: wget 1.21.3 and 1.25.0, src/retr.c getproxy and no_proxy_match,
// src/host.c sufmatch, src/utils.c sepstring, src/url.c url_parse, src/http.c
// initialize_proxy_configuration. The variables are read in lower case only.
var wgetFamily = []*Client{{
	Name: "wget",
	Behaviours: []Behaviour{
		{Source: "wget 1.21.3 src/retr.c, src/host.c and src/url.c", Read: wgetRelease{shorthand: true}.read},
		{
			Since: "1.25", Change: "a proxy without a scheme must not hold a colon but the one before its port",
			Source: "wget 1.25.0 src/retr.c, src/host.c and src/url.c", Read: wgetRelease{}.read,
		},
	},
}}

type wgetRelease struct {
	shorthand bool // until 1.24: a value may be in the short form of a URL
}

func (w wgetRelease) read(env Env) Decider {
	noProxy := env.set("no_proxy")
	list := wgetEntries(noProxy.value)
	proxies := map[string]wgetProxy{
		"http":  w.parseProxy(env.set("http_proxy")),
		"https": w.parseProxy(env.set("https_proxy")),
	}
	return func(t Target) Decision {
		host, ok := wgetHost(t.Host)
		if !ok {
			return fails("", badURL)
		}
		for _, entry := range list {
			if reason := entry.covers(host); reason != "" {
				return direct(noProxy.name, entry.span, reason)
			}
		}
		return proxies[t.Scheme].decide(t.Scheme)
	}
}

// wgetEntry is an entry of no_proxy: a text that the host ends with.
type wgetEntry struct {
	span Span
	text string // in lower case
}

// wgetEntries cuts at commas and drops the white space after them, not that
// before them, nor that at the start.
func wgetEntries(list string) []wgetEntry {
	if list == "" {
		return nil
	}
	var entries []wgetEntry
	for i, span := range elements(list) {
		if i > 0 {
			span.Start = min(skip(list, span.Start, " \t\n\v\f\r"), len(list))
			span.End = max(span.Start, span.End)
		}
		entries = append(entries, wgetEntry{span, asciiLower(span.Of(list))})
	}
	return entries
}

// covers: the host itself, what is below it, or any end if it starts with a dot.
func (e wgetEntry) covers(host string) string {
	above, ends := strings.CutSuffix(host, e.text)
	switch {
	case !ends:
		return ""
	case above == "":
		return theName
	case strings.HasSuffix(above, "."), strings.HasPrefix(e.text, "."):
		return belowName
	}
	return ""
}

// wgetHost decodes a host; wget makes ASCII of it if it can.
func wgetHost(host string) (string, bool) {
	host = asciiLower(percentDecodeC(host))
	for i := range len(host) {
		if host[i] < ' ' || host[i] == 0x7f {
			return "", false
		}
	}
	if ascii, ok := toASCII(host); ok {
		return ascii, true
	}
	return host, true
}

// wgetProxy is the value of a proxy variable as wget reads it.
type wgetProxy struct {
	variable    string
	off, broken bool
	https       bool // an https URL: wget takes that for https targets only, and speaks http to it
	hop         Hop
}

func (w wgetRelease) parseProxy(v variable) wgetProxy {
	proxy := wgetProxy{variable: v.name, off: v.value == ""}
	if proxy.off {
		return proxy
	}
	u, ok := parseWgetURL(w.complete(v.value))
	proxy.https = u.scheme == "https"
	address, found := proxyAddress(u.host, u.port)
	proxy.hop.Address = address
	proxy.broken = !ok || !found || u.port == "0"
	if u.hasPassword { // wget sends no user without one
		proxy.hop.Auth = Sends(u.user + ":" + u.password)
	}
	return proxy
}

func (p wgetProxy) decide(scheme string) Decision {
	switch {
	case p.variable == "":
		return direct("", Span{}, noVariable)
	case p.off:
		return direct(p.variable, Span{}, proxyOff)
	case p.broken || p.https && scheme != "https":
		return fails(p.variable, brokenProxy)
	}
	return proxied(p.variable, p.hop.plain(scheme))
}

// complete puts a scheme in front of a value that has none: rewrite_shorthand_url,
// since 1.25 maybe_prepend_scheme. What it leaves alone does not parse then, and
// what the former takes for ftp is no proxy.
func (w wgetRelease) complete(value string) string {
	lower := asciiLower(value)
	for _, scheme := range []string{"http://", "https://", "ftp://", "ftps://"} {
		if strings.HasPrefix(lower, scheme) {
			return value
		}
	}
	ends := ":"
	if w.shorthand {
		ends = ":/"
	}
	at := strings.IndexAny(value, ends)
	if at == 0 {
		return value
	}
	if at > 0 && value[at] == ':' {
		port, _, _ := strings.Cut(value[at+1:], "/")
		if !isDigits(port) {
			return value
		}
	}
	return "http://" + value
}

// wgetURL is a URL as url_parse takes it apart.
type wgetURL struct {
	scheme, user, password, host, port string
	hasPassword                        bool
}

func parseWgetURL(text string) (wgetURL, bool) {
	u := wgetURL{port: "80"}
	text = wgetEscape(text)
	scheme, rest, found := strings.Cut(text, "://")
	u.scheme = asciiLower(scheme)
	switch {
	case !found || u.scheme != "http" && u.scheme != "https":
		return u, false
	case u.scheme == "https":
		u.port = "443"
	}
	userinfo, rest, found := cutWgetUserinfo(rest)
	if found {
		user, password, hasPassword := strings.Cut(userinfo, ":")
		if user == "" {
			return u, false
		}
		u.user, u.password, u.hasPassword = percentDecodeC(user), percentDecodeC(password), hasPassword
	}
	return u, u.parseAuthority(rest)
}

func (u *wgetURL) parseAuthority(rest string) bool {
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	host, port, _ := strings.Cut(rest, ":")
	if inner, bracketed := strings.CutPrefix(rest, "["); bracketed {
		var after string
		var closed bool
		if host, after, closed = strings.Cut(inner, "]"); !closed || !isIPv6(host) || after != "" && after[0] != ':' {
			return false
		}
		port = strings.TrimPrefix(after, ":")
	}
	if port != "" {
		if !isDigits(port) || atoi(port) > 65535 {
			return false
		}
		u.port = strings.TrimLeft(port[:len(port)-1], "0") + port[len(port)-1:]
	}
	var ok bool
	u.host, ok = wgetHost(host)
	return ok && u.host != ""
}

// cutWgetUserinfo is url_skip_credentials: user information ends at the first
// "@", if nothing but what RFC 2396 allows stands before it.
func cutWgetUserinfo(rest string) (userinfo, after string, found bool) {
	at := skip(asciiLower(rest), 0, "abcdefghijklmnopqrstuvwxyz0123456789-_.!~*'();:&=+$,%")
	if at < len(rest) && rest[at] == '@' {
		return rest[:at], rest[at+1:], true
	}
	return "", rest, false
}

// isIPv6 reports whether a text is an IPv6 address without a zone.
func isIPv6(text string) bool {
	addr := literal(text)
	return addr.Is6() && addr.Zone() == ""
}

// wgetEscape is reencode_escapes: it encodes what no URL may hold, and percent
// signs that encode nothing, so that a percent sign always does afterwards.
func wgetEscape(text string) string {
	const hex = "0123456789ABCDEF"
	var escaped strings.Builder
	for i := range len(text) {
		c := text[i]
		_, encodes := percentByte(text[i:])
		if c == '%' && !encodes || c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			escaped.WriteString("%" + hex[c>>4:c>>4+1] + hex[c&15:c&15+1])
			continue
		}
		escaped.WriteByte(c)
	}
	return escaped.String()
}
