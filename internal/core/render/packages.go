package render

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/operator/noproxy"
)

// Apt returns the lines for a file in /etc/apt/apt.conf.d (apt.conf(5),
// apt-transport-http(1)). apt knows no NO_PROXY here but single hosts, so names
// and IPv4 addresses of the list are written, the rest is counted. Without an
// answer for one protocol, apt would take that of the other: it gets DIRECT. The
// error is a *resolve.Problem.
func Apt(e resolve.Effective) ([]byte, error) {
	if e.HTTP.IsZero() && e.HTTPS.IsZero() {
		return nil, nil
	}
	hosts, omitted := aptHosts(e.NoProxy.Any)
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
	lines, err := assign(options, aptOption)
	if err != nil {
		return nil, problemAt(e, "apt.conf", err)
	}
	if omitted > 0 {
		lines = append([]string{fmt.Sprintf("// apt.conf has single hosts only: %d of %d entries of NO_PROXY are not here.", omitted, len(e.NoProxy.Any))}, lines...)
	}
	return []byte(strings.Join(lines, "\n") + "\n"), nil
}

// aptHosts are the entries that mean one host, for every port.
func aptHosts(list noproxy.List) (hosts []string, omitted int) {
	for _, item := range list {
		switch e := item.Entry; {
		case e.Port != 0, e.Rooted:
			omitted++
		case e.Kind == noproxy.Host, e.Kind == noproxy.Domain, e.Kind == noproxy.Addr && e.Prefix.Addr().Is4():
			hosts = append(hosts, e.String())
		default:
			omitted++
		}
	}
	return hosts, omitted
}

// Dnf returns the lines for dnf.conf(5). dnf has one proxy for both protocols and
// no NO_PROXY, so a configuration with different ones is refused. The error is a
// *resolve.Problem.
func Dnf(e resolve.Effective) ([]byte, error) {
	if e.HTTP.IsZero() && e.HTTPS.IsZero() {
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
