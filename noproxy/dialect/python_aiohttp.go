package dialect

import (
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
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
		{"", "", "aio-libs/aiohttp aiohttp/helpers.py, 3.8.4, with yarl 1.8.2", yarlRules{mappedHex: true}.read},
		{"3.11", "with Python 3.13: an IPv4 address inside an IPv6 one is written with dots", "aio-libs/aiohttp aiohttp/helpers.py, 3.11.16, with yarl 1.19.0", yarlRules{}.read},
	}.behaviours(),
}

// yarlRules has the differences between the versions.
type yarlRules struct {
	mappedHex bool // ipaddress writes IPv4-mapped addresses in hexadecimal (before Python 3.13)
}

func (r yarlRules) read(env Env) Decider {
	vars := pythonGetproxies(env)
	proxies, broken := map[string]proxy{}, variable{}
	for _, scheme := range []string{"http", "https", "ws", "wss"} {
		proxies[scheme] = vars.proxy(env, func(v variable) proxy {
			p := yarlURL.read(v, scheme)
			if p.fatal != "" {
				broken = v
			}
			return p
		}, scheme)
	}
	if broken.name != "" { // all are read before one is chosen
		every := proxy{variable: broken, fatal: NotJudged}
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

// yarlURL sends credentials in Latin-1. A value without a scheme has no authority,
// and cannot be used.
var yarlURL = proxyTraits{
	refuses: func(u *proxyURL, _ string) (p proxy) {
		if u.scheme == "https" {
			p.ignored = "a proxy that speaks TLS itself is not supported, and is ignored"
		}
		return p
	},
	ports:   map[string]string{"http": "80"},
	schemes: map[string]Protocol{anyScheme: Connect}, unknown: failing,
	sends: withUser, bytes: inLatin1,
}
