package render

import (
	"fmt"
	"strings"
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
// On its way to the machine the line is part of a jinja template and of a YAML
// literal block (see checkUserData). So it is written in printable ASCII, which
// no YAML library reads as a line end or refuses, and every { is escaped: {{, {%
// and {# start something in jinja.
//
// The error says what is refused; see checkVariable.
func systemdAssignment(name, value string) (string, error) {
	if err := checkVariable(name, value); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(`"` + name + `=`)
	for _, r := range value {
		writeSystemdRune(&b, r)
	}
	b.WriteByte('"')
	return b.String(), nil
}

func writeSystemdRune(b *strings.Builder, r rune) {
	switch {
	case r == '\\', r == '"':
		b.WriteByte('\\')
		b.WriteRune(r)
	case r == '%':
		b.WriteString("%%")
	case r == '{', isControl(r):
		fmt.Fprintf(b, `\x%02x`, r)
	case r > 0xffff:
		fmt.Fprintf(b, `\U%08x`, r)
	case r > 0x7f:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		b.WriteRune(r)
	}
}
