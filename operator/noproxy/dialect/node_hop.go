package dialect

// What the clients that run in Node.js do with a parsed proxy URL.

// invalidURL is why a client fails that parses URLs more strictly than others.
const invalidURL = "the client does not accept the URL"

func (u whatwgURL) isHTTP() bool { return u.scheme == "http" || u.scheme == "https" }

func (u whatwgURL) portOr(port string) string {
	if u.port != "" {
		return u.port
	}
	return port
}

// hop is a tunnel through the proxy, or a TLS handshake with it. What is inside
// the handshake cannot be seen, the credential included.
func (u whatwgURL) hop(auth Auth) Hop {
	if u.scheme == "https" {
		return Hop{Address: u.host + ":" + u.portOr("443"), Protocol: TLS}
	}
	return Hop{Address: u.host + ":" + u.portOr("80"), Protocol: Connect, Auth: auth}
}

// proxy is a proxy of http or https, with a credential that is decoded.
func (u whatwgURL) proxy(withAuth bool, scheme string) proxy {
	auth, decoded := u.decodedAuth()
	if !decoded {
		return proxy{failure: brokenProxy}
	}
	if !withAuth {
		auth = Auth{}
	}
	return proxy{hop: u.hop(auth).toward(scheme)}
}

// whatwgTarget is the host of a URL, an IPv6 address in brackets.
func whatwgTarget(t Target) (host, string) {
	u, ok := parseWHATWG(t.URL)
	if !ok {
		return host{}, invalidURL
	}
	return host{name: u.host, port: u.portOr(whatwgPorts[u.scheme])}, ""
}

// decodedAuth is the credential after decodeURIComponent, which throws where
// the second result is false.
func (u whatwgURL) decodedAuth() (Auth, bool) {
	username, ok := decodeURIComponent(u.username)
	password, okToo := decodeURIComponent(u.password)
	return Sends(username + ":" + password), ok && okToo
}

// encodedAuth is the credential as the URL has it, still percent-encoded.
func (u whatwgURL) encodedAuth() Auth { return Sends(u.username + ":" + u.password) }
