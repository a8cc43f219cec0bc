package dialect

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/idna"

	"github.com/fairlead-io/fairlead/operator/noproxy/internal/percent"
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

const breaksPerl = "this client dies of the value when it reads the environment"

func (rule perlRule) read(env Env) Decider {
	vars := lwpVariables(env)
	for _, scheme := range lwpSchemes {
		if v := vars[scheme]; v.name != "" && !lwpTakes(v.value) {
			return always(fails(v.name, breaksPerl))
		}
	}
	r := rules{readProxy: readLWPProxy, host: lwpHost, cut: cutPerl, entry: rule.entry}
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

func readLWPProxy(v variable, target string) proxy {
	url := strings.TrimRightFunc(v.value, cSpace)
	scheme, rest, _ := strings.Cut(url, ":")
	scheme = strings.ToLower(scheme)
	if webPorts[scheme] == "" {
		return proxy{failure: unknownScheme}
	}
	authority, _ := cutAuthority(strings.TrimPrefix(rest, "//"))
	userinfo, hostPort, found := cutLastAt(authority)
	user, password, _ := strings.Cut(userinfo, ":")
	user = percent.Decode(user)
	address, ok := lwpAddress(hostPort, webPorts[scheme])
	switch {
	case strings.Contains(user, ":"):
		return proxy{failure: "a user name with a colon cannot be sent"}
	case !ok:
		return proxy{failure: brokenProxy}
	}
	hop := Hop{Address: address}
	if found {
		hop.Auth = Sends(user + ":" + percent.Decode(password))
	}
	return proxy{hop: hop.through(scheme, target)}
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
	host = percent.Decode(host)
	if only, cut := cutPort(host); cut && !isIPv6Text(host) {
		host, port = only, host[len(only)+1:]
	}
	if port = strings.TrimLeft(port, "0"); port == "" {
		port = defaultPort
	}
	plain := !strings.Contains(host, ":") || isIPv6Text(host)
	return joinHostPort(host, port), plain && isPort(port) && resolvable(host)
}
