package render

import "strings"

// MaxPAMLine is the longest line, name and "=" included, that pam_env reads of
// /etc/environment (Linux-PAM 1.4 and 1.5, measured: a longer one is dropped, and
// everything after it is not read; 1.7 has no such limit).
const MaxPAMLine = 8190

// pamAssignment returns NAME=value for /etc/environment, which pam_env(8) reads.
// That language has no escapes (Linux-PAM, modules/pam_env/pam_env.c,
// _parse_env_file): a # ends the value wherever it stands, quotes at the ends are
// taken off, a backslash at the end joins lines, blanks at the ends are read in
// more than one way. What it cannot carry is refused.
func pamAssignment(name, value string) (string, error) {
	line := name + "=" + value
	switch {
	case strings.ContainsFunc(value, isControl):
		return "", notCarriable("%s contains a line end or another control character, which /etc/environment cannot carry", name)
	case strings.Contains(value, "#"):
		return "", notCarriable("%s contains a #, which ends a value in /etc/environment", name)
	case strings.Trim(value, `"'`) != value:
		return "", notCarriable("%s has a quote at an end, which /etc/environment loses", name)
	case strings.HasSuffix(value, `\`):
		return "", notCarriable("%s ends in a backslash, which joins lines in /etc/environment", name)
	case strings.Trim(value, " ") != value:
		return "", notCarriable("%s has a blank at an end, which /etc/environment loses", name)
	case len(line) > MaxPAMLine:
		return "", tooLong("%s makes a line of %d bytes; /etc/environment carries at most %d", name, len(line), MaxPAMLine)
	}
	return line, nil
}
