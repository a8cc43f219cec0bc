package dialect

import (
	"cmp"
	"strings"
)

// git over http and https, which is libcurl with a proxy of git's own reading.
//
// Rules: git/git http.c get_curl_handle and credential.c credential_from_url.
// git reads the variables itself, so that an empty one turns the proxy off; it
// takes the credential out of the URL of the proxy and sends it only after the
// proxy asks (CURLAUTH_ANY), so no first request has one. What the proxy is
// follows from how its value starts, in lower case; libcurl gets host and port.
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
		{"2.47", "a path in the URL of an http proxy is an error; with libcurl 8.14: only commas separate", "git/git http.c, v2.47.3, with libcurl 8.14 as in Debian 13", gitRelease{libcurl: curlLowerHex, refusesPaths: true}.read},
		{"2.53", "with libcurl 8.18: IPv6 networks", "git/git http.c, v2.53, with libcurl 8.18", gitRelease{libcurl: curlIPv6CIDR, refusesPaths: true}.read},
		{"2.55", "schemes of proxies that it does not know are errors, in upper case too; with libcurl 8.21", "git/git http.c set_curl_proxy_type, v2.55, with libcurl 8.21", gitRelease{libcurl: curlOwnDefaultPort, refusesPaths: true, knowsSchemes: true}.read},
	}.behaviours(),
}}

type gitRelease struct {
	libcurl      curlRelease
	refusesPaths bool // since 2.47
	knowsSchemes bool // since 2.55
}

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

const (
	gitAsks     = "a user without a password: git asks for the password, and fails where nobody answers"
	gitNoPaths  = "only SOCKS proxies on localhost may have a path"
	gitNoScheme = "git does not know this scheme of a proxy"
)

func (g gitRelease) readProxy(v variable, scheme string) proxy {
	c, ok := parseGitCredential(v.value)
	kind, known := g.kind(v.value, c.protocol)
	path := strings.TrimLeft(c.path, "/")
	unixSocket := strings.HasPrefix(c.protocol, "socks") && asciiLower(c.host) == "localhost"
	switch {
	case !ok:
		return proxy{fatal: brokenProxy}
	case !known:
		return proxy{fatal: gitNoScheme}
	case g.refusesPaths && path != "" && !unixSocket:
		return proxy{fatal: gitNoPaths}
	case c.asks:
		return proxy{fatal: gitAsks}
	case g.refusesPaths && path != "":
		return proxy{failure: brokenProxy} // the path of a Unix socket
	case c.host == "":
		return proxy{ignored: proxyOff} // libcurl gets an empty proxy
	}
	p := g.libcurl.readProxy(c.host, kind, scheme)
	p.hop.Auth = Auth{} // not before the proxy asks, except in SOCKS
	if kind == Socks5Local || kind == Socks5Name {
		p.hop.Auth = c.auth
	}
	return p
}

// kind of a proxy: the start of the value decides, without regard to where the
// scheme ends, until 2.55 compares the scheme itself.
func (g gitRelease) kind(value, protocol string) (Protocol, bool) {
	if g.knowsSchemes {
		kind, known := curlKinds[protocol]
		return cmp.Or(kind, Connect), known || protocol == "http"
	}
	for _, scheme := range []string{"socks5h", "socks5", "socks", "https"} {
		if strings.HasPrefix(value, scheme) {
			return curlKinds[scheme], true
		}
	}
	return Connect, true
}

// gitCredential is what matters here of credential_from_url.
type gitCredential struct {
	protocol, host, path string
	auth                 Auth // user and password, decoded by git and again by libcurl
	asks                 bool // there is a user, if only as "", but no password
}

func parseGitCredential(value string) (gitCredential, bool) {
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	protocol, rest, _ := strings.Cut(value, "://")
	c := gitCredential{protocol: protocol}
	rest, c.path = cutAuthority(rest)
	parts := []string{protocol, gitDecode(c.path)}
	if userinfo, host, found := strings.Cut(rest, "@"); found {
		user, password, hasPassword := strings.Cut(userinfo, ":")
		rest, c.asks = host, !hasPassword
		parts = append(parts, gitDecode(user), gitDecode(password))
		c.auth = Sends(percentDecodeC(parts[2]) + ":" + percentDecodeC(parts[3]))
	}
	c.host = gitDecode(rest)
	for _, part := range append(parts, c.host) {
		if strings.Contains(part, "\n") {
			return c, false
		}
	}
	return c, protocol != ""
}

// gitDecode is url_decode: what stands before the first colon is not decoded.
func gitDecode(text string) string {
	if colon := strings.IndexByte(text, ':'); colon > 0 {
		return text[:colon] + percentDecodeC(text[colon:])
	}
	return percentDecodeC(text)
}
