package dialect

import (
	"strings"
	"unicode/utf8"
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

const upperHex = "0123456789ABCDEF"

// encodeUserinfo encodes the characters of the userinfo percent-encode set.
func encodeUserinfo(text string) string {
	const set = " \"#<>?^`{}/:;=@[\\]|"
	var b strings.Builder
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' || strings.IndexByte(set, c) >= 0 {
			b.WriteByte('%')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// decodeURIComponent is the function of JavaScript, which throws on a percent
// sign that no two digits follow, and on bytes that are not UTF-8.
func decodeURIComponent(text string) (string, bool) {
	for i := range len(text) {
		if text[i] == '%' && (i+2 >= len(text) || !isHex(text[i+1]) || !isHex(text[i+2])) {
			return "", false
		}
	}
	decoded := percentDecode(text)
	return decoded, utf8.ValidString(decoded)
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

func isCommaOrSpace(r rune) bool { return r == ',' || isJSSpace(r) }

// splitPort cuts ":digits" off, as /^(.+):(\d+)$/ does. A number that is too
// large for every port is 65536; 0 means none, as it does in JavaScript.
func splitPort(entry string) (host string, port int) {
	colon := strings.LastIndexByte(entry, ':')
	if colon <= 0 || !isDigits(entry[colon+1:]) {
		return entry, 0
	}
	return entry[:colon], portNumber(entry[colon+1:])
}

func portNumber(digits string) int {
	number := 0
	for _, c := range []byte(digits) {
		number = min(number*10+int(c-'0'), 65536)
	}
	return number
}

// trimJS narrows a span as trim of JavaScript does.
func (s Span) trimJS(list string) Span {
	text := s.Of(list)
	s.Start += len(text) - len(strings.TrimLeftFunc(text, isJSSpace))
	s.End -= len(text) - len(strings.TrimRightFunc(text, isJSSpace))
	return Span{min(s.Start, s.End), s.End}
}
