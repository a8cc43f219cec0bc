package dialect

import (
	"strconv"
	"strings"
)

// parse is wget_iri_parse. A name that a colon and a digit follow is a host, not a
// scheme. Until 1.99.1 any scheme is fine, and one that is not known has no port.
func (w wget2Release) parse(text string) (urlParts, bool) {
	text = strings.TrimLeftFunc(text, cSpace)
	u := urlParts{scheme: "http", port: "80"}
	if text == "" {
		return u, false
	}
	end := skip(asciiLower(text), 0, schemeCharacters)
	letter := asciiLower(text[:1])
	if "a" <= letter && letter <= "z" && end < len(text) && text[end] == ':' && !isDigits(text[end+1:min(end+2, len(text))]) {
		u.scheme, text = asciiLower(text[:end]), text[end+1:]
		u.port = webPorts[u.scheme]
		if u.port == "" && w.knowsSchemes {
			return u, false
		}
	}
	authority, _ := cutAuthority(strings.TrimLeft(text, "/"))
	authority, _, _ = strings.Cut(authority, "%00")
	authority = percentDecodeC(authority) // before it is taken apart: an encoded "@" splits too
	if authority == "" {
		u.port = "0" // without a host nothing can be reached, not even parsed if the scheme is known
		return u, u.scheme != "http" && u.scheme != "https"
	}
	_, authority, _ = cutFirstAt(authority)
	ok := u.parseWget2(authority, w.checksPorts)
	if u.port == "" {
		u.port = "0"
	}
	return u, ok
}

// parseWget2 takes what number it finds for the port and leaves the default
// where there is none.
func (u *urlParts) parseWget2(authority string, checksPorts bool) bool {
	var port string
	if inner, bracketed := strings.CutPrefix(authority, "["); bracketed {
		end := strings.LastIndexByte(inner, ']')
		if end < 0 {
			end = len(inner)
		}
		u.host = inner[:end]
		if after := strings.TrimPrefix(inner[end:], "]"); strings.HasPrefix(after, ":") {
			port = after[1:]
		}
	} else {
		u.host, port, _ = strings.Cut(authority, ":")
	}
	u.host = asciiLower(u.host)
	if ascii, ok := toASCII(u.host); ok {
		u.host = ascii
	}
	if digits := port[:skip(port, 0, "0123456789")]; digits != "" {
		number := atoi(digits)
		switch {
		case number > 0 && number < 65536:
			u.port = strconv.Itoa(number)
		case checksPorts:
			return false
		}
	}
	return true
}
