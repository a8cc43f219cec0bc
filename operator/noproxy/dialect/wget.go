package dialect

import (
	"strings"

	"github.com/fairlead-io/fairlead/operator/noproxy/internal/percent"
)

// GNU Wget 1.x, built without libproxy as in Debian.
//
// Rules: wget 1.21.3 and 1.25.0, src/retr.c getproxy and no_proxy_match,
// src/host.c sufmatch, src/utils.c sepstring, src/url.c url_parse, src/http.c
// initialize_proxy_configuration. The variables are read in lower case only.
var wgetFamily = []*Client{{
	Name:   "wget",
	Latest: "1.25",
	Behaviours: versions{
		{"", "", "wget 1.21.3 src/retr.c, src/host.c and src/url.c", wgetRules(":/").read},
		{"1.25", "a proxy without a scheme must not hold a colon but the one before its port", "wget 1.25.0 src/retr.c, src/host.c and src/url.c", wgetRules(":").read},
	}.behaviours(),
}}

// wgetRules: a value without a scheme is looked at up to one of these characters.
func wgetRules(ends string) rules {
	return rules{
		find: Env.set, http: "http_proxy", https: "https_proxy", no: "no_proxy", listFirst: true,
		readProxy: wgetURL(ends).read,
		host: func(t Target) (host, string) {
			if name, ok := wgetHost(t.Host); ok {
				return named(name)
			}
			return host{}, badURL
		},
		cut: cutWget, entry: folded(asciiLower), names: exactly | dotted | below,
	}
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

// wgetURL is url_parse: user information is what RFC 2396 allows in front of
// the first "@" (url_skip_credentials). wget takes an https URL for https
// targets only, and speaks http to it. It sends no user without a password.
func wgetURL(ends string) *proxyURL {
	return &proxyURL{
		cut:    func(text string) (urlParts, bool) { return cutWgetURL(wgetEscape(completeWget(text, ends))) },
		decode: percentDecodeC,
		refuses: func(u *urlParts, target string) (p proxy) {
			if u.scheme == "https" && target != "https" {
				p = failing
			}
			return p
		},
		host: func(u *urlParts) (ok bool) {
			ok = !u.bracketed || isIPv6(u.host)
			var fine bool
			u.host, fine = wgetHost(u.host)
			return ok && fine
		},
		schemes: map[string]Protocol{"http": Connect, "https": Connect}, ports: webPorts,
		sends:     func(u *urlParts) bool { return u.hasPassword },
		reach:     proxyAddress,
		malformed: failing, broken: failing,
	}
}

var cutWgetURL = grammar(`^(?P<scheme>(?i:https?))://(?:(?P<userinfo>[\w\-.!~*'();&=+$,%][\w\-.!~*'();:&=+$,%]*)@)?` + hostPort)

// completeWget puts a scheme in front of a value that has none:
// rewrite_shorthand_url, since 1.25 maybe_prepend_scheme. What it leaves alone
// does not parse then, and what the former takes for ftp is no proxy.
func completeWget(value, ends string) string {
	lower := asciiLower(value)
	for _, scheme := range []string{"http://", "https://", "ftp://", "ftps://"} {
		if strings.HasPrefix(lower, scheme) {
			return value
		}
	}
	at := strings.IndexAny(value, ends)
	if at > 0 && value[at] == ':' {
		if port, _, _ := strings.Cut(value[at+1:], "/"); !isDigits(port) {
			return value
		}
	}
	if at == 0 {
		return value
	}
	return "http://" + value
}

// wgetEscape is reencode_escapes: it encodes what no URL may hold, and percent
// signs that encode nothing, so that a percent sign always does afterwards.
func wgetEscape(text string) string {
	at := -1
	return percent.Encode(text, func(c byte) bool {
		at++
		_, encodes := percent.Byte(text, at)
		return c == '%' && !encodes || c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0
	})
}
