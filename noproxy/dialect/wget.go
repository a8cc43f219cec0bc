package dialect

import "strings"

// GNU Wget 1.x, built without libproxy as in Debian.
//
// Rules: wget 1.21.3 and 1.25.0, src/retr.c getproxy and no_proxy_match,
// src/host.c sufmatch, src/utils.c sepstring, src/url.c url_parse, src/http.c
// initialize_proxy_configuration. The variables are read in lower case only.
var wgetFamily = []*Client{{
	Name:       "wget",
	Latest:     "1.25",
	Behaviours: []Behaviour{{Source: "wget 1.21.3 and 1.25.0 src/retr.c, src/host.c and src/url.c", Read: wgetRules.read}},
}}

var wgetRules = rules{
	find: Env.set, http: "http_proxy", https: "https_proxy", no: "no_proxy", readProxy: wgetURL.read, listFirst: true,
	host: func(t Target) (host, string) {
		if name, ok := wgetHost(t.Host); ok {
			return named(name)
		}
		return host{}, badURL
	},
	cut: cutWget, entry: folded(asciiLower), names: exactly | dotted | below,
}

// cutWget cuts at commas and drops the white space after them, not that before
// them, nor that at the start. Empty entries stay.
func cutWget(list string) []Span {
	spans := elementsOf(list)
	for i := 1; i < len(spans); i++ {
		span := &spans[i]
		span.Start = min(skip(list, span.Start, " \t\n\v\f\r"), len(list))
		span.End = max(span.Start, span.End)
	}
	return spans
}

// wgetHost decodes a host; wget makes ASCII of it if it can.
func wgetHost(host string) (string, bool) {
	host = asciiLower(percentDecodeC(host))
	fine := !hasControl(host) && !strings.Contains(host, "\x7f")
	if ascii, ok := toASCII(host); ok {
		return ascii, fine
	}
	return host, fine
}

// wgetURL: wget takes an https URL for https targets only, and speaks http to it. It
// sends no user without a password. Without a scheme there is but a name and a port.
var wgetURL = proxyTraits{
	refuses: func(u *proxyURL, target string) (p proxy) {
		if u.scheme == "https" && target != "https" || u.scheme == "" && (u.bracketed || u.hasPassword) {
			p = failing
		}
		return p
	},
	ports:   webPorts,
	schemes: map[string]Protocol{"": Connect, "http": Connect, "https": Connect}, unknown: failing,
	sends: withPassword,
}
