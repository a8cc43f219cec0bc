package dialect

import (
	"strconv"
	"strings"
	"unicode/utf8"
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

// hexByte returns the byte of "%xx" at a place of a text.
func hexByte(text string, at int) (byte, bool) {
	if at+2 >= len(text) || text[at] != '%' {
		return 0, false
	}
	value, err := strconv.ParseUint(text[at+1:at+3], 16, 8)
	return byte(value), err == nil && isHex(text[at+1]) && isHex(text[at+2])
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// percentDecode decodes every "%xx" and leaves all else as it is.
func percentDecode(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	var decoded strings.Builder
	for i := 0; i < len(text); i++ {
		if c, ok := hexByte(text, i); ok {
			decoded.WriteByte(c)
			i += 2
			continue
		}
		decoded.WriteByte(text[i])
	}
	return decoded.String()
}

func isDigits(text string) bool {
	return text != "" && skip(text, 0, "0123456789") == len(text)
}

// lowerByte is the lower case of ASCII; other bytes have none.
func lowerByte(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
