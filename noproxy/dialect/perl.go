package dialect

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/idna"

	"github.com/fairlead-io/fairlead/noproxy/internal/percent"
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
		p := lwpURL.read(vars[scheme], "")
		if p.variable = vars[scheme]; p.name != "" && p.fatal != "" {
			return always(p.decide())
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
		scheme, ok := strings.CutSuffix(key, "_proxy")
		if !ok || !perlTrue(env[name]) || cgi && strings.HasPrefix(name, "HTTP_") {
			continue
		}
		if vars[scheme].name == "" {
			vars[scheme] = variable{name, env[name]}
		}
	}
	return vars
}

func perlTrue(value string) bool { return value != "" && value != "0" }

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

// lwpASCII is URI::_idna::encode. Its nameprep only lowers case, and only of ASCII:
// each byte of a name is taken for a character. A name that it refuses stays.
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

// lwpURL: a value without a scheme is fatal, but a name before a colon passes for one.
var lwpURL = proxyTraits{
	refuses: func(u *proxyURL, _ string) (p proxy) {
		switch {
		case u.scheme == "" && !isScheme(u.before()):
			p.fatal = breaksPerl
		case webPorts[u.scheme] == "":
			p.failure = unknownScheme
		}
		return p
	},
	ports: webPorts, schemes: webSchemes,
	sends: withUser,
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
		p := tinyURL.read(v, "")
		if v.name != "" && v.value == "" {
			p.fatal = breaksPerl
		}
		if p.variable = v; v.name != "" && p.fatal != "" {
			return always(p.decide())
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

// tinyURL is _split_proxy and _proxy_connect. It takes any scheme.
var tinyURL = proxyTraits{
	ports: webPorts, noPort: proxy{fatal: breaksPerl},
	schemes: map[string]Protocol{"https": TLS, anyScheme: Connect}, unknown: proxy{fatal: breaksPerl},
	sends: asItStands,
}
