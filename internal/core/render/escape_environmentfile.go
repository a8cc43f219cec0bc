package render

import "strings"

// environmentFileAssignment returns NAME="value" for a file that a unit reads
// with EnvironmentFile=. It is another language than that of unit files
// (systemd.exec(5), "EnvironmentFile="; src/basic/env-file.c,
// parse_env_file_internal): there are no specifiers; inside double quotes a
// backslash escapes \, ", ` and $ alone, and every other byte, line ends
// included, stands for itself.
//
// Quoted texts without a blank between them are one, as in a shell. That is how
// {{, {% and {# are kept away from jinja (see checkUserData): "{""{".
//
// The error says what is refused; see checkVariable.
func environmentFileAssignment(name, value string) (string, error) {
	if err := checkVariable(name, value); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(name + `="`)
	for i := range len(value) {
		switch c := value[i]; c {
		case '\\', '"', '`', '$':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '{':
			b.WriteString(`{""`)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String(), nil
}
