package dialect

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/fairlead-io/fairlead/operator/noproxy/internal/percent"
)

// aiohttp, which reads the environment only with trust_env=True.
//
// Rules: aio-libs/aiohttp aiohttp/helpers.py (get_env_proxy_for_url,
// proxies_from_env) in 3.8.4 and 3.11.16; aio-libs/yarl yarl/_url.py and
// _parse.py in 1.8.2 and 1.19.0. NO_PROXY is urllib's business.
var pythonAiohttp = &Client{
	Name:    "python-aiohttp",
	Aliases: []string{"aiohttp"},
	Behaviours: versions{
		{"", "", "aio-libs/aiohttp aiohttp/helpers.py, 3.8.4, with yarl 1.8.2", yarlRules{strictPort: true, userFirst: true, mappedHex: true}.read},
		{"3.11", "needs yarl 1.17, which takes blanks around a port; a password without a user is sent", "aio-libs/aiohttp aiohttp/helpers.py, 3.11.16, with yarl 1.19.0", yarlRules{}.read},
	}.behaviours(),
}

// yarlRules are what differs between the versions.
type yarlRules struct {
	strictPort bool // a port is digits, not what int() takes
	userFirst  bool // no credentials without a user
	mappedHex  bool // ipaddress writes IPv4-mapped addresses in hexadecimal (before Python 3.13)
}

func (r yarlRules) read(env Env) Decider {
	vars := pythonGetproxies(env)
	proxies, broken := map[string]proxy{}, variable{}
	for _, scheme := range []string{"http", "https", "ws", "wss"} {
		proxies[scheme] = vars.proxy(env, func(v variable) proxy {
			p, ok := r.readProxy(v.value, scheme)
			if !ok {
				broken = v
			}
			return p
		}, scheme)
	}
	if broken.name != "" { // all are read before one is chosen
		every := proxy{variable: broken, failure: brokenProxy}
		proxies = map[string]proxy{"http": every, "https": every}
	}
	return rules{host: r.host, listFirst: true}.decider(proxies, urllibRules{}.list(vars["no"]))
}

func (r yarlRules) host(t Target) (host, string) {
	if name, ok := r.normalize(t); ok {
		return named(name)
	}
	return host{}, unsendableHost
}

// normalize is URL.host: names in lower case and as U-labels, addresses in
// their canonical form.
func (r yarlRules) normalize(t Target) (string, bool) {
	if addr, err := netip.ParseAddr(t.Host); err == nil {
		if r.mappedHex {
			return hexadecimal(addr), true
		}
		return addr.String(), true
	}
	host := strings.ToLower(t.Host)
	if isASCII(host) && !strings.Contains(host, "xn--") {
		return host, true
	}
	if !isASCII(host) {
		encoded, err := yarlIDNA.ToASCII(host)
		if err != nil {
			return "", false
		}
		host = encoded
	}
	decoded, err := yarlDecode.ToUnicode(host)
	return decoded, err == nil && !strings.Contains("."+host+".", ".xn--.")
}

// yarl maps as UTS 46 says, without the transitional rules, and takes what the
// package idna refuses for IDNA 2003, such as symbols.
var (
	yarlIDNA   = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false))
	yarlDecode = idna.New(idna.Transitional(false), idna.StrictDomainName(false), idna.ValidateLabels(true))
)

// readProxy tells whether the value can be read at all.
func (r yarlRules) readProxy(value, target string) (p proxy, readable bool) {
	url := strings.TrimLeftFunc(value, func(r rune) bool { return r <= ' ' })
	url = strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(url)
	scheme, rest := splitScheme(url)
	authority, found := strings.CutPrefix(rest, "//")
	authority, _ = cutAuthority(authority)
	p, readable = proxy{failure: brokenProxy}, true
	if found && authority != "" {
		p, readable = r.readAuthority(authority, scheme)
	}
	switch {
	case scheme == "https" || scheme == "wss":
		p.ignored = "a proxy that speaks TLS itself is not supported, and it goes direct"
	case rest == "" || rest == "//":
		p.ignored = unusableProxy // a URL that is false
	}
	p.hop = p.hop.plain(target)
	return p, readable
}

// splitScheme is the part of urlsplit that cuts off a scheme.
func splitScheme(url string) (scheme, rest string) {
	colon := strings.IndexByte(url, ':')
	if colon < 1 {
		return "", url
	}
	if !uriScheme.MatchString(url[:colon+1]) {
		return "", url
	}
	return strings.ToLower(url[:colon]), url[colon+1:]
}

// readAuthority reads credentials in Latin-1, and without a colon in the user.
func (r yarlRules) readAuthority(authority, scheme string) (p proxy, readable bool) {
	userinfo, hostPort, _ := cutLastAt(authority)
	host, port, ok := r.hostPort(hostPort)
	if port == "" || port == "0" && r.strictPort {
		port = map[string]string{"http": "80", "ws": "80", "ftp": "21"}[scheme]
	}
	p.hop.Address = joinHostPort(host, port)
	if port == "" || port == "0" || !resolvable(host) {
		p.failure = brokenProxy
	}
	user, password, colon := strings.Cut(userinfo, ":")
	user = yarlUnquote(user)
	if user != "" || colon && !r.userFirst {
		auth, latin1 := latin1Bytes(user + ":" + yarlUnquote(password))
		if p.hop.Auth = Sends(auth); !latin1 {
			p.failure = brokenProxy
		}
	}
	return p, ok && bracketsFit(authority, len(userinfo)) && !strings.Contains(user, ":")
}

func (r yarlRules) hostPort(text string) (host, port string, ok bool) {
	host, port, _ = strings.Cut(text, ":")
	if _, bracketed, found := strings.Cut(text, "["); found {
		if host, port, found = strings.Cut(bracketed, "]"); !found || !isIPv6Text(host) {
			return "", "", false
		}
		_, port, _ = strings.Cut(port, ":")
	}
	if port == "" {
		return strings.ToLower(host), "", host != ""
	}
	number, isNumber := pythonInt(port)
	if r.strictPort && strings.Trim(port, "0123456789") != "" {
		isNumber = false
	}
	return strings.ToLower(host), strconv.Itoa(number), host != "" && isNumber && number >= 0 && number <= 65535
}

// bracketsFit is the check of brackets in urlsplit of the standard library: only
// around a host (gh-103848, also in the security updates of older releases).
func bracketsFit(authority string, at int) bool {
	return strings.Contains(authority, "[") == strings.Contains(authority, "]") &&
		!strings.ContainsAny(authority[:max(at, 0)], "[]")
}

// yarlUnquote leaves bytes encoded that are not UTF-8.
func yarlUnquote(text string) string {
	var decoded strings.Builder
	for rest := percent.Decode(text); rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if r == utf8.RuneError && size == 1 {
			decoded.WriteString(percent.Escape(rest[0]))
		} else {
			decoded.WriteString(rest[:size])
		}
		rest = rest[size:]
	}
	return decoded.String()
}
