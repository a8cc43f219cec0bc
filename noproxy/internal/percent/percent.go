// Package percent reads and writes percent-encoding (RFC 3986, 2.1), as leniently as
// most clients do. A "%" without two digits behind it stays as it is.
package percent

import "strings"

const digits = "0123456789ABCDEF"

// Byte returns the byte that "%xx" at a place of the text stands for, if it
// stands there.
func Byte(text string, at int) (byte, bool) {
	if at+2 >= len(text) || text[at] != '%' {
		return 0, false
	}
	high, low := value(text[at+1]), value(text[at+2])
	return byte(high<<4 | low), high >= 0 && low >= 0
}

// value returns the value of a hexadecimal digit, or -1.
func value(c byte) int {
	if c >= 'a' && c <= 'f' {
		c -= 'a' - 'A'
	}
	return strings.IndexByte(digits, c)
}

// Valid reports whether two digits follow every percent sign.
func Valid(text string) bool {
	for i := range len(text) {
		if _, ok := Byte(text, i); text[i] == '%' && !ok {
			return false
		}
	}
	return true
}

// Decode decodes every "%xx".
func Decode(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	var decoded strings.Builder
	for i := 0; i < len(text); i++ {
		c, ok := Byte(text, i)
		if ok {
			i += 2
		} else {
			c = text[i]
		}
		decoded.WriteByte(c)
	}
	return decoded.String()
}

// Encode encodes the bytes for which the function says so.
func Encode(text string, encode func(c byte) bool) string {
	var encoded strings.Builder
	for _, c := range []byte(text) {
		if encode(c) {
			encoded.WriteString(Escape(c))
		} else {
			encoded.WriteByte(c)
		}
	}
	return encoded.String()
}

// Escape returns a byte as "%XX".
func Escape(c byte) string { return string([]byte{'%', digits[c>>4], digits[c&15]}) }

// Unreserved reports whether a byte never needs to be encoded (RFC 3986, 2.3).
func Unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}
