package dialect

import (
	"strings"

	"github.com/fairlead-io/fairlead/noproxy/internal/percent"
)

// git over http and https, which is libcurl with a proxy of git's own reading.
//
// Rules: git/git http.c get_curl_handle and credential.c credential_from_url.
// git reads the variables itself, so that an empty one turns the proxy off; it
// takes the credential out of the URL of the proxy and sends it only after the
// proxy asks (CURLAUTH_ANY), so no first request has one.
//
// Which libcurl comes with a git is the distribution's choice. The behaviours
// here are those of Debian: git 2.30 with libcurl 7.74, 2.39 with 7.88, 2.47
// with 8.14; newer ones are taken to come with the libcurl of their time.
var gitFamily = []*Client{{
	Name:   "git",
	Latest: "2.55",
	Behaviours: versions{
		{"", "", "git/git http.c, v2.30, with libcurl 7.74 as in Debian 11", gitRelease{libcurl: curlOldest}.read},
		{"2.39", "with libcurl 7.88: IPv4 networks", "git/git http.c, v2.39.5, with libcurl 7.88 as in Debian 12", gitRelease{libcurl: curlIDNFirst}.read},
		{"2.47", "with libcurl 8.14: only commas separate", "git/git http.c, v2.47.3, with libcurl 8.14 as in Debian 13", gitRelease{libcurl: curlLowerHex}.read},
		{"2.53", "with libcurl 8.18: IPv6 networks", "git/git http.c, v2.53, with libcurl 8.18", gitRelease{libcurl: curlIPv6CIDR}.read},
		{"2.55", "with libcurl 8.21: an http proxy without a port means port 80", "git/git http.c, v2.55, with libcurl 8.21", gitRelease{libcurl: curlOwnDefaultPort}.read},
	}.behaviours(),
}}

type gitRelease struct{ libcurl curlRelease }

// read: what git refuses or turns off itself never comes to libcurl.
func (g gitRelease) read(env Env) Decider {
	r := g.libcurl.rules()
	r.find, r.readProxy = Env.set, g.readProxy
	decide, proxies := r.read(env), r.proxies(env)
	return func(t Target) Decision {
		if p := proxies[t.Scheme]; p.fatal != "" || p.ignored == proxyOff {
			return p.decide()
		}
		return decide(t)
	}
}

const gitAsks = "a user without a password: git asks for the password, and fails where nobody answers"

// readProxy sends no credential before the proxy asks, except in SOCKS.
func (g gitRelease) readProxy(v variable, target string) proxy {
	row := g.libcurl.url()
	row.refuses = func(u *proxyURL, target string) proxy {
		if u.hasUser && !u.hasPassword {
			return proxy{fatal: gitAsks}
		}
		given := *u
		given.scheme = "" // to libcurl
		return g.libcurl.guesses(&given, target)
	}
	row.bytes = func(text string) (string, bool) { return percent.Decode(percent.Decode(text)), true } // by git, and by libcurl
	row.sends = func(u proxyURL) (string, bool) {
		return u.user + ":" + u.password, u.hasUser && strings.HasPrefix(u.scheme, "socks5")
	}
	return row.read(v, target)
}
