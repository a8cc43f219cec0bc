package dialect

import (
	"strings"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/operator/noproxy/internal/percent"
)

// isScheme tells whether the text before the first colon can be a scheme.
func isScheme(text string) bool {
	for i, c := range []byte(text) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return text != ""
}

// isRootPath tells whether what follows the authority comes down to "/": dot
// segments take each other away, and an empty query or fragment is none.
func isRootPath(rest string, special bool) bool {
	rest, fragment, _ := strings.Cut(rest, "#")
	path, query, _ := strings.Cut(rest, "?")
	if fragment != "" || query != "" {
		return false
	}
	if special {
		path = strings.ReplaceAll(path, `\`, "/")
	}
	if path == "" {
		return special
	}
	var kept []string
	segments := strings.Split(path[1:], "/")
	for i, segment := range segments {
		last := i == len(segments)-1
		switch strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") {
		case "..":
			kept = kept[:max(0, len(kept)-1)]
		case ".":
		default:
			kept = append(kept, segment)
			continue
		}
		if last {
			kept = append(kept, "")
		}
	}
	return len(kept) == 1 && kept[0] == ""
}

// encodeUserinfo encodes the characters of the userinfo percent-encode set.
func encodeUserinfo(text string) string {
	return percent.Encode(text, func(c byte) bool { return c < ' ' || c > '~' || strings.IndexByte(" \"#<>?^`{}/:;=@[\\]|", c) >= 0 })
}

// decodeURIComponent is the function of JavaScript, which throws on a percent
// sign that no two digits follow, and on bytes that are not UTF-8.
func decodeURIComponent(text string) (string, bool) {
	decoded := percent.Decode(text)
	return decoded, percent.Valid(text) && utf8.ValidString(decoded)
}

// isJSSpace is \s of JavaScript's regular expressions, and what trim removes.
func isJSSpace(r rune) bool {
	switch {
	case '\t' <= r && r <= '\r', r == ' ', r == 0xa0, r == 0x1680, 0x2000 <= r && r <= 0x200a:
		return true
	}
	return r == 0x2028 || r == 0x2029 || r == 0x202f || r == 0x205f || r == 0x3000 || r == 0xfeff
}

// jsElements cuts a list where isSeparator says so, and drops what is empty.
func jsElements(list string, isSeparator func(rune) bool) []Span {
	var spans []Span
	start := 0
	for i, r := range list {
		if !isSeparator(r) {
			continue
		}
		if i > start {
			spans = append(spans, Span{start, i})
		}
		start = i + utf8.RuneLen(r)
	}
	if start < len(list) {
		spans = append(spans, Span{start, len(list)})
	}
	return spans
}

// cutJS cuts at commas and at white space of any kind.
func cutJS(list string) []Span {
	return jsElements(list, func(r rune) bool { return r == ',' || isJSSpace(r) })
}

// splitPort cuts ":digits" off, as /^(.+):(\d+)$/ does.
func splitPort(entry string) (host, port string) {
	colon := strings.LastIndexByte(entry, ':')
	if colon <= 0 || !isDigits(entry[colon+1:]) {
		return entry, ""
	}
	return entry[:colon], jsPort(entry[colon+1:])
}

// jsPort is a number as it is compared. Zero means none, as it does in JavaScript.
func jsPort(digits string) string {
	return strings.TrimLeft(digits, "0")
}
