package dialect

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/idna"

	"github.com/fairlead-io/fairlead/operator/noproxy/internal/percent"
)

// Perl: LWP::UserAgent, which reads the environment with env_proxy, and
// HTTP::Tiny, which is part of Perl (perlTiny).
//
// Rules: libwww-perl/libwww-perl lib/LWP/UserAgent.pm (env_proxy, proxy,
// no_proxy, _need_proxy) and lib/LWP/Protocol/http.pm in 6.68 to 6.83;
// libwww-perl/URI lib/URI.pm and lib/URI/_server.pm in 5.17 and 5.30.
var perlFamily = []*Client{{
	Name:      "perl-lwp",
	Latest:    "6",
	Aliases:   []string{"lwp", "LWP::UserAgent", "libwww-perl"},
	AlsoReads: []string{"lwp-request"},
	Behaviours: versions{
		{"", "", "libwww-perl/libwww-perl lib/LWP/UserAgent.pm, 6.68", perlSuffix.read},
		{"6.69", "an entry matches whole labels only, so one with a dot in front matches nothing (libwww-perl#421)", "libwww-perl/libwww-perl lib/LWP/UserAgent.pm, 6.69 to 6.72", perlLabels.read},
		{"6.73", "a dot in front of an entry is dropped (libwww-perl#433)", "libwww-perl/libwww-perl lib/LWP/UserAgent.pm, 6.73 to 6.83", perlDotless.read},
	}.behaviours(),
}, perlTiny}

// perlRule says how an entry is compared with the end of a host.
type perlRule uint8

const (
	perlSuffix  perlRule = iota // as text
	perlLabels                  // the name and what is below it
	perlDotless                 // the same, after a dot in front is dropped
)

// lwpSchemes have a class LWP::Protocol::… in LWP itself; the variables of
// others are not read.
var lwpSchemes = []string{"http", "https", "ftp", "file", "gopher", "mailto", "nntp", "data", "cpan", "loopback", "nogo"}

const breaksPerl = "the value is fatal when the environment is read"

func (rule perlRule) read(env Env) Decider {
	vars := lwpVariables(env)
	for _, scheme := range lwpSchemes {
		if v := vars[scheme]; v.name != "" && !lwpTakes(v.value) {
			return always(fails(v.name, breaksPerl))
		}
	}
	r := rules{readProxy: lwpURL.read, host: lwpHost, cut: cutPerl, entry: rule.entry}
	r.covers = func(e *entry, h host) string {
		if h.name == "0" { // which is false
			return ""
		}
		return rule.covers(e, h)
	}
	return r.decider(map[string]proxy{"http": r.proxyOf(vars["http"], "http"), "https": r.proxyOf(vars["https"], "https")}, r.readList(vars["no"]))
}

// lwpVariables is env_proxy: in order of their names, which puts upper case
// first, the first spelling of each that is true in Perl. In a CGI program
// CGI_HTTP_PROXY stands for HTTP_PROXY.
func lwpVariables(env Env) map[string]variable {
	var names []string
	for name := range env {
		names = append(names, name)
	}
	slices.Sort(names)
	cgi := perlTrue(env["REQUEST_METHOD"])
	vars := map[string]variable{}
	for _, name := range names {
		key := strings.ToLower(name)
		if cgi && name == "CGI_HTTP_PROXY" {
			key = "http_proxy"
		}
		scheme, found := strings.CutSuffix(key, "_proxy")
		if !found || !perlTrue(env[name]) || cgi && strings.HasPrefix(name, "HTTP_") {
			continue
		}
		if vars[scheme].name == "" {
			vars[scheme] = variable{name, env[name]}
		}
	}
	return vars
}

func perlTrue(value string) bool { return value != "" && value != "0" }

// lwpTakes is the check of proxy: a URL with a scheme, and a word character or
// a bracket after http:// and https://.
func lwpTakes(value string) bool {
	if !uriScheme.MatchString(value) {
		return false
	}
	scheme, rest, _ := strings.Cut(value, ":")
	if scheme != "http" && scheme != "https" {
		return true
	}
	for _, r := range strings.TrimPrefix(rest, "//") {
		word := r == '_' || r == '[' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
		return word && strings.HasPrefix(rest, "//")
	}
	return false
}

// lwpHost is URI::host: percent signs decoded, case as it is written, and a
// colon without a port still there. Without being encoded a host can only be
// asked for through a proxy.
func lwpHost(t Target) (host, string) {
	name := t.Host
	if t.Port == "" && strings.HasSuffix(t.rawAuthority(), name+":") {
		name += ":"
	}
	encoded, ok := lwpASCII(name)
	return host{name: percent.Decode(encoded), proxyOnly: !ok}, ""
}

// lwpASCII is URI::_idna::encode. Its nameprep only knows lower case, and that of
// ASCII: each byte of a name is taken for a character. What it refuses stays.
func lwpASCII(host string) (string, bool) {
	if isASCII(host) {
		return host, true
	}
	labels := strings.Split(host, ".")
	for i, label := range labels {
		last := i > 0 && i == len(labels)-1
		encoded, ok := lwpLabel(label)
		if !ok || encoded == "" && !last {
			return host, false
		}
		labels[i] = encoded
	}
	return strings.Join(labels, "."), true
}

func lwpLabel(label string) (string, bool) {
	if !isASCII(label) {
		characters := make([]rune, len(label))
		for i := range len(label) {
			characters[i] = rune(lowerByte(label[i]))
		}
		encoded, err := idna.Punycode.ToASCII(string(characters))
		if err != nil || strings.HasPrefix(string(characters), "xn--") {
			return "", false
		}
		label = encoded
	}
	return label, len(label) <= 63
}

// lwpURL takes a user name that cannot be sent, with a colon, for an error.
var lwpURL = proxyURL{
	cut:    grammar(`^(?P<scheme>[^:]*)(?:$|:(?://)?)` + lastAt + `(?P<host>[^@/?#]*?)(?::(?P<port>[0-9]+:?))?(?:[/?#]|[ \t-\r]*$)`),
	decode: percent.Decode,
	refuses: func(u *urlParts, _ string) (p proxy) {
		switch {
		case webPorts[u.scheme] == "":
			p.failure = unknownScheme
		case strings.Contains(u.user, ":"):
			p.failure = "a user name with a colon cannot be sent"
		}
		return p
	},
	host:    lwpHostPort,
	port:    func(written, by string) (string, bool) { return cmp.Or(strings.TrimLeft(written, "0"), by), true },
	schemes: webSchemes, ports: webPorts,
	sends:     func(u *urlParts) bool { return u.hasUser },
	reach:     perlSocket,
	malformed: failing, broken: failing,
}

// lwpHostPort reads the host as URI does, and then as IO::Socket::IP does, which
// takes a port that is still in the host for the real one.
func lwpHostPort(u *urlParts) bool {
	u.host = strings.TrimSuffix(u.host, ":")
	if inner, found := strings.CutPrefix(u.host, "["); found && strings.HasSuffix(inner, "]") {
		u.host = strings.TrimSuffix(inner, "]")
	}
	u.host = percent.Decode(u.host)
	if name, cut := cutPort(u.host); cut && !isIPv6Text(u.host) {
		u.host, u.port = name, u.host[len(name)+1:]
	}
	return true
}

// perlSocket is where IO::Socket connects to.
func perlSocket(host, port string) (string, bool) {
	plain := !strings.Contains(host, ":") || isIPv6Text(host)
	return joinHostPort(host, port), plain && isPort(port) && resolvable(host)
}

var perlComma = regexp.MustCompile(`[\s\v]*,[\s\v]*`)

// cutPerl is split(/\s*,\s*/) of Perl: blanks around a comma go, those at both
// ends of the list stay, and so do empty elements but at the end.
func cutPerl(list string) []Span {
	var spans []Span
	start := 0
	for _, comma := range perlComma.FindAllStringIndex(list, -1) {
		spans = append(spans, Span{start, comma[0]})
		start = comma[1]
	}
	spans = append(spans, Span{start, len(list)})
	for len(spans) > 0 && spans[len(spans)-1].Empty() {
		spans = slices.Delete(spans, len(spans)-1, len(spans))
	}
	return spans
}

const emptyEntry = "an empty entry covers everything"

func (rule perlRule) entry(text string) (entry, bool) {
	if rule == perlDotless {
		text = strings.TrimPrefix(text, ".")
	}
	return entry{text: text}, true
}

// covers: case counts.
func (rule perlRule) covers(e *entry, h host) string {
	switch {
	case rule != perlSuffix:
		return (exactly | below).covers(e.text, h.name)
	case e.text == "" && h.name != "":
		return emptyEntry
	}
	return (exactly | ends).covers(e.text, h.name)
}

// HTTP::Tiny, which is part of Perl.
//
// Rules: HTTP::Tiny lib/HTTP/Tiny.pm (_set_proxies, _split_url, _open_handle) in
// 0.080, which comes with Perl 5.36, and 0.088.
var perlTiny = &Client{
	Name:      "perl-http-tiny",
	Latest:    "0",
	Aliases:   []string{"perl-tiny", "HTTP::Tiny", "http-tiny"},
	AlsoReads: []string{"cpanm"},
	Behaviours: []Behaviour{{
		Source: "HTTP::Tiny lib/HTTP/Tiny.pm, 0.080 and 0.088",
		Read:   readTiny,
	}},
}

func readTiny(env Env) Decider {
	vars, all := tinyVariables(env)
	for _, v := range []variable{all, vars["http"], vars["https"]} { // all are checked before one is used
		if p := tinyURL.read(v, ""); v.name != "" && p.fatal != "" {
			return always(fails(v.name, p.fatal))
		}
	}
	r := rules{
		readProxy: func(v variable, scheme string) proxy {
			p := tinyURL.read(v, scheme)
			if p.hop.Protocol == TLS && scheme == "https" {
				p.failure = "this client cannot tunnel TLS in TLS"
			}
			return p
		},
		host: func(t Target) (host, string) {
			if !isASCII(t.Host) {
				return host{}, unsendableHost
			}
			return host{name: strings.ToLower(t.bracketed()), proxyOnly: hasPercent(t.Host)}, ""
		},
		cut: cutPerl, covers: perlSuffix.covers,
	}
	return r.decider(map[string]proxy{"http": r.proxyOf(vars["http"], "http"), "https": r.proxyOf(vars["https"], "https")},
		r.readList(env.nonEmpty("no_proxy")))
}

// tinyVariables is _set_proxies. An empty ALL_PROXY is not the same as none: it
// is no valid URL. In a CGI program CGI_HTTP_PROXY stands for HTTP_PROXY.
func tinyVariables(env Env) (vars map[string]variable, all variable) {
	if all = env.perlTrue("all_proxy"); all.name == "" {
		all = env.set("ALL_PROXY")
	}
	http := env.perlTrue("http_proxy", "HTTP_PROXY")
	if perlTrue(env["REQUEST_METHOD"]) {
		http = env.perlTrue("http_proxy", "CGI_HTTP_PROXY")
	}
	vars = map[string]variable{"http": http, "https": env.perlTrue("https_proxy", "HTTPS_PROXY")}
	for scheme, v := range vars {
		if v.name == "" {
			vars[scheme] = all
		}
	}
	return vars, all
}

// perlTrue returns the first of the variables that is true in Perl.
func (e Env) perlTrue(names ...string) variable {
	for _, name := range names {
		if perlTrue(e[name]) {
			return variable{name, e[name]}
		}
	}
	return variable{}
}

// tinyURL is _split_proxy and _proxy_connect. It takes any scheme, and no path but
// a slash.
var tinyURL = proxyURL{
	cut: grammar(`^(?P<scheme>[^:/?#]+)://` + firstAt + `(?P<host>[^/?#]*?)(?::(?P<port>[0-9]+)|:)?/?(?:#(?s:.*))?$`),
	host: func(u *urlParts) (ok bool) {
		ok = u.port != "" || webPorts[u.scheme] != ""
		u.host = strings.ToLower(cmp.Or(u.host, "localhost"))
		if inner, found := strings.CutPrefix(u.host, "["); found {
			u.host = strings.TrimSuffix(inner, "]")
		} else if name, own, found := strings.Cut(u.host, ":"); found && isDigits(own) {
			u.host, u.port = name, own // IO::Socket takes the port out of the host
		}
		return ok
	},
	port:    func(written, by string) (string, bool) { return strings.TrimLeft(cmp.Or(written, by), "0"), true },
	schemes: map[string]Protocol{"https": TLS, anyScheme: Connect}, ports: webPorts,
	sends:      func(u *urlParts) bool { return u.userinfo != "" },
	credential: func(u *urlParts) (string, bool) { return percent.Decode(u.userinfo), true },
	reach:      perlSocket,
	malformed:  proxy{fatal: breaksPerl}, broken: failing,
}
