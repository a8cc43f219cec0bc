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

// decodedAuth is the credential after decodeURIComponent, which throws where
// the second result is false.
func (u whatwgURL) decodedAuth() (Auth, bool) {
	username, ok := decodeURIComponent(u.username)
	password, okToo := decodeURIComponent(u.password)
	return Sends(username + ":" + password), ok && okToo
}

// encodedAuth is the credential as the URL has it, still percent-encoded.
func (u whatwgURL) encodedAuth() Auth { return Sends(u.username + ":" + u.password) }
