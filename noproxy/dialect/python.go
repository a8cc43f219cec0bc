package dialect

import (
	"slices"
	"strings"
	"unicode"

	"github.com/fairlead-io/fairlead/noproxy/internal/percent"
)

// Clients written in Python.
var pythonFamily = []*Client{pythonUrllib, pythonRequests, pythonHttpx, pythonAiohttp, pythonKubernetes}

// What the Python clients share is the standard library: which variables there
// are (getproxies_environment of urllib.request) and small ways of text.

// pythonProxies are the variables that end in "_proxy", by what stands before
// it, in lower case: "http", "https", "all", "no", but also any other word.
type pythonProxies map[string]variable

// pythonGetproxies is getproxies_environment. Every spelling of a name counts,
// then the one with a lower-case "_proxy" wins, and takes the others with it if
// it is empty. Where spellings compete the last in the environment wins in
// Python; here it is the last in order of bytes.
func pythonGetproxies(env Env) pythonProxies {
	var names []string
	for name := range env {
		if len(name) >= len("_proxy") && strings.EqualFold(name[len(name)-len("_proxy"):], "_proxy") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	proxies := pythonProxies{}
	for _, name := range names {
		if env[name] != "" {
			proxies[pythonScheme(name)] = variable{name, env[name]}
		}
	}
	if _, cgi := env["REQUEST_METHOD"]; cgi {
		delete(proxies, "http") // CVE-2016-1000110: it may be the header "Proxy" of a request
	}
	for _, name := range names {
		switch {
		case !strings.HasSuffix(name, "_proxy"):
		case env[name] != "":
			proxies[pythonScheme(name)] = variable{name, env[name]}
		default:
			delete(proxies, pythonScheme(name))
		}
	}
	return proxies
}

func pythonScheme(name string) string {
	return strings.ToLower(name[:len(name)-len("_proxy")])
}

// proxy is the proxy for a scheme: of its own variable or, where that is missing,
// of another one.
func (p pythonProxies) proxy(env Env, read func(variable) proxy, schemes ...string) proxy {
	for _, scheme := range schemes {
		if v := p[scheme]; v.name != "" {
			found := read(v)
			found.variable = v
			return found
		}
	}
	return p.missing(env, schemes...)
}

// missing is no proxy. An empty lower-case variable, which takes away the
// upper-case one, is not the same as none.
func (p pythonProxies) missing(env Env, schemes ...string) proxy {
	for _, scheme := range schemes {
		name := scheme + "_proxy"
		if value, ok := env[name]; ok && value == "" {
			return proxy{variable: variable{name, ""}, ignored: proxyOff}
		}
	}
	return proxy{}
}

// pythonSpace reports what str.isspace takes for white space in Python 3.
func pythonSpace(r rune) bool {
	return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f
}

// pythonInt is int() of a text in base 10: white space around it, a sign, and
// single underscores between digits are allowed, and digits of other scripts.
func pythonInt(text string) (int, bool) {
	text = strings.TrimFunc(text, pythonSpace)
	negative := strings.HasPrefix(text, "-")
	if negative || strings.HasPrefix(text, "+") {
		text = text[1:]
	}
	number, digits, underscore := 0, false, false
	for _, r := range text {
		digit, ok := pythonDigit(r)
		switch {
		case r == '_' && digits && !underscore:
			underscore = true
		case ok:
			digits, underscore = true, false
			number = min(number*10+digit, 1<<30)
		default:
			return 0, false
		}
	}
	if negative {
		number = -number
	}
	return number, digits && !underscore
}

// pythonDigit returns the value of a decimal digit of any script: in Unicode the
// ten of a script stand together, and the zero comes first.
func pythonDigit(r rune) (int, bool) {
	if !unicode.IsDigit(r) {
		return 0, false
	}
	zero := r
	for unicode.IsDigit(zero - 1) {
		zero--
	}
	return int(r-zero) % 10, true
}

// pythonUnquote is unquote of urllib.parse: decoded bytes that are not UTF-8
// become U+FFFD.
func pythonUnquote(text string) string {
	return string([]rune(percent.Decode(text)))
}

// latin1Bytes returns a text in Latin-1, if it has only characters of it.
func latin1Bytes(text string) (string, bool) {
	encoded := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xff {
			return "", false
		}
		encoded = append(encoded, byte(r))
	}
	return string(encoded), true
}

// inLatin1 is a user or a password as it is sent in Latin-1.
func inLatin1(text string) (string, bool) { return latin1Bytes(pythonUnquote(text)) }
