package proxyurl

import "regexp"

// As in policies/audit-proxy-env. Parts that clients would refuse count, too: what is in front of an @ is shown.
var (
	shownInValue  = regexp.MustCompile(`//[^/@:]*:[^@]+@|^[^/@:]*:[^/@][^@]*@`)
	shownInScript = regexp.MustCompile(`//[^/@:\s]*:[^@\s]+@`)
	reference     = regexp.MustCompile(`:[$][(][-._A-Za-z0-9]+[)]@`)
)

// ShowsPassword reports whether the value of a variable has a password. One by $(NAME) is elsewhere.
func ShowsPassword(value string) bool {
	return shownInValue.MatchString(value) && !reference.MatchString(value)
}

// ArgumentShowsPassword is the same of an argument, which may be a script with a URL in it.
func ArgumentShowsPassword(argument string) bool {
	return shownInScript.MatchString(argument) && !reference.MatchString(argument)
}

// RedactArgument returns an argument without the user information of the URLs in it.
func RedactArgument(argument string) string {
	return shownInScript.ReplaceAllString(argument, "//***@")
}

// ShownPatterns are the regular expressions of ShowsPassword: what shows a password, and what refers to one.
func ShownPatterns() []string { return []string{shownInValue.String(), reference.String()} }
