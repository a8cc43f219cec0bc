package render

import "strings"

// aptOption returns one line of apt.conf(5): an option and its value in double
// quotes. Nothing inside them can be escaped (apt-pkg/contrib/configuration.cc,
// ReadConfigFile; ParseCWord of strutl.cc), so a double quote is refused, and a
// control character. Other characters than those of host names are refused in
// the option's name, where ":" separates and "{" opens.
func aptOption(name, value string) (string, error) {
	switch {
	case strings.ContainsFunc(name, func(r rune) bool { return !isOptionRune(r) }):
		return "", notCarriable("a host in NO_PROXY has a character that no option of apt.conf can have")
	case strings.ContainsFunc(value, func(r rune) bool { return r == '"' || isControl(r) || r > 0x7f }):
		return "", notCarriable("the value of %s has a double quote, a control character or one outside ASCII, which apt.conf cannot carry", name)
	}
	return name + ` "` + value + `";`, nil
}

func isOptionRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.:", r)
}
