package dialect

import (
	"net/netip"
	"regexp"
	"strings"
)

// rubyURI is what matters of a URI.
type rubyURI struct {
	scheme   string // in lower case
	userinfo string
	host     string // without brackets; none is empty
	port     string // or the default one of the scheme; none is empty
}

// From ruby/uri lib/uri/rfc3986_parser.rb: everything is ASCII, and most odd
// characters must be encoded.
var rubyPattern = regexp.MustCompile(`^(?:([A-Za-z][+\-.0-9A-Za-z]*):)?` +
	`(?://(?:((?:%[0-9A-Fa-f]{2}|[!$&-.0-;=A-Z_a-z~])*)@)?(\[[0-9A-Fa-f:.]+\]|(?:%[0-9A-Fa-f]{2}|[!$&-.0-9;=A-Z_a-z~])*)(?::([0-9]*))?(?:/(?:%[0-9A-Fa-f]{2}|[!$&-.0-;=@-Z_a-z~/])*)?` +
	`|(/?(?:(?:%[0-9A-Fa-f]{2}|[!$&-.0-;=@-Z_a-z~])(?:%[0-9A-Fa-f]{2}|[!$&-.0-;=@-Z_a-z~/])*)?))` +
	`(?:\?([^#]*))?(?:#(?:%[0-9A-Fa-f]{2}|[!$&-.0-;=@-Z_a-z~/?])*)?$`)

var rubyPorts = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21", "ldap": "389", "ldaps": "636"}

func parseRubyURI(text string) (rubyURI, bool) {
	parts := rubyPattern.FindStringSubmatch(text)
	if parts == nil || !isASCII(text) {
		return rubyURI{}, false
	}
	scheme, path := parts[1], parts[5]
	first, _, _ := strings.Cut(path, "/")
	if scheme == "" && strings.Contains(first, ":") {
		return rubyURI{}, false
	}
	uri := rubyURI{scheme: strings.ToLower(scheme), userinfo: parts[2], host: parts[3], port: strings.TrimLeft(parts[4], "0")}
	if bracketed, found := strings.CutPrefix(uri.host, "["); found {
		uri.host = strings.TrimSuffix(bracketed, "]")
		if _, err := netip.ParseAddr(uri.host); err != nil {
			return rubyURI{}, false
		}
	}
	if parts[4] == "" {
		uri.port = rubyPorts[uri.scheme]
	}
	return uri, true
}
