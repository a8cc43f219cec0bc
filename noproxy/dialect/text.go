package dialect

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/noproxy/internal/percent"
)

// isASCII reports whether a text has only ASCII characters.
func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// percentDecodeC leaves "%00", too, which no C string can hold decoded.
func percentDecodeC(text string) string {
	return percent.Decode(strings.ReplaceAll(text, "%00", "%2500"))
}

// isDigits reports whether a text is a decimal number without a sign.
func isDigits(text string) bool {
	return text != "" && skip(text, 0, "0123456789") == len(text)
}

// skip returns where a run of the characters of a set ends.
func skip(text string, at int, set string) int {
	for at < len(text) && strings.IndexByte(set, text[at]) >= 0 {
		at++
	}
	return at
}

// atoi is C's: it takes what number it finds at the start, and 0 if it finds
// none. What is too large is merely large here.
func atoi(text string) int {
	text = strings.TrimLeftFunc(text, cSpace)
	sign := 1
	if text != "" && (text[0] == '-' || text[0] == '+') {
		if text[0] == '-' {
			sign = -1
		}
		text = text[1:]
	}
	number := 0
	for _, c := range []byte(text[:skip(text, 0, "0123456789")]) {
		number = min(number*10+int(c-'0'), math.MaxInt32)
	}
	return sign * number
}

// portNumber is a number of digits; one too large for every port is 65536.
func portNumber(digits string) int {
	number := 0
	for _, c := range []byte(digits) {
		number = min(number*10+int(c-'0'), 65536)
	}
	return number
}

// isPort reports whether a connection can be made to a port.
func isPort(text string) bool {
	port, err := strconv.ParseUint(text, 10, 16)
	return err == nil && port > 0
}

// trimZeros takes the zeros in front of a number off.
func trimZeros(digits string) string {
	if trimmed := strings.TrimLeft(digits, "0"); trimmed != "" || digits == "" {
		return trimmed
	}
	return "0"
}

// asciiLower leaves everything but A to Z alone, as C programs do that compare
// bytes; strings.ToLower would turn the Kelvin sign into a k.
func asciiLower(text string) string {
	for i := range len(text) {
		if lowerByte(text[i]) != text[i] {
			lower := []byte(text)
			for j, c := range lower {
				lower[j] = lowerByte(c)
			}
			return string(lower)
		}
	}
	return text
}

// lowerByte is the lower case of ASCII; other bytes have none.
func lowerByte(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// hasControl reports a control character.
func hasControl(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' })
}

// cutAuthority cuts what follows "//" where the authority ends.
func cutAuthority(text string) (authority, rest string) {
	if end := strings.IndexAny(text, "/?#"); end >= 0 {
		return text[:end], text[end:]
	}
	return text, ""
}

// cutLastAt cuts user information off, which ends at the last "@".
func cutLastAt(authority string) (userinfo, hostPort string, ok bool) {
	at := strings.LastIndexByte(authority, '@')
	return authority[:max(at, 0)], authority[at+1:], at >= 0
}

// splitHostPort cuts a host from its port: at the first colon, or behind the
// brackets of an IPv6 address, which it takes off. Only a port may follow these.
func splitHostPort(text string) (host, port string, bracketed, ok bool) {
	inner, bracketed := strings.CutPrefix(text, "[")
	if !bracketed {
		host, port, _ = strings.Cut(text, ":")
		return host, port, false, true
	}
	host, after, closed := strings.Cut(inner, "]")
	port = strings.TrimPrefix(after, ":")
	return host, port, true, closed && (after == "" || after != port)
}

// inBrackets takes the brackets off an IPv6 address.
func inBrackets(text string) (string, bool) {
	if len(text) > 2 && text[0] == '[' && text[len(text)-1] == ']' {
		return text[1 : len(text)-1], true
	}
	return text, false
}
