package dialect

import (
	"net/netip"
	"strings"
)

// Ruby's standard library: Net::HTTP, under most gems, and open-uri. Both resolve the name before they decide, and go
// direct to what is loopback.
//
// Rules: ruby/uri lib/uri/generic.rb (find_proxy, use_proxy?), the same from
// Ruby 2.7 to uri 1.1.1; ruby/net-http lib/net/http.rb; ruby/open-uri
// lib/open-uri.rb; lib/ipaddr.rb. Read in Ruby 2.7.4, 3.1.2 and 3.3.8.
var rubyFamily = []*Client{{
	Name:    "ruby-net-http",
	Aliases: []string{"ruby", "net-http", "Net::HTTP"},
	Behaviours: []Behaviour{{
		Source: "ruby/uri lib/uri/generic.rb, ruby/net-http lib/net/http.rb, Ruby 2.7.4",
		Read:   func(env Env) Decider { return readRuby(env, rubyRules{netHTTP: true, oldIPAddr: true}) },
	}, {
		Since:  "3.1",
		Change: "credentials are decoded, and a plus sign becomes a blank (net-http 0.2); networks are read more strictly",
		Source: "ruby/uri lib/uri/generic.rb, ruby/net-http lib/net/http.rb, Ruby 3.1.2 and 3.3.8",
		Read:   func(env Env) Decider { return readRuby(env, rubyRules{netHTTP: true, decodes: true}) },
	}},
}, {
	Name:    "ruby-open-uri",
	Aliases: []string{"open-uri"},
	Behaviours: []Behaviour{{
		Source: "ruby/uri lib/uri/generic.rb, ruby/open-uri lib/open-uri.rb, Ruby 2.7.4",
		Read:   func(env Env) Decider { return readRuby(env, rubyRules{oldIPAddr: true}) },
	}, {
		Since:  "3.1",
		Change: "networks are read more strictly",
		Source: "ruby/uri lib/uri/generic.rb, ruby/open-uri lib/open-uri.rb, Ruby 3.1.2 and 3.3.8",
		Read:   func(env Env) Decider { return readRuby(env, rubyRules{}) },
	}},
}}

// rubyRules are what differs between the two clients and the versions.
type rubyRules struct {
	netHTTP   bool // asks for the proxy of http whatever the scheme of the URL is
	decodes   bool // credentials
	oldIPAddr bool // ipaddr before 1.2.3
}

func readRuby(env Env, rules rubyRules) Decider {
	noProxy := env.set("no_proxy", "NO_PROXY")
	list := compileRuby(noProxy.value, rules.oldIPAddr)
	proxies := map[string]rubyProxy{}
	for _, scheme := range []string{"http", "https"} {
		asked := scheme
		if rules.netHTTP {
			asked = "http"
		}
		proxies[scheme] = rules.readProxy(rubyVariable(env, asked))
	}
	return func(t Target) Decision {
		if uri, ok := parseRubyURI(t.URL); !ok || uri.host == "" {
			return fails("", "the URL is not valid for this client")
		}
		proxy := proxies[t.Scheme]
		switch {
		case proxy.variable == "":
			return direct("", Span{}, noVariable)
		case proxy.off:
			return direct(proxy.variable, Span{}, proxyOff)
		}
		addr := rubyAddress(t)
		if addr.IsLoopback() && !addr.Is4In6() {
			return direct("", Span{}, loopback)
		}
		if entry, reason, found := list.match(strings.ToLower(t.Host), addr, t.EffectivePort()); found {
			return direct(noProxy.name, entry, reason)
		}
		return proxy.decide(t.Scheme)
	}
}

// rubyAddress is IPSocket.getaddress, as far as it is known.
func rubyAddress(t Target) netip.Addr {
	if addrs := t.resolved(); len(addrs) > 0 {
		return addrs[0]
	}
	addr, _ := inetAton(t.Host)
	return addr
}

// rubyVariable is the first half of find_proxy. In a CGI program HTTP_PROXY may
// be the header of a request, and only http_proxy counts.
func rubyVariable(env Env, scheme string) variable {
	name := scheme + "_proxy"
	if _, cgi := env["REQUEST_METHOD"]; !cgi || scheme != "http" {
		return env.set(name, strings.ToUpper(name))
	}
	return env.set(name, "CGI_HTTP_PROXY")
}

// rubyProxy is the value of a proxy variable.
type rubyProxy struct {
	variable string
	off      bool // it is empty
	failure  string
	hop      Hop
}

func (r rubyRules) readProxy(v variable) rubyProxy {
	proxy := rubyProxy{variable: v.name, off: v.value == ""}
	uri, ok := parseRubyURI(v.value)
	switch {
	case !ok || !isPort(uri.port) || uri.host != "" && !resolvable(uri.host):
		proxy.failure = brokenProxy
	case !r.netHTTP && uri.scheme != "http":
		proxy.failure = "the proxy URL must start with http:// for this client"
	}
	proxy.hop.Address = joinHostPort(uri.host, uri.port)
	if auth, sends := r.auth(uri.userinfo); sends {
		proxy.hop.Auth = Sends(auth)
	}
	return proxy
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
	return percentDecode(strings.ReplaceAll(text, "+", " "))
}

func (p rubyProxy) decide(scheme string) Decision {
	if p.failure != "" {
		return fails(p.variable, p.failure)
	}
	return proxied(p.variable, p.hop.plain(scheme))
}
