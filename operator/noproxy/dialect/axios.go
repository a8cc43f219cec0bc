package dialect

import "strings"

// axiosRules are the versions of axios that changed what it does. Each keeps
// the changes before it.
type axiosRules int

const (
	axios100  axiosRules = iota
	axios114             // proxy-from-env 2.1
	axios115             // a matcher of its own, in addition
	axios1151            // loopback hosts are the same
	axios116             // IPv4-mapped addresses are the IPv4 ones
	axios1161            // a tunnel for https URLs
	axios118             // 0.0.0.0 and :: are loopback
	axios119             // IPv4 entries in other forms; "*" in a list
	axios120             // networks
	axios121             // IPv6 and international entries are normalized
)

const axiosSource = "axios/axios lib/adapters/http.js and lib/helpers/shouldBypassProxy.js, "

var axiosFamily = []*Client{{
	Name: "axios",
	Behaviours: []Behaviour{
		{Source: "axios/axios lib/adapters/http.js, 1.0.0 to 1.13.6, with proxy-from-env 1.1.0", Read: axios100.read},
		{Since: "1.14.0", Change: "npm_config_ variables are not read", Source: axiosSource + "1.14.0, with proxy-from-env 2.1.0", Read: axios114.read},
		{
			Since: "1.15.0", Change: "a matcher of its own beside that of proxy-from-env: dots at the end, IPv6 without brackets",
			Source: axiosSource + "1.15.0", Read: axios115.read,
		},
		{Since: "1.15.1", Change: "an entry for one loopback host covers them all", Source: axiosSource + "1.15.2", Read: axios1151.read},
		{Since: "1.16.0", Change: "IPv4-mapped addresses are the IPv4 ones", Source: axiosSource + "1.16.0", Read: axios116.read},
		{Since: "1.16.1", Change: "https URLs are tunnelled (before, the proxy got them as they are)", Source: axiosSource + "1.17.0", Read: axios1161.read},
		{Since: "1.18.0", Change: "0.0.0.0 and :: are loopback hosts", Source: axiosSource + "1.18.1", Read: axios118.read},
		{Since: "1.19.0", Change: "IPv4 entries in short, octal and hexadecimal form", Source: axiosSource + "1.19.0", Read: axios119.read},
		{Since: "1.20.0", Change: "networks", Source: axiosSource + "1.20.0", Read: axios120.read},
		{Since: "1.21.0", Change: "IPv6 and international entries are normalized", Source: axiosSource + "1.21.1", Read: axios121.read},
	},
}}

func (r axiosRules) read(env Env) Decider {
	fromEnv := newProxyFromEnv(env, r < axios114)
	list := readAxiosList(env.nonEmpty("no_proxy", "NO_PROXY"), r)
	proxies := map[string]axiosProxy{"http": readAxiosProxy(fromEnv.proxies["http"]), "https": readAxiosProxy(fromEnv.proxies["https"])}
	return func(t Target) Decision {
		u, ok := parseWHATWG(t.URL)
		if !ok {
			return fails("", invalidURL)
		}
		proxy := proxies[u.scheme]
		if proxy.name == "" {
			return direct("", Span{}, noVariable)
		}
		port := portNumber(u.portOr(whatwgPorts[u.scheme]))
		if entry, reason, found := fromEnv.match(u.host, port); found {
			return direct(fromEnv.noProxy.name, entry, reason)
		}
		if entry, reason, found := list.match(u.host, port); found {
			return direct(list.variable.name, entry, reason)
		}
		return proxy.decide(u.scheme, r)
	}
}

// axiosProxy is the proxy for the URLs of one scheme.
type axiosProxy struct {
	variable
	url   whatwgURL
	valid bool
}

func readAxiosProxy(v variable) axiosProxy {
	url, ok := parseWHATWG(v.value)
	return axiosProxy{v, url, ok && url.host != ""}
}

// decide is setProxy. The credential is sent as it is written in the URL, and
// only with a user. Where the request itself goes to the proxy, an IPv6 address
// keeps its brackets, and is looked up as a name.
func (p axiosProxy) decide(scheme string, rules axiosRules) Decision {
	u := p.url
	tunnel := scheme == "https" && rules >= axios1161
	if !p.valid || !tunnel && (!u.isHTTP() || strings.HasPrefix(u.host, "[")) {
		return fails(p.name, brokenProxy)
	}
	auth := Auth{}
	if u.username != "" {
		auth = u.encodedAuth()
	}
	hop := u.hop(auth)
	if !tunnel && hop.Protocol == Connect {
		hop.Protocol = Absolute
	}
	return proxied(p.name, hop)
}
