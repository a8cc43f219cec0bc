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
	Latest:  "3",
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
			p := r.readProxy(v, scheme)
			if p.fatal != "" {
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

// cutYarlURL is urlsplit, and what yarl does to the authority. Brackets stand only
// around a host (gh-103848, also in the security updates of older releases).
var cutYarlURL = grammar(`(?s)^(?:(?P<scheme>[a-zA-Z][a-zA-Z0-9.+-]*):)?(?:` +
	`//(?:(?P<userinfo>[^/?#\[\]]*)@)?(?:[^\[/?#@]*\[(?P<address>[^\]/?#@]*)\][^:/?#@]*(?::(?P<port>[^/?#@]*))?` +
	`|(?P<host>[^\[\]:/?#@]+)(?::(?P<port>[^\[\]/?#@]*))?)(?:[/?#].*)?|(?P<path>/{0,2}|(?:/?[^/]|//[/?#]).*))$`)

// url reads credentials in Latin-1, and without a colon in the user. A URL without
// an authority can be read, but not used.
func (r yarlRules) url() *proxyURL {
	return &proxyURL{
		cut: func(text string) (urlParts, bool) {
			text = strings.TrimLeftFunc(text, func(r rune) bool { return r <= ' ' })
			return cutYarlURL(oneLine.Replace(text))
		},
		decode: yarlUnquote,
		host: func(u *urlParts) bool {
			u.host = strings.ToLower(u.host)
			whole := u.scheme != "" || !uriScheme.MatchString(u.path)
			return whole && !strings.Contains(u.user, ":") && (!u.bracketed || isIPv6Text(u.host))
		},
		port:    r.port,
		schemes: map[string]Protocol{anyScheme: Connect}, ports: map[string]string{"http": "80", "ws": "80", "ftp": "21"},
		sends:      func(u *urlParts) bool { return u.user != "" || u.hasPassword && !r.userFirst },
		credential: func(u *urlParts) (string, bool) { return latin1Bytes(u.user + ":" + u.password) },
		reach: func(host, port string) (string, bool) {
			return joinHostPort(host, port), port != "" && port != "0" && resolvable(host)
		},
		malformed: dying, broken: failing,
	}
}

func (r yarlRules) port(written, by string) (string, bool) {
	number, ok := pythonInt(written)
	switch {
	case written == "", number == 0 && r.strictPort && isDigits(written):
		return by, true
	case r.strictPort && !isDigits(written):
		return "", false
	}
	return strconv.Itoa(number), ok && number >= 0 && number <= 65535
}

// readProxy: what cannot be read at all is fatal.
func (r yarlRules) readProxy(v variable, target string) proxy {
	url := r.url()
	p := url.read(v, target)
	switch u, _ := url.parse(v.value, target); {
	case u.scheme == "https" || u.scheme == "wss":
		p.ignored = "a proxy that speaks TLS itself is not supported, and is ignored"
	case u.host == "" && (u.path == "" || u.path == "//"):
		p.ignored = unusableProxy // a URL that is false
	}
	return p
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
