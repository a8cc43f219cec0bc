package dialect

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// aiohttp, which reads the environment only with trust_env=True.
//
// Rules: aio-libs/aiohttp aiohttp/helpers.py (get_env_proxy_for_url,
// proxies_from_env) in 3.8.4 and 3.11.16; aio-libs/yarl yarl/_url.py and
// _parse.py in 1.8.2 and 1.19.0. NO_PROXY is urllib's business.
var pythonAiohttp = &Client{
	Name:    "python-aiohttp",
	Aliases: []string{"aiohttp"},
	Behaviours: []Behaviour{{
		Source: "aio-libs/aiohttp aiohttp/helpers.py, 3.8.4, with yarl 1.8.2",
		Read: func(env Env) Decider {
			return readAiohttp(env, yarlRules{strictPort: true, userFirst: true, mappedHex: true})
		},
	}, {
		Since:  "3.11",
		Change: "needs yarl 1.17, which takes blanks around a port; a password without a user is sent",
		Source: "aio-libs/aiohttp aiohttp/helpers.py, 3.11.16, with yarl 1.19.0",
		Read:   func(env Env) Decider { return readAiohttp(env, yarlRules{}) },
	}},
}

// yarlRules are what differs between the versions.
type yarlRules struct {
	strictPort bool // a port is digits, not what int() takes
	userFirst  bool // no credentials without a user
	mappedHex  bool // ipaddress writes IPv4-mapped addresses in hexadecimal (before Python 3.13)
}

func readAiohttp(env Env, rules yarlRules) Decider {
	proxies := pythonGetproxies(env)
	list := compileUrllib(proxies["no"].value, urllibRules{})
	parsed, missing := map[string]yarlProxy{}, map[string]Decision{}
	broken := ""
	for _, scheme := range []string{"http", "https", "ws", "wss"} {
		missing[scheme] = proxies.missing(env, scheme)
		if v := proxies[scheme]; v.name != "" {
			parsed[scheme] = rules.readProxy(v)
			if parsed[scheme].broken {
				broken = v.name // all are read before one is chosen
			}
		}
	}
	return func(t Target) Decision {
		host, ok := rules.host(t)
		if !ok {
			return fails("", unsendableHost)
		}
		if entry, reason, found := list.Match(host); found {
			return direct(proxies["no"].name, entry, reason)
		}
		if broken != "" {
			return fails(broken, brokenProxy)
		}
		proxy, found := parsed[t.Scheme]
		if !found {
			return missing[t.Scheme]
		}
		return proxy.decide(t.Scheme)
	}
}

// host is URL.host: names in lower case and as U-labels, addresses in
// their canonical form.
func (r yarlRules) host(t Target) (string, bool) {
	if addr, err := netip.ParseAddr(t.Host); err == nil {
		if bytes := addr.As16(); r.mappedHex && addr.Is4In6() {
			return fmt.Sprintf("::ffff:%x:%x", uint(bytes[12])<<8|uint(bytes[13]), uint(bytes[14])<<8|uint(bytes[15])), true
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

// yarlProxy is the value of a proxy variable as yarl reads it.
type yarlProxy struct {
	variable string
	broken   bool   // the variable cannot be read, whatever the URL
	unusable bool   // no connection can be made to it
	ignored  string // why requests go direct all the same
	hop      Hop
}

func (p yarlProxy) decide(scheme string) Decision {
	if p.ignored != "" {
		return direct(p.variable, Span{}, p.ignored)
	}
	if p.unusable {
		return fails(p.variable, brokenProxy)
	}
	return proxied(p.variable, p.hop.plain(scheme))
}

func (r yarlRules) readProxy(v variable) yarlProxy {
	proxy := yarlProxy{variable: v.name}
	url := strings.TrimLeftFunc(v.value, func(r rune) bool { return r <= ' ' })
	url = strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(url)
	scheme, rest := splitScheme(url)
	authority, found := strings.CutPrefix(rest, "//")
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority = authority[:end]
	}
	switch {
	case scheme == "https" || scheme == "wss":
		proxy.ignored = "a proxy that speaks TLS itself is not supported, and it goes direct"
	case rest == "" || rest == "//":
		proxy.ignored = unusableProxy // a URL that is false
	}
	if !found || authority == "" {
		proxy.unusable = true
		return proxy
	}
	proxy.setAuthority(authority, scheme, r)
	return proxy
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

func (p *yarlProxy) setAuthority(authority, scheme string, rules yarlRules) {
	at := strings.LastIndexByte(authority, '@')
	host, port, ok := rules.hostPort(authority[at+1:])
	if !ok || !bracketsFit(authority, at) {
		p.broken = true
		return
	}
	if at >= 0 {
		p.setAuth(authority[:at], rules)
	}
	if port == "" || port == "0" && rules.strictPort {
		port = map[string]string{"http": "80", "ws": "80", "ftp": "21"}[scheme]
	}
	p.unusable = p.unusable || port == "" || port == "0" || !resolvable(host)
	p.hop.Address = joinHostPort(host, port)
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

// setAuth reads credentials: in Latin-1, and without a colon in the user.
func (p *yarlProxy) setAuth(userinfo string, rules yarlRules) {
	user, password, colon := strings.Cut(userinfo, ":")
	if user == "" && (!colon || rules.userFirst) {
		return
	}
	user = yarlUnquote(user)
	auth, latin1 := latin1Bytes(user + ":" + yarlUnquote(password))
	p.broken = strings.Contains(user, ":")
	p.unusable = !latin1
	p.hop.Auth = Sends(auth)
}

// yarlUnquote leaves bytes encoded that are not UTF-8.
func yarlUnquote(text string) string {
	var decoded strings.Builder
	for rest := percentDecode(text); rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if r == utf8.RuneError && size == 1 {
			writePercent(&decoded, rest[0])
		} else {
			decoded.WriteString(rest[:size])
		}
		rest = rest[size:]
	}
	return decoded.String()
}
