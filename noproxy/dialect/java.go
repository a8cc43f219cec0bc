package dialect

import (
	"strconv"
	"strings"
)

// Java, with HttpURLConnection and everything else that asks the default
// ProxySelector. It does not look at the environment at all: the proxy is in
// system properties, and http.nonProxyHosts is for https too.
var javaFamily = []*Client{{
	Name:    "java",
	Latest:  "27",
	Aliases: []string{"java-HttpURLConnection", "HttpURLConnection", "jdk"},
	Behaviours: []Behaviour{{
		Source: "openjdk/jdk src/java.base/share/classes/sun/net/spi/DefaultProxySelector.java, 17",
		Read:   readJava,
	}},
}}

// javaDefaults are added to every http.nonProxyHosts, unless it is empty.
const javaDefaults = "localhost|127.*|[::1]|0.0.0.0|[::0]"

func readJava(env Env) Decider {
	nonProxy, ok := env["http.nonProxyHosts"]
	r := rules{
		host:  func(t Target) (host, string) { return named(strings.ToLower(t.bracketed())) },
		cut:   func(list string) []Span { return jsElements(list, func(r rune) bool { return r == '|' }) },
		entry: folded(strings.ToLower), covers: javaCovers,
	}
	list, defaults := r.readList(variable{"http.nonProxyHosts", nonProxy}), list{}
	if !ok || nonProxy != "" {
		defaults = r.readList(variable{"", javaDefaults})
	}
	decide := r.decider(map[string]proxy{"http": env.javaProxy("http", "80"), "https": env.javaProxy("https", "443")}, list)
	return func(t Target) Decision {
		decision := decide(t)
		h, _ := r.host(t)
		if _, _, ok := defaults.match(h); ok && decision.Route != Direct {
			return direct("", Span{}, loopback)
		}
		return decision
	}
}

// javaCovers: a host may have a star at either end, or at both.
func javaCovers(e *entry, h host) string {
	text, front := strings.CutPrefix(e.text, "*")
	text, back := strings.CutSuffix(text, "*")
	switch {
	case front && text == "":
		return everything
	case front && back && strings.Contains(h.name, text):
		return "the host contains this text"
	case front && !back:
		return (dotted | ends).covers(text, h.name)
	case !front && back && strings.HasPrefix(h.name, text):
		return "the host starts with this text"
	case !front && !back && h.name == text:
		return theName
	}
	return ""
}

// javaProxy is the proxy for the URLs of one scheme. It looks for a host and,
// where its port is missing or not a number, for a port under the other names.
// There is no way to give a credential.
func (e Env) javaProxy(scheme, port string) proxy {
	host := e.nonEmpty(scheme+".proxyHost", "proxyHost", "socksProxyHost")
	ports := []string{strings.TrimSuffix(host.name, "Host") + "Port", scheme + ".proxyPort", "proxyPort"}
	p := proxy{variable: host, hop: Hop{Protocol: Connect}.toward(scheme)}
	if host.name == "socksProxyHost" {
		ports, port, p.hop.Protocol = ports[:1], "1080", Socks5Local
		if version, ok := javaInteger(e["socksProxyVersion"]); ok && version == 4 {
			p.hop.Protocol = Socks4
		}
	}
	for _, name := range ports {
		if number, ok := javaInteger(e[name]); ok && number != 0 {
			if port = strconv.Itoa(number); number < 0 || number > 65535 {
				p.failure = brokenProxy
			}
			break
		}
	}
	p.hop.Address = joinHostPort(strings.Trim(host.value, "[]"), port)
	if _, ok := parseProxyURL("http://" + p.hop.Address); host.name != "" && p.failure == "" && !ok {
		p.fatal = NotJudged
	}
	return p
}

// javaInteger is Integer.decode: decimal, octal after 0, hexadecimal after 0x or #.
func javaInteger(text string) (int, bool) {
	sign, digits := "", text
	if text != "" && (text[0] == '-' || text[0] == '+') {
		sign, digits = text[:1], text[1:]
	}
	base := 10
	switch {
	case strings.HasPrefix(digits, "0x"), strings.HasPrefix(digits, "0X"):
		digits, base = digits[2:], 16
	case strings.HasPrefix(digits, "#"):
		digits, base = digits[1:], 16
	case len(digits) > 1 && digits[0] == '0':
		digits, base = digits[1:], 8
	}
	if digits == "" || digits[0] == '-' || digits[0] == '+' {
		return 0, false
	}
	number, err := strconv.ParseInt(sign+digits, base, 32)
	return int(number), err == nil
}

// addJava sets the system properties of a proxy; a value that is not a proxy's URL
// is as it is.
func (e Env) addJava(httpProxy, httpsProxy, nonProxyHosts string) {
	for scheme, value := range map[string]string{"http": httpProxy, "https": httpsProxy} {
		if value == "" {
			continue
		}
		u, ok := parseProxyURL(value)
		switch {
		case !ok:
			u.host = value
		case u.scheme == "":
			continue
		}
		if e[scheme+".proxyHost"] = u.host; u.port != "" {
			e[scheme+".proxyPort"] = u.port
		}
	}
	if nonProxyHosts != "" {
		e["http.nonProxyHosts"] = nonProxyHosts
	}
}
