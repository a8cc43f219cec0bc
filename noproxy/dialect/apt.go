package dialect

// apt's http and https methods.
//
// Rules: apt methods/http.cc HttpServerState::Open, apt-pkg/contrib/strutl.cc
// CheckDomainList and URI::CopyFrom, versions 2.6.1 and 3.0.3, which do not
// differ here. The configuration (Acquire::http::Proxy) would come first; it is
// not looked at. The variables are read in lower case only, and http_proxy
// serves https too unless https_proxy is set, if only as "".
var aptFamily = []*Client{{
	Name:       "apt",
	Latest:     "3",
	Aliases:    []string{"apt-get"},
	Behaviours: []Behaviour{{Source: "apt 3.0.3 methods/http.cc and apt-pkg/contrib/strutl.cc", Read: aptRules.read}},
}}

var aptRules = rules{
	find: Env.set, http: "http_proxy", https: "https_proxy http_proxy", no: "no_proxy", readProxy: aptURL.read, listFirst: true,
	host: func(t Target) (host, string) { return named(asciiLower(t.Host)) },
	cut:  commas(nothing), entry: folded(asciiLower), names: exactly | ends,
}

// aptURL: what stands before a colon is a scheme, and a value without one is
// silently none. The default port of an http proxy is the one of the target.
var aptURL = proxyTraits{
	refuses: func(u *proxyURL, _ string) (p proxy) {
		if u.scheme == "" && u.port == "" && !u.hasPassword {
			p = unused
		}
		return p
	},
	ports:   map[string]string{"http": byTarget, "https": "443", anyScheme: "1080"},
	schemes: map[string]Protocol{"http": Connect, "https": TLS, "socks5h": Socks5Name}, unknown: failing,
	sends: withUser,
}
