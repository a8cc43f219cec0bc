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
	Aliases: []string{"java-HttpURLConnection", "HttpURLConnection", "jdk"},
	Behaviours: []Behaviour{{
		Source: "openjdk/jdk src/java.base/share/classes/sun/net/spi/DefaultProxySelector.java, 17",
		Read:   readJava,
	}},
}}

// javaDefaults are added to every http.nonProxyHosts, unless it is empty.
const javaDefaults = "localhost|127.*|[::1]|0.0.0.0|[::0]"

func readJava(env Env) Decider {
	nonProxy, set := env["http.nonProxyHosts"]
	var patterns []javaPattern
	if !set || nonProxy != "" {
		patterns = append(readJavaPatterns(nonProxy, true), readJavaPatterns(javaDefaults, false)...)
	}
	proxies := map[string]javaProxy{"http": env.javaProxy("http", "80"), "https": env.javaProxy("https", "443")}
	return func(t Target) Decision {
		proxy := proxies[t.Scheme]
		if proxy.name == "" {
			return direct("", Span{}, noVariable)
		}
		host := strings.ToLower(t.Host)
		if t.Bracketed {
			host = "[" + host + "]"
		}
		for i := range patterns {
			reason := patterns[i].match(host)
			switch {
			case reason == "":
			case patterns[i].given:
				return direct("http.nonProxyHosts", patterns[i].span, reason)
			default:
				return direct("", Span{}, loopback)
			}
		}
		if proxy.broken {
			return fails(proxy.name, brokenProxy)
		}
		return proxied(proxy.name, proxy.hop)
	}
}

// javaPattern is a host with a star at either end, or at both.
type javaPattern struct {
	span        Span
	given       bool // not one of the defaults
	text        string
	front, back bool // has a star there
}

func readJavaPatterns(list string, given bool) []javaPattern {
	var patterns []javaPattern
	for _, span := range jsElements(list, func(r rune) bool { return r == '|' }) {
		text := strings.ToLower(span.Of(list))
		p := javaPattern{span: span, given: given}
		text, p.front = strings.CutPrefix(text, "*")
		p.text, p.back = strings.CutSuffix(text, "*")
		patterns = append(patterns, p)
	}
	return patterns
}

func (p *javaPattern) match(host string) string {
	switch {
	case p.front && p.text == "":
		return everything
	case p.front && p.back && strings.Contains(host, p.text):
		return "the host contains this text"
	case p.front && !p.back && strings.HasSuffix(host, p.text):
		if p.text[0] == '.' {
			return belowName
		}
		return endsWith
	case !p.front && p.back && strings.HasPrefix(host, p.text):
		return "the host starts with this text"
	case !p.front && !p.back && host == p.text:
		return theName
	}
	return ""
}

// javaProxy is the proxy for the URLs of one scheme.
type javaProxy struct {
	name   string // of the property; empty: none
	broken bool   // the port is out of range
	hop    Hop
}

// javaProxy looks for a host and, where its port is missing or not a number,
// for a port under the other names. There is no way to give a credential.
func (e Env) javaProxy(scheme, defaultPort string) javaProxy {
	host := e.nonEmpty(scheme+".proxyHost", "proxyHost", "socksProxyHost")
	ports := []string{strings.TrimSuffix(host.name, "Host") + "Port", scheme + ".proxyPort", "proxyPort"}
	hop := Hop{Protocol: Absolute}
	if scheme == "https" {
		hop.Protocol = Connect
	}
	if host.name == "socksProxyHost" {
		ports, defaultPort, hop.Protocol = ports[:1], "1080", Socks5Local
		if version, ok := javaInteger(e["socksProxyVersion"]); ok && version == 4 {
			hop.Protocol = Socks4
		}
	}
	proxy := javaProxy{name: host.name}
	for _, name := range ports {
		if port, ok := javaInteger(e[name]); ok && port != 0 {
			defaultPort, proxy.broken = strconv.Itoa(port), port < 0 || port > 65535
			break
		}
	}
	hop.Address = joinHostPort(strings.Trim(host.value, "[]"), defaultPort)
	proxy.hop = hop
	return proxy
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

// addJava sets the system properties of a proxy.
func (e Env) addJava(httpProxy, httpsProxy, nonProxyHosts string) {
	for scheme, value := range map[string]string{"http": httpProxy, "https": httpsProxy} {
		if value == "" {
			continue
		}
		_, authority, _ := strings.Cut(value, "://")
		authority = authority[strings.LastIndexByte(authority, '@')+1:]
		authority = strings.TrimRight(authority, "/")
		colon := strings.LastIndexByte(authority, ':')
		if colon < 0 || strings.HasSuffix(authority, "]") {
			e[scheme+".proxyHost"] = authority
			continue
		}
		e[scheme+".proxyHost"], e[scheme+".proxyPort"] = authority[:colon], authority[colon+1:]
	}
	if nonProxyHosts != "" {
		e["http.nonProxyHosts"] = nonProxyHosts
	}
}
