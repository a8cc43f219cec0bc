package dialect

import (
	"cmp"
	"strings"
)

// The npm package proxy-from-env says which proxy a URL is for; proxy-agent, an
// agent for http.get, and axios ask it.
var proxyFromEnvFamily = []*Client{{
	Name:      "proxy-from-env",
	Latest:    "2",
	AlsoReads: []string{"proxy-agent", "axios"},
	Behaviours: versions{
		{"", "", "Rob--W/proxy-from-env index.js, 1.1.0", proxyFromEnvRules(true).read},
		{"2.0.0", "npm_config_ variables are not read; hosts are normalized as in the URL standard", "Rob--W/proxy-from-env index.cjs, 2.1.0, with proxy-agent 8.0", proxyFromEnvRules(false).read},
	}.behaviours(),
}}

// proxyFromEnvRules: until 1.1 the variables of npm are read, too.
func proxyFromEnvRules(npm bool) rules {
	r := rules{
		find: Env.nonEmpty, http: "http_proxy HTTP_PROXY all_proxy ALL_PROXY", https: "https_proxy HTTPS_PROXY all_proxy ALL_PROXY", no: "no_proxy NO_PROXY",
		readProxy: agentURL.read,
		host:      whatwgTarget,
		cut:       cutJS, entry: proxyFromEnvEntry, covers: func(e *entry, h host) string { return matchProxyFromEnv(e.text, h.name) },
	}
	if npm {
		r.http = "npm_config_http_proxy NPM_CONFIG_HTTP_PROXY http_proxy HTTP_PROXY npm_config_proxy NPM_CONFIG_PROXY all_proxy ALL_PROXY"
		r.https = "npm_config_https_proxy NPM_CONFIG_HTTPS_PROXY https_proxy HTTPS_PROXY npm_config_proxy NPM_CONFIG_PROXY all_proxy ALL_PROXY"
		r.host = legacyTarget
		r.no = "npm_config_no_proxy NPM_CONFIG_NO_PROXY no_proxy NO_PROXY"
	}
	return r
}

func proxyFromEnvEntry(text string) (entry, bool) {
	name, port := splitPort(strings.ToLower(text))
	return entry{text: name, port: port}, true
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

// legacyTarget has the host of url.parse of Node.js, which leaves addresses as
// they are written.
func legacyTarget(t Target) (host, string) {
	h, failure := whatwgTarget(t)
	if h.name = "[" + strings.ToLower(t.Host) + "]"; !t.Bracketed {
		h.name, _ = whatwgDomain(t.Host)
	}
	return h, failure
}

// agentURL is a proxy as proxy-agent uses it: without a scheme it has the scheme of
// the URL.
var agentURL = proxyTraits{
	refuses: func(u *proxyURL, target string) (p proxy) {
		u.scheme = cmp.Or(u.scheme, target)
		return p
	},
	ports: map[string]string{"http": "80", "https": "443", anyScheme: "1080"},
	schemes: map[string]Protocol{
		"http": Connect, "https": TLS,
		"socks": Socks5Name, "socks5h": Socks5Name, "socks5": Socks5Local, "socks4": Socks4, "socks4a": Socks4,
	},
	sends: func(u proxyURL) (string, bool) {
		return u.user + ":" + u.password, u.hasUser && webPorts[u.scheme] != ""
	},
}
