package dialect

import "strings"

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
	Name: "git",
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

// gitProxy is the value of a proxy variable as git reads it.
type gitProxy struct {
	off  bool   // set, but empty
	dies string // why git stops, whatever the list says
	curlProxy
}

func (g gitRelease) read(env Env) Decider {
	noProxy := env.set("no_proxy", "NO_PROXY")
	list := g.libcurl.compile(noProxy)
	proxies := map[string]gitProxy{
		"http":  g.parseProxy(env.set("http_proxy", "all_proxy", "ALL_PROXY")),
		"https": g.parseProxy(env.set("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")),
	}
	return func(t Target) Decision {
		proxy := proxies[t.Scheme]
		switch {
		case proxy.dies != "":
			return fails(proxy.variable, proxy.dies)
		case proxy.off:
			return direct(proxy.variable, Span{}, proxyOff)
		}
		return g.libcurl.decide(t, list, proxy.curlProxy)
	}
}

const (
	gitAsks     = "a user without a password: git asks for the password, and fails where nobody answers"
	gitNoPaths  = "only SOCKS proxies on localhost may have a path"
	gitNoScheme = "git does not know this scheme of a proxy"
)

func (g gitRelease) parseProxy(v variable) gitProxy {
	proxy := gitProxy{curlProxy: curlProxy{variable: v.name}}
	if v.value == "" {
		proxy.off = v.name != ""
		return proxy
	}
	c, ok := parseGitCredential(v.value)
	kind, known := g.kind(v.value, c.protocol)
	path := strings.TrimLeft(c.path, "/")
	unixSocket := strings.HasPrefix(c.protocol, "socks") && asciiLower(c.host) == "localhost"
	switch {
	case !ok:
		proxy.dies = brokenProxy
	case !known:
		proxy.dies = gitNoScheme
	case g.refusesPaths && path != "" && !unixSocket:
		proxy.dies = gitNoPaths
	case c.asks:
		proxy.dies = gitAsks
	case g.refusesPaths && path != "":
		proxy.broken = true // the path of a Unix socket
	case c.host == "":
		proxy.off = true // libcurl gets an empty proxy
	default:
		proxy.curlProxy = g.libcurl.parseProxy(variable{v.name, c.host}, kind)
		proxy.hop.Auth = Auth{} // not before the proxy asks, except in SOCKS
		if kind == curlSocks5 || kind == curlSocks5h {
			proxy.hop.Auth = c.auth
		}
	}
	return proxy
}

// kind of a proxy: the start of the value decides, without regard to where the
// scheme ends, until 2.55 compares the scheme itself.
func (g gitRelease) kind(value, protocol string) (curlKind, bool) {
	if g.knowsSchemes {
		switch kind := curlKind(protocol); kind {
		case "socks":
			return curlSocks4, true
		case curlHTTP, curlHTTPS, curlSocks4, curlSocks4a, curlSocks5, curlSocks5h:
			return kind, true
		}
		return "", false
	}
	for _, kind := range []curlKind{curlSocks5h, curlSocks5, curlSocks4a, curlHTTPS} {
		if strings.HasPrefix(value, string(kind)) {
			return kind, true
		}
	}
	if strings.HasPrefix(value, "socks") {
		return curlSocks4, true
	}
	return curlHTTP, true
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
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest, c.path = rest[:end], rest[end:]
	}
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
