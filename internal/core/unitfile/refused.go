package unitfile

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// longest is a line of systemd (src/shared/conf-parser.c, LONG_LINE_MAX).
const longest = 1 << 20

// UpTo returns what systemd reads of a unit before a line that it refuses, the number of that line, and the reason; 0: there is none.
func UpTo(data []byte) (before []byte, number int, reason string) {
	read := 0
	for line := range bytes.Lines(data) {
		number++
		if reason := refusal(string(line)); reason != "" {
			return data[:read], number, reason
		}
		read += len(line)
	}
	return data, 0, ""
}

func refusal(line string) string {
	text := strings.Trim(strings.TrimPrefix(line, ByteOrderMark), blanks)
	switch {
	case len(line) > longest:
		return "the line is longer than 1 MiB"
	case strings.HasPrefix(text, "#"), strings.HasPrefix(text, ";"):
		return ""
	case !utf8.ValidString(text):
		return "the line is not UTF-8"
	case strings.HasPrefix(text, "[") && !strings.HasSuffix(text, "]"):
		return "the section's name is not closed"
	}
	return ""
}
