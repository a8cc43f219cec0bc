package dialect

import (
	"strconv"
	"strings"
	"unicode"
)

// observed are behaviours of which a measurement records the result of a function.
func observed(observe func(Decision) string, behaviours []Behaviour) []Behaviour {
	for i := range behaviours {
		behaviours[i].Observe = observe
	}
	return behaviours
}

// observeRust words what Matcher.intercept returns.
func observeRust(d Decision) string {
	switch d.Route {
	case Proxy:
		return d.Hop.result.Bytes()
	case Fails:
		return "error"
	}
	return "direct"
}

// rustResult is the result of the function, for a proxy.
func rustResult(u rustURI, protocol Protocol, found bool, user, password string) Auth {
	basic, raw := "None", "None"
	switch {
	case found && (protocol == Connect || protocol == TLS):
		basic = "Some(" + rustHeader("Basic "+user+":"+password) + ")"
	case found:
		raw = "Some((" + rustDebug(user) + ", " + rustDebug(password) + "))"
	}
	return Sends("proxy " + u.scheme + "://" + u.authority + "/ auth=" + basic + " raw=" + raw)
}

// rustHeader is a header value in the words of the measurement, which decodes
// it: a question mark where it is not plain ASCII.
func rustHeader(value string) string {
	if strings.ContainsFunc(value, func(r rune) bool { return r != '\t' && (r < ' ' || r > '~') }) {
		return `"?"`
	}
	return rustDebug(value)
}

// rustDebug is {:?} of a string.
func rustDebug(text string) string {
	var b strings.Builder
	for _, r := range text {
		escape := strings.IndexRune("\x00\t\n\r\"\\", r)
		switch {
		case escape >= 0:
			b.WriteString(`\` + `0tnr"\`[escape:escape+1])
		case !unicode.IsPrint(r) || unicode.Is(unicode.Mn, r):
			b.WriteString(`\u{` + strconv.FormatInt(int64(r), 16) + "}")
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}
