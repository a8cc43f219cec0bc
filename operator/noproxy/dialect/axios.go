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
	Behaviours: versions{
		{"", "", "axios/axios lib/adapters/http.js, 1.0.0 to 1.13.6, with proxy-from-env 1.1.0", axios100.read},
		{"1.14.0", "npm_config_ variables are not read", axiosSource + "1.14.0, with proxy-from-env 2.1.0", axios114.read},
		{"1.15.0", "a matcher of its own beside that of proxy-from-env: dots at the end, IPv6 without brackets", axiosSource + "1.15.0", axios115.read},
		{"1.15.1", "an entry for one loopback host covers them all", axiosSource + "1.15.2", axios1151.read},
		{"1.16.0", "IPv4-mapped addresses are the IPv4 ones", axiosSource + "1.16.0", axios116.read},
		{"1.16.1", "https URLs are tunnelled (before, the proxy got them as they are)", axiosSource + "1.17.0", axios1161.read},
		{"1.18.0", "0.0.0.0 and :: are loopback hosts", axiosSource + "1.18.1", axios118.read},
		{"1.19.0", "IPv4 entries in short, octal and hexadecimal form", axiosSource + "1.19.0", axios119.read},
		{"1.20.0", "networks", axiosSource + "1.20.0", axios120.read},
		{"1.21.0", "IPv6 and international entries are normalized", axiosSource + "1.21.1", axios121.read},
	}.behaviours(),
}}

// read asks proxy-from-env first, and then a list of its own.
func (r axiosRules) read(env Env) Decider {
	fromEnv := proxyFromEnvRules(r < axios114)
	fromEnv.host, fromEnv.readProxy = whatwgTarget, r.readProxy
	decide := fromEnv.read(env)
	if r < axios115 {
		return decide
	}
	own := rules{cut: cutJS, entry: r.entry, covers: r.covers}.readList(env.nonEmpty("no_proxy", "NO_PROXY"))
	return func(t Target) Decision {
		decision := decide(t)
		if decision.Route == Direct || decision.Variable == "" {
			return decision
		}
		h, _ := whatwgTarget(t)
		h.name = r.normalize(h.name)
		h.addr = axiosAddr(h.name)
		if entry, reason, found := own.match(h); found {
			return direct(own.name, entry, reason)
		}
		return decision
	}
}

// readProxy is setProxy. The credential is sent as it is written in the URL, and
// only with a user. Where the request itself goes to the proxy, an IPv6 address
// keeps its brackets, and is looked up as a name.
func (r axiosRules) readProxy(v variable, scheme string) proxy {
	u, ok := parseWHATWG(withScheme(v.value, scheme))
	tunnel := scheme == "https" && r >= axios1161
	if !ok || u.host == "" || !tunnel && (!u.isHTTP() || strings.HasPrefix(u.host, "[")) {
		return proxy{failure: brokenProxy}
	}
	auth := Auth{}
	if u.username != "" {
		auth = u.encodedAuth()
	}
	if tunnel {
		return proxy{hop: u.hop(auth)}
	}
	return proxy{hop: u.hop(auth).toward("http")}
}
