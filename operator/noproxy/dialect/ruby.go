package dialect

import (
	"strings"

	"github.com/fairlead-io/fairlead/operator/noproxy/internal/percent"
)

// Ruby's standard library: Net::HTTP, under most gems, and open-uri. Both
// resolve the name before they decide, and go direct to what is loopback.
//
// Rules: ruby/uri lib/uri/generic.rb (find_proxy, use_proxy?), the same from
// Ruby 2.7 to uri 1.1.1; ruby/net-http lib/net/http.rb; ruby/open-uri
// lib/open-uri.rb; lib/ipaddr.rb. Read in Ruby 2.7.4, 3.1.2 and 3.3.8.
var rubyFamily = []*Client{{
	Name:    "ruby-net-http",
	Aliases: []string{"ruby", "net-http", "Net::HTTP"},
	Behaviours: versions{
		{"", "", "ruby/uri lib/uri/generic.rb, ruby/net-http lib/net/http.rb, Ruby 2.7.4", rubyRules{netHTTP: true, oldIPAddr: true}.read},
		{"3.1", "credentials are decoded, and a plus sign becomes a blank (net-http 0.2); networks are read more strictly", "ruby/uri lib/uri/generic.rb, ruby/net-http lib/net/http.rb, Ruby 3.1.2 and 3.3.8", rubyRules{netHTTP: true, decodes: true}.read},
	}.behaviours(),
}, {
	Name:    "ruby-open-uri",
	Aliases: []string{"open-uri"},
	Behaviours: versions{
		{"", "", "ruby/uri lib/uri/generic.rb, ruby/open-uri lib/open-uri.rb, Ruby 2.7.4", rubyRules{oldIPAddr: true}.read},
		{"3.1", "networks are read more strictly", "ruby/uri lib/uri/generic.rb, ruby/open-uri lib/open-uri.rb, Ruby 3.1.2 and 3.3.8", rubyRules{}.read},
	}.behaviours(),
}}

// rubyRules are what differs between the two clients and the versions.
type rubyRules struct {
	netHTTP   bool // asks for the proxy of http whatever the scheme of the URL is
	decodes   bool // credentials
	oldIPAddr bool // ipaddr before 1.2.3
}

// read: in a CGI program HTTP_PROXY may be the header of a request, and only
// http_proxy counts.
func (r rubyRules) read(env Env) Decider {
	http, https := "http_proxy HTTP_PROXY", "https_proxy HTTPS_PROXY"
	if _, cgi := env["REQUEST_METHOD"]; cgi {
		http = "http_proxy CGI_HTTP_PROXY"
	}
	if r.netHTTP {
		https = http
	}
	return rules{
		find: Env.set, http: http, https: https, no: "no_proxy NO_PROXY", readProxy: r.readProxy,
		host:     rubyHost,
		loopback: func(h host) bool { return h.addr.IsLoopback() && !h.addr.Is4In6() },
		cut:      cutRuby, entry: r.entry, covers: r.covers,
	}.read(env)
}

// rubyHost has the address that IPSocket.getaddress finds, as far as it is known.
func rubyHost(t Target) (host, string) {
	if uri, ok := parseRubyURI(t.URL); !ok || uri.host == "" {
		return host{}, "the URL is not valid for this client"
	}
	h := host{name: strings.ToLower(t.Host), port: trimZeros(t.EffectivePort())}
	if addrs := t.resolved(); len(addrs) > 0 {
		h.addr = addrs[0]
	} else {
		h.addr, _ = inetAton(t.Host)
	}
	return h, ""
}

func (r rubyRules) readProxy(v variable, scheme string) proxy {
	uri, ok := parseRubyURI(v.value)
	switch {
	case !ok || !isPort(uri.port) || uri.host != "" && !resolvable(uri.host):
		return proxy{failure: brokenProxy}
	case !r.netHTTP && uri.scheme != "http":
		return proxy{failure: "the proxy URL must start with http:// for this client"}
	}
	hop := Hop{Address: joinHostPort(uri.host, uri.port)}
	if auth, sends := r.auth(uri.userinfo); sends {
		hop.Auth = Sends(auth)
	}
	return proxy{hop: hop.plain(scheme)}
}

// auth reads credentials. Net::HTTP cuts them at the first colon; open-uri at
// every one, drops empty parts at the end, and needs two.
func (r rubyRules) auth(userinfo string) (string, bool) {
	user, password, _ := strings.Cut(userinfo, ":")
	if r.netHTTP {
		if r.decodes {
			user, password = rubyUnescape(user), rubyUnescape(password)
		}
		return user + ":" + password, userinfo != ""
	}
	if strings.Trim(password, ":") == "" {
		return "", false
	}
	password, _, _ = strings.Cut(password, ":")
	return user + ":" + password, true
}

// rubyUnescape is CGI.unescape.
func rubyUnescape(text string) string {
	return percent.Decode(strings.ReplaceAll(text, "+", " "))
}
