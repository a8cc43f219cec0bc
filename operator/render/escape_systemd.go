package render

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// systemdAssignment returns NAME=value, quoted for Environment= of a unit file.
//
// systemd takes the line through three stages (systemd.syntax(7), "Quoting";
// systemd.unit(5), "Specifiers"; src/core/load-fragment.c, config_parse_environ,
// measured with versions 252 and 257): quotes are removed and C escapes are
// undone, an unknown escape drops the whole line; then % starts a specifier, an
// unknown one drops the assignment. "$" and single quotes mean nothing inside
// double quotes and must stay as they are.
//
// Refused are a NUL byte, invalid UTF-8, noncharacters, and more bytes than
// execve(2) passes on. The error names the variable, never the value.
func systemdAssignment(name, value string) (string, error) {
	switch {
	case strings.ContainsRune(value, 0):
		return "", errors.New(name + " contains a NUL byte, which no environment can carry")
	case !utf8.ValidString(value):
		return "", errors.New(name + " is not valid UTF-8, which systemd refuses")
	case strings.ContainsFunc(value, isNoncharacter):
		return "", errors.New(name + " contains a noncharacter of Unicode, at which systemd stops reading the file")
	case len(value) > MaxNoProxyBytes:
		return "", fmt.Errorf("%s has %d bytes; a process environment carries at most %d", name, len(value), MaxNoProxyBytes)
	}
	var b strings.Builder
	b.WriteString(`"` + name + `=`)
	for i := range len(value) {
		writeSystemdByte(&b, value[i])
	}
	b.WriteByte('"')
	return b.String(), nil
}

// isNoncharacter is what systemd does not count as UTF-8 although it is
// (src/basic/utf8.c, unichar_is_valid).
func isNoncharacter(r rune) bool { return r >= 0xfdd0 && r <= 0xfdef || r&0xfffe == 0xfffe }

func writeSystemdByte(b *strings.Builder, c byte) {
	switch {
	case c == '\\', c == '"':
		b.WriteByte('\\')
		b.WriteByte(c)
	case c == '%':
		b.WriteString("%%")
	case c < 0x20, c == 0x7f:
		fmt.Fprintf(b, `\x%02x`, c)
	default:
		b.WriteByte(c)
	}
}
