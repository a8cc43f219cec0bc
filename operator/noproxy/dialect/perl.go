package dialect

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// Perl: LWP::UserAgent, which reads the environment with env_proxy, and
// HTTP::Tiny, which is part of Perl (perl_tiny.go).
//
// Rules: libwww-perl/libwww-perl lib/LWP/UserAgent.pm (env_proxy, proxy,
// no_proxy, _need_proxy) and lib/LWP/Protocol/http.pm in 6.68 to 6.83;
// libwww-perl/URI lib/URI.pm and lib/URI/_server.pm in 5.17 and 5.30.
var perlFamily = []*Client{{
	Name:      "perl-lwp",
	Aliases:   []string{"lwp", "LWP::UserAgent", "libwww-perl"},
	AlsoReads: []string{"lwp-request"},
	Behaviours: []Behaviour{{
		Source: "libwww-perl/libwww-perl lib/LWP/UserAgent.pm, 6.68",
		Read:   func(env Env) Decider { return readLWP(env, perlSuffix) },
	}, {
		Since:  "6.69",
		Change: "an entry matches whole labels only, so one with a dot in front matches nothing (libwww-perl#421)",
		Source: "libwww-perl/libwww-perl lib/LWP/UserAgent.pm, 6.69 to 6.72",
		Read:   func(env Env) Decider { return readLWP(env, perlLabels) },
	}, {
		Since:  "6.73",
		Change: "a dot in front of an entry is dropped (libwww-perl#433)",
		Source: "libwww-perl/libwww-perl lib/LWP/UserAgent.pm, 6.73 to 6.83",
		Read:   func(env Env) Decider { return readLWP(env, perlDotless) },
	}},
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

const breaksPerl = "this client dies of the value when it reads the environment"

func readLWP(env Env, rule perlRule) Decider {
	vars := lwpVariables(env)
	list := compilePerl(vars["no"].value, rule)
	proxies := map[string]lwpProxy{}
	for _, scheme := range lwpSchemes {
		v := vars[scheme]
		if v.name == "" {
			continue
		}
		if !lwpTakes(v.value) {
			failure := fails(v.name, breaksPerl)
			return func(Target) Decision { return failure }
		}
		proxies[scheme] = readLWPProxy(v)
	}
	return func(t Target) Decision {
		proxy, found := proxies[t.Scheme]
		host, known := lwpHost(t)
		if !found {
			return known.straight(direct("", Span{}, noVariable))
		}
		if entry, reason, found := list.match(host); found && host != "0" { // "0" is false
			return known.straight(direct(vars["no"].name, entry, reason))
		}
		return proxy.decide(t.Scheme)
	}
}

// lwpEncodes tells whether a host could be encoded; without that only a proxy
// can be asked for it.
type lwpEncodes bool

func (known lwpEncodes) straight(decision Decision) Decision {
	if !known {
		return fails("", unsendableHost)
	}
	return decision
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
// colon without a port still there.
func lwpHost(t Target) (string, lwpEncodes) {
	host := t.Host
	if t.Port == "" && strings.HasSuffix(t.rawAuthority(), host+":") {
		host += ":"
	}
	encoded, ok := lwpASCII(host)
	return percentDecode(encoded), ok
}

// lwpASCII is URI::_idna::encode. Its nameprep only knows lower case, and that of
// ASCII: each byte of a name is taken for a character. What it refuses stays.
func lwpASCII(host string) (string, lwpEncodes) {
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

// lwpProxy is the value of a proxy variable.
type lwpProxy struct {
	variable string
	failure  string
	scheme   string
	hop      Hop
}

func readLWPProxy(v variable) lwpProxy {
	url := strings.TrimRight(v.value, " \t\r\n\f\v")
	scheme, rest, _ := strings.Cut(url, ":")
	proxy := lwpProxy{variable: v.name, scheme: strings.ToLower(scheme)}
	defaultPort := map[string]string{"http": "80", "https": "443"}[proxy.scheme]
	if defaultPort == "" {
		proxy.failure = unknownScheme
		return proxy
	}
	authority := strings.TrimPrefix(rest, "//")
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority = authority[:end]
	}
	at := strings.LastIndexByte(authority, '@')
	address, ok := lwpAddress(authority[at+1:], defaultPort)
	if !ok {
		proxy.failure = brokenProxy
	}
	proxy.hop.Address = address
	if at >= 0 {
		user, password, _ := strings.Cut(authority[:at], ":")
		if user = percentDecode(user); strings.Contains(user, ":") {
			proxy.failure = "a user name with a colon cannot be sent"
		}
		proxy.hop.Auth = Sends(user + ":" + percentDecode(password))
	}
	return proxy
}

// lwpAddress reads host and port as URI does, and then as IO::Socket::IP does,
// which takes a port that is still in the host for the real one.
func lwpAddress(text, defaultPort string) (string, bool) {
	host, port := text, ""
	if only, cut := cutPort(strings.TrimSuffix(text, ":")); cut {
		host, port = only, text[len(only)+1:]
	}
	host = strings.TrimSuffix(host, ":")
	if inner, found := strings.CutPrefix(host, "["); found && strings.HasSuffix(inner, "]") {
		host = strings.TrimSuffix(inner, "]")
	}
	host = percentDecode(host)
	if only, cut := cutPort(host); cut && !isIPv6Text(host) {
		host, port = only, host[len(only)+1:]
	}
	if port = strings.TrimLeft(port, "0"); port == "" {
		port = defaultPort
	}
	plain := !strings.Contains(host, ":") || isIPv6Text(host)
	return joinHostPort(host, port), plain && isPort(port) && resolvable(host)
}

func (p lwpProxy) decide(scheme string) Decision {
	if p.failure != "" {
		return fails(p.variable, p.failure)
	}
	return proxied(p.variable, p.hop.through(p.scheme, scheme))
}
