package render

import "strings"

// dnfOption returns one line of dnf.conf(5) whose value is a URL. The only
// character with a meaning that a URL can hold is $, which starts a variable
// (libdnf, ConfigParser::substitute); newer versions can escape it with a
// backslash, older ones cannot, so it is percent-encoded, which libcurl undoes.
// Control characters and blanks, which no URL has, are refused.
func dnfOption(name, url string) (string, error) {
	if strings.ContainsFunc(url, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }) {
		return "", notCarriable("%s has a blank, a backslash, a control character or one outside ASCII, which dnf.conf cannot carry", name)
	}
	return name + "=" + strings.ReplaceAll(url, "$", "%24"), nil
}
