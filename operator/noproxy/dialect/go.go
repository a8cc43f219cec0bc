package dialect

import (
	"cmp"
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
	r := rules{
		find: Env.nonEmpty, http: "HTTP_PROXY http_proxy", https: "HTTPS_PROXY https_proxy",
		readProxy: func(v variable, scheme string) proxy {
			p := readGoProxy(v.value, scheme)
			if env["REQUEST_METHOD"] != "" && scheme == "http" && p.ignored == "" {
				p.fatal = "REQUEST_METHOD is set: in a CGI program HTTP_PROXY may be a request's header"
			}
			return p
		},
		host: func(t Target) (host, string) { return host{name: t.Host, port: t.EffectivePort()}, "" },
	}
	noProxy := env.nonEmpty("NO_PROXY", "no_proxy")
	compiled := CompileGo(noProxy.value)
	return r.decider(r.proxies(env), list{variable: noProxy, compiled: func(h host) (Span, string, bool) { return compiled.Match(h.name, h.port) }})
}

// readGoProxy is parseProxy of httpproxy and connectMethod of net/http.
func readGoProxy(value, target string) proxy {
	u, err := url.Parse(value)
	if err != nil || u.Scheme == "" || u.Host == "" {
		if with, withErr := url.Parse("http://" + value); withErr == nil {
			u, err = with, nil
		}
	}
	if err != nil {
		return proxy{ignored: unusableProxy}
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme])
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || strings.Contains(u.Hostname(), `"`) {
		return proxy{failure: brokenProxy}
	}
	hop := Hop{Address: joinHostPort(u.Hostname(), strconv.FormatUint(number, 10))}
	if u.User != nil {
		password, _ := u.User.Password()
		hop.Auth = Sends(u.User.Username() + ":" + password)
	}
	if hop = hop.through(u.Scheme, target); u.Scheme == "socks5" || u.Scheme == "socks5h" {
		hop.Protocol = Socks5Name
	}
	return proxy{hop: hop}
}
