package render

import (
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// JavaToolOptions returns the value of the variable JAVA_TOOL_OPTIONS, which every
// JVM reads, in one line: system properties for the proxy (java.net, "Networking
// Properties"). They can hold no credential. Nor can they hold every entry of the
// list: see [noproxy.NonProxyHosts].
func JavaToolOptions(e resolve.Effective, audience noproxy.Audience) ([]byte, error) {
	var options []string
	for _, protocol := range []struct {
		name string
		url  proxyurl.URL
	}{{"http", e.HTTP}, {"https", e.HTTPS}} {
		if protocol.url.IsZero() {
			continue
		}
		if protocol.url.Scheme() != "http" {
			return nil, problemAt(e, "JAVA_TOOL_OPTIONS", notCarriable("the proxy's URL begins with https, and Java speaks plain HTTP to a proxy"))
		}
		options = append(options, "-D"+protocol.name+".proxyHost="+protocol.url.Host(), "-D"+protocol.name+".proxyPort="+protocol.url.Port())
	}
	if options == nil {
		return nil, nil
	}
	if hosts, _ := noproxy.NonProxyHosts(e.NoProxy.For(audience)); hosts != "" { // an empty one would take Java's own defaults away
		options = append(options, "-Dhttp.nonProxyHosts="+hosts)
	}
	for _, option := range options { // HotSpot splits at white space and takes quotes off (arguments.cpp, parse_options_buffer)
		if strings.ContainsFunc(option, func(r rune) bool { return r <= ' ' || r == '"' || r == '\'' }) {
			return nil, problemAt(e, "JAVA_TOOL_OPTIONS", notCarriable("an entry has a blank, a quote or a control character"))
		}
	}
	return []byte(strings.Join(options, " ") + "\n"), nil
}
