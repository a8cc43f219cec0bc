// Package proxyenv names the environment variables of a proxy. Files, Secrets and folders with their values have the same names.
package proxyenv

import "strings"

// The variables that Fairlead sets, in both cases, because clients disagree about which they read.
const (
	HTTP         = "HTTP_PROXY"
	HTTPS        = "HTTPS_PROXY"
	NoProxy      = "NO_PROXY"
	LowerHTTP    = "http_proxy"
	LowerHTTPS   = "https_proxy"
	LowerNoProxy = "no_proxy"
)

// Others have to do with them.
const (
	All           = "ALL_PROXY" // is read for both protocols, by some clients
	HTTPPrevious  = "HTTP_PROXY_PREVIOUS"
	HTTPSPrevious = "HTTPS_PROXY_PREVIOUS" // both with the previous credentials, for relays
)

// Upper are the variables in upper case, Names those in both, and Groups those by which a container has settings of its own.
var (
	Upper  = []string{HTTP, HTTPS, NoProxy}
	Names  = []string{HTTP, LowerHTTP, HTTPS, LowerHTTPS, NoProxy, LowerNoProxy}
	Groups = []string{HTTP, HTTPS, NoProxy, All}
)

// From returns which of Upper has the value of one of Names.
func From(name string) string { return strings.ToUpper(name) }

// IsList reports whether a variable is a NO_PROXY, in any case.
func IsList(name string) bool { return strings.EqualFold(name, NoProxy) }
