package dialect

import "strings"

// The npm package proxy-from-env says which proxy a URL is for; proxy-agent, an
// agent for http.get, and axios ask it.
var proxyFromEnvFamily = []*Client{{
	Name:      "proxy-from-env",
	AlsoReads: []string{"proxy-agent", "axios"},
	Behaviours: []Behaviour{
		{Source: "Rob--W/proxy-from-env index.js, 1.1.0", Read: readProxyFromEnv(true)},
		{
			Since: "2.0.0", Change: "npm_config_ variables are not read; hosts are normalized as in the URL standard",
			Source: "Rob--W/proxy-from-env index.cjs, 2.1.0, with proxy-agent 8.0", Read: readProxyFromEnv(false),
		},
	},
}}

// proxyFromEnv is the package with its environment read.
type proxyFromEnv struct {
	noProxy variable
	entries []proxyFromEnvEntry
	proxies map[string]variable // by scheme of the URL
}

type proxyFromEnvEntry struct {
	span Span
	host string // lower-case
	port int    // 0: every port
}

func newProxyFromEnv(env Env, npm bool) proxyFromEnv {
	named := func(lower ...string) variable {
		var names []string
		for _, name := range lower {
			if npm || !strings.HasPrefix(name, "npm_") {
				names = append(names, name, strings.ToUpper(name))
			}
		}
		return env.nonEmpty(names...)
	}
	p := proxyFromEnv{noProxy: named("npm_config_no_proxy", "no_proxy"), proxies: map[string]variable{}}
	for _, scheme := range []string{"http", "https"} {
		proxy := named("npm_config_"+scheme+"_proxy", scheme+"_proxy", "npm_config_proxy", "all_proxy")
		if proxy.name != "" && !strings.Contains(proxy.value, "://") {
			proxy.value = scheme + "://" + proxy.value
		}
		p.proxies[scheme] = proxy
	}
	for _, span := range jsElements(p.noProxy.value, isCommaOrSpace) {
		host, port := splitPort(strings.ToLower(span.Of(p.noProxy.value)))
		p.entries = append(p.entries, proxyFromEnvEntry{span, host, port})
	}
	return p
}

// match expects a host that is in lower case, an IPv6 address in brackets.
func (p *proxyFromEnv) match(host string, port int) (Span, string, bool) {
	if p.noProxy.value == "*" {
		return Span{0, 1}, everything, true
	}
	for i := range p.entries {
		entry := &p.entries[i]
		if entry.port != 0 && entry.port != port {
			continue
		}
		if reason := matchProxyFromEnv(entry.host, host); reason != "" {
			return entry.span, reason, true
		}
	}
	return Span{}, "", false
}

// matchProxyFromEnv returns why an entry covers a host, or nothing: an entry
// that starts with a dot or a star is how the host ends, every other is the host.
func matchProxyFromEnv(entry, host string) string {
	if entry[0] != '.' && entry[0] != '*' {
		if entry == host {
			return theName
		}
		return ""
	}
	suffix := strings.TrimPrefix(entry, "*")
	switch {
	case !strings.HasSuffix(host, suffix):
		return ""
	case suffix == "":
		return everything
	case suffix[0] == '.':
		return belowName
	}
	return endsWith
}

func readProxyFromEnv(npm bool) func(Env) Decider {
	return func(env Env) Decider {
		p := newProxyFromEnv(env, npm)
		hops := map[string]agentProxy{"http": readAgentProxy(p.proxies["http"]), "https": readAgentProxy(p.proxies["https"])}
		return func(t Target) Decision {
			u, ok := parseWHATWG(t.URL)
			if !ok {
				return fails("", invalidURL)
			}
			proxy := p.proxies[u.scheme]
			if proxy.name == "" {
				return direct("", Span{}, noVariable)
			}
			host := u.host
			if npm {
				host = legacyHost(t)
			}
			if entry, reason, found := p.match(host, portNumber(u.portOr(whatwgPorts[u.scheme]))); found {
				return direct(p.noProxy.name, entry, reason)
			}
			return hops[u.scheme].decide(proxy.name, u.scheme)
		}
	}
}

// legacyHost is the host of url.parse of Node.js, which leaves addresses as
// they are written.
func legacyHost(t Target) string {
	if t.Bracketed {
		return "[" + strings.ToLower(t.Host) + "]"
	}
	host, _ := whatwgDomain(t.Host)
	return host
}

// agentProxy is a proxy as proxy-agent uses it.
type agentProxy struct {
	hop    Hop
	broken bool
}

func readAgentProxy(v variable) agentProxy {
	if v.name == "" {
		return agentProxy{}
	}
	u, ok := parseWHATWG(v.value)
	if !ok {
		return agentProxy{broken: true}
	}
	if u.isHTTP() {
		auth, decoded := u.decodedAuth()
		if u.username == "" && u.password == "" {
			auth = Auth{}
		}
		return agentProxy{u.hop(auth), !decoded}
	}
	protocol, known := map[string]Protocol{
		"socks": Socks5Name, "socks5h": Socks5Name, "socks5": Socks5Local, "socks4": Socks4, "socks4a": Socks4,
	}[u.scheme]
	return agentProxy{Hop{Address: u.host + ":" + u.portOr("1080"), Protocol: protocol}, !known}
}

func (p agentProxy) decide(name, scheme string) Decision {
	if p.broken {
		return fails(name, brokenProxy)
	}
	hop := p.hop
	if scheme == "http" && hop.Protocol == Connect {
		hop.Protocol = Absolute
	}
	return proxied(name, hop)
}
