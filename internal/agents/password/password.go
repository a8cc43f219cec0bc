// Package password finds the passwords of proxies that a pod shows. One by $(NAME) is elsewhere. The patterns are those of
// policies/audit-proxy-env.
package password

import "regexp"

// Parts that clients would refuse count, too: what is in front of an @ is shown.
var (
	inValue    = regexp.MustCompile(`//[^/@:]*:[^@]+@|^[^/@:]*:[^/@][^@]*@`)
	inArgument = regexp.MustCompile(`//[^/@:\s]*:[^@\s]+@`) // also within a script
	elsewhere  = regexp.MustCompile(`:[$][(][-._A-Za-z0-9]+[)]@`)
)

// IsOf reports whether a flag, a variable or a field of that name may have a password in it; false for TOKEN_URL and the like.
func IsOf(name string) bool { return secret.MatchString(name) && !Dials(name) }

// Dials reports whether the value of a flag, a variable or a field of that name is a host, or a URL.
func Dials(name string) bool { return dials.MatchString(name) }

var (
	secret = regexp.MustCompile(`(?i)pass|pwd|secret|token|cred|key`)
	dials  = regexp.MustCompile(`(?i)(host|addr|address|server|endpoint|url)(s|es)?$`)
)

// InValue reports whether the value of a variable shows a password.
func InValue(text string) bool { return inValue.MatchString(text) && !elsewhere.MatchString(text) }

// InArgument reports whether an argument does.
func InArgument(text string) bool {
	return inArgument.MatchString(text) && !elsewhere.MatchString(text)
}

// Redacted returns an argument without user information, also where it is by $(NAME).
func Redacted(text string) string { return inArgument.ReplaceAllString(text, "//***@") }
