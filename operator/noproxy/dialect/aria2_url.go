package dialect

import "strings"

// parseAria2 is uri_split of the value of a proxy variable. A value that does
// not start with a scheme it knows, in lower case, gets one in front; so another
// scheme makes it invalid.
func parseAria2(value string) (urlParts, bool) {
	ports := map[string]string{"http": "80", "https": "443", "ftp": "21"}
	scheme, rest, found := strings.Cut(value, "://")
	if !found || ports[scheme] == "" {
		scheme, rest = "http", value
	}
	u := urlParts{port: ports[scheme]}
	if rest == "" || strings.IndexByte("@:/", rest[0]) >= 0 {
		return u, false
	}
	authority, whole := rest, true
	if end := strings.IndexAny(rest[1:], "/?#"); end >= 0 {
		authority, whole = rest[:end+1], false
	}
	return u, u.parseAria2(authority, whole)
}

// parseAria2 tells a password from a port by the "@" that follows it. The
// last "@" before the first colon ends a user without a password.
func (u *urlParts) parseAria2(authority string, whole bool) bool {
	before, after, colon := strings.Cut(authority, ":")
	if bracket := strings.IndexByte(before, '['); bracket >= 0 {
		if bracket > 0 {
			if before[bracket-1] != '@' {
				return false
			}
			u.user = before[:bracket-1]
		}
		return u.parseAria2Host(authority[bracket:])
	}
	if password, host, found := strings.Cut(after, "@"); found {
		if strings.LastIndexByte(password, '[') > 0 {
			return false
		}
		u.user, u.password = before, password
		return u.parseAria2Host(host)
	}
	u.host = before
	if at := strings.LastIndexByte(before, '@'); at >= 0 {
		u.user, u.host = before[:at], before[at+1:]
	}
	if colon {
		return u.setAria2Port(after)
	}
	return u.host != "" || !whole
}

func (u *urlParts) parseAria2Host(text string) bool {
	host, port, _, ok := splitHostPort(text)
	u.host = host
	return ok && host != "" && (port == "" && !strings.HasSuffix(text, ":") || u.setAria2Port(port))
}

// setAria2Port: 0 is no port.
func (u *urlParts) setAria2Port(text string) bool {
	if !isDigits(text) || atoi(text) > 65535 {
		return false
	}
	if port := trimZeros(text); port != "0" {
		u.port = port
	}
	return true
}
