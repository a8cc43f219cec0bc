package dialect

import (
	"net/url"
	"strconv"
	"strings"
)

// Go programs, with net/http: containerd, kubelet, kubeadm, controllers, helm,
// crane and skopeo; grpc-go asks the same function with the scheme https
// (grpc/grpc-go, internal/resolver/delegatingresolver).
//
// Rules: golang/net http/httpproxy/proxy.go as vendored in Go 1.26 and 1.27, and
// golang/go src/net/http/transport.go. Upper case wins, an empty value is as
// good as none; golang.org/x/net itself reads lower case first since v0.62, so
// a later Go may.
var goFamily = []*Client{{
	Name:      "go",
	Aliases:   []string{"golang", "net/http", "containerd", "kubelet", "kubeadm", "grpc-go"},
	AlsoReads: []string{"containerd", "kubelet", "kubeadm", "controllers", "kubectl", "helm", "grpc-go"},
	Behaviours: []Behaviour{{
		Source: "golang/net http/httpproxy/proxy.go, as in Go 1.26",
		Read:   readGo,
	}},
}}

func readGo(env Env) Decider {
	noProxy := env.nonEmpty("NO_PROXY", "no_proxy")
	list := CompileGo(noProxy.value)
	httpProxy := readGoProxy(env.nonEmpty("HTTP_PROXY", "http_proxy"))
	httpsProxy := readGoProxy(env.nonEmpty("HTTPS_PROXY", "https_proxy"))
	cgi := env["REQUEST_METHOD"] != ""
	return func(t Target) Decision {
		proxy := httpProxy
		if t.Scheme == "https" {
			proxy = httpsProxy
		}
		switch {
		case proxy.variable == "":
			return direct("", Span{}, noVariable)
		case proxy.unusable:
			return direct(proxy.variable, Span{}, unusableProxy)
		case cgi && t.Scheme == "http":
			return fails(proxy.variable, "REQUEST_METHOD is set: in a CGI program HTTP_PROXY may be a request's header")
		}
		if entry, reason, found := list.Match(t.Host, t.EffectivePort()); found {
			return direct(noProxy.name, entry, reason)
		}
		return proxy.decide(t.Scheme)
	}
}

// goProxy is the value of a proxy variable as Go reads it.
type goProxy struct {
	variable string
	unusable bool // does not parse: silently no proxy
	broken   bool // parses into something that no connection can be made to
	scheme   string
	hop      Hop
}

// readGoProxy is parseProxy of httpproxy and connectMethod of net/http.
func readGoProxy(v variable) goProxy {
	proxy := goProxy{variable: v.name}
	if v.name == "" {
		return proxy
	}
	u, err := url.Parse(v.value)
	if err != nil || u.Scheme == "" || u.Host == "" {
		if with, withErr := url.Parse("http://" + v.value); withErr == nil {
			u, err = with, nil
		}
	}
	if err != nil {
		proxy.unusable = true
		return proxy
	}
	proxy.scheme = u.Scheme
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	number, err := strconv.ParseUint(port, 10, 16)
	proxy.broken = err != nil || strings.Contains(u.Hostname(), `"`)
	proxy.hop.Address = joinHostPort(u.Hostname(), strconv.FormatUint(number, 10))
	if u.User != nil {
		password, _ := u.User.Password()
		proxy.hop.Auth = Sends(u.User.Username() + ":" + password)
	}
	return proxy
}

func (p goProxy) decide(scheme string) Decision {
	if p.broken {
		return fails(p.variable, brokenProxy)
	}
	if p.scheme == "socks5" || p.scheme == "socks5h" {
		hop := p.hop
		hop.Protocol = Socks5Name
		return proxied(p.variable, hop)
	}
	return proxied(p.variable, p.hop.through(p.scheme, scheme))
}
