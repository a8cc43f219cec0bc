package render

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// Apt returns the lines for a file in /etc/apt/apt.conf.d (apt.conf(5),
// apt-transport-http(1)). apt knows no NO_PROXY here but single hosts, so names
// and IPv4 addresses of the list are written, the rest is counted. Without an
// answer for one protocol, apt would take that of the other: it gets DIRECT.
func Apt(e resolve.Effective) ([]byte, error) {
	if !e.HasProxy() {
		return nil, nil
	}
	hosts := aptHosts(e.NoProxy.Any)
	var options []variable
	for _, protocol := range []struct{ name, url string }{{"http", e.HTTP.Reveal()}, {"https", e.HTTPS.Reveal()}} {
		name := "Acquire::" + protocol.name + "::Proxy"
		if protocol.url == "" {
			options = append(options, variable{name, "DIRECT"})
			continue
		}
		options = append(options, variable{name, protocol.url})
		for _, host := range hosts {
			options = append(options, variable{name + "::" + host, "DIRECT"})
		}
	}
	lines, err := assign(e, "apt.conf", options, aptOption)
	if err != nil {
		return nil, err
	}
	if omitted := len(e.NoProxy.Any) - len(hosts); omitted > 0 {
		lines = append([]string{fmt.Sprintf("// apt.conf has single hosts only: %d of %d entries of NO_PROXY are not here.", omitted, len(e.NoProxy.Any))}, lines...)
	}
	return joinLines(lines), nil
}

// aptHosts returns the entries that mean one host, for every port.
func aptHosts(list noproxy.List) []string {
	var hosts []string
	for _, item := range list {
		e := item.Entry
		named := e.Kind == noproxy.Host || e.Kind == noproxy.Domain
		if e.Port == 0 && !e.Rooted && (named || e.Kind == noproxy.Addr && e.Prefix.Addr().Is4()) {
			hosts = append(hosts, e.String())
		}
	}
	return hosts
}

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

// Dnf returns the lines for dnf.conf(5). dnf has one proxy for both protocols and
// no NO_PROXY, so a configuration with different ones is refused.
func Dnf(e resolve.Effective) ([]byte, error) {
	if !e.HasProxy() {
		return nil, nil
	}
	if !e.HTTP.Equal(e.HTTPS) {
		return nil, problemAt(e, "dnf.conf", notCarriable("HTTP_PROXY and HTTPS_PROXY differ, and dnf has one proxy for both"))
	}
	line, err := dnfOption("proxy", e.HTTP.Reveal())
	if err != nil {
		return nil, problemAt(e, "dnf.conf", err)
	}
	return []byte("[main]\n" + line + "\n"), nil
}

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
