package dialect_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

const (
	proxyA = "http://127.0.0.1:3128"
	proxyB = "http://127.0.0.1:3129"
)

// scriptCase is a question to a client of a scripting language, and the answer
// of that client, in the words of scriptAnswer.
type scriptCase struct {
	name, client, version string
	env                   dialect.Env
	url, want             string
}

func runScriptCases(t *testing.T, cases []scriptCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			client, err := dialect.Find(c.client)
			if err != nil {
				t.Fatal(err)
			}
			target, err := dialect.ParseTarget(c.url)
			if err != nil {
				t.Fatal(err)
			}
			if got := scriptAnswer(c.env, client.At(c.version).Read(c.env)(target)); got != c.want {
				t.Errorf("%s@%s for %s with %v: %s, want %s", c.client, c.version, c.url, c.env, got, c.want)
			}
		})
	}
}

// scriptAnswer words a decision: the route, the deciding variable and entry, and
// the way to the proxy.
func scriptAnswer(env dialect.Env, d dialect.Decision) string {
	text := d.Route.String()
	if d.Variable != "" {
		text += " " + d.Variable
	}
	if entry := d.Entry.Of(env[d.Variable]); entry != "" {
		text += " by " + entry
	}
	if d.Route == dialect.Proxy {
		text += " " + d.Hop.Address + " " + string(d.Hop.Protocol)
	}
	if !d.Hop.Auth.IsZero() {
		text += " as " + d.Hop.Auth.Bytes()
	}
	return text
}

// both is an environment with proxy A for both schemes and a NO_PROXY list.
func bothProxies(noProxy string) dialect.Env {
	return dialect.Env{"http_proxy": proxyA, "https_proxy": proxyA, "no_proxy": noProxy}
}

func TestUrllib(t *testing.T) {
	runScriptCases(t, []scriptCase{
		{"an empty lower-case variable takes the upper-case one away", "urllib", "3.11", dialect.Env{"http_proxy": "", "HTTP_PROXY": proxyA}, "http://a.test", "direct http_proxy"},
		{"an entry has no blanks around it", "urllib", "3.11", bothProxies("b.test ,  .a.test "), "http://x.a.test", "direct no_proxy by .a.test"},
		{"the first entry that matches decides", "urllib", "3.11", bothProxies("test,a.test"), "http://a.test", "direct no_proxy by test"},
		{"an entry with the default port needs the port in the URL", "urllib", "3.11", bothProxies("a.test:80"), "http://a.test", "proxy http_proxy 127.0.0.1:3128 http"},
		{"an IPv6 address has brackets", "urllib", "3.11", bothProxies("fd00::1,[fd00::1]"), "http://[fd00::1]", "direct no_proxy by [fd00::1]"},
		{"https_proxy tunnels to an https proxy of http_proxy", "urllib", "3.11", dialect.Env{"http_proxy": "https://127.0.0.1:3128", "https_proxy": proxyB}, "http://a.test", "proxy https_proxy 127.0.0.1:3129 CONNECT"},
		{"only both a user and a password are sent", "urllib", "3.11", dialect.Env{"http_proxy": "http://u@127.0.0.1:3128"}, "http://a.test", "proxy http_proxy 127.0.0.1:3128 http"},
		{"a tunnel without a port in the proxy URL goes to 443", "urllib", "3.11", dialect.Env{"https_proxy": "http://127.0.0.1"}, "https://a.test", "proxy https_proxy 127.0.0.1:443 CONNECT"},
		{"in a CGI program HTTP_PROXY does not count", "urllib", "3.11", dialect.Env{"HTTP_PROXY": proxyA, "REQUEST_METHOD": ""}, "http://a.test", "direct"},
		{"Python 2 cannot send a name that is not ASCII", "urllib", "2.7", bothProxies(""), "http://bücher.test", "fails http_proxy"},
		{"Python 3.11 cannot tunnel to a name that is not ASCII", "urllib", "3.11", bothProxies(""), "https://bücher.test", "fails https_proxy"},
		{"Python 3.13 can", "urllib", "3.13", bothProxies(""), "https://bücher.test", "proxy https_proxy 127.0.0.1:3128 CONNECT"},
	})
}

func TestRequests(t *testing.T) {
	runScriptCases(t, []scriptCase{
		{"an entry matches in the midst of a label before 2.34", "requests", "2.32.3", bothProxies("b.test"), "http://ab.test", "direct no_proxy by b.test"},
		{"an entry matches whole labels from 2.34 on", "requests", "2.34.0", bothProxies("b.test"), "http://ab.test", "proxy http_proxy 127.0.0.1:3128 http"},
		{"an empty no_proxy leaves NO_PROXY", "requests", "2.34.0", dialect.Env{"http_proxy": proxyA, "no_proxy": "", "NO_PROXY": "a.test"}, "http://a.test", "direct NO_PROXY by a.test"},
		{"urllib folds the case of an entry, but knows no port", "requests", "2.34.0", bothProxies("A.test:8080,A.test"), "http://a.test:8080", "direct no_proxy by A.test"},
		{"an entry with a port in capitals matches nothing", "requests", "2.34.0", bothProxies("A.test:8080"), "http://a.test:8080", "proxy http_proxy 127.0.0.1:3128 http"},
		{"blanks within an entry go", "requests", "2.34.0", bothProxies("x.test, 10.0.0. 0/8 "), "http://10.1.2.3", "direct no_proxy by 10.0.0. 0/8"},
		{"an address in hexadecimal is in a network", "requests", "2.34.0", bothProxies("10.0.0.0/8"), "http://0x0a010203", "direct no_proxy by 10.0.0.0/8"},
		{"a network of everything is none", "requests", "2.34.0", bothProxies("0.0.0.0/0"), "http://10.1.2.3", "proxy http_proxy 127.0.0.1:3128 http"},
		{"an IPv6 address is bare", "requests", "2.34.0", bothProxies("[fd00::1],fd00::1"), "http://[FD00::1]", "direct no_proxy by fd00::1"},
		{"a name becomes A-labels", "requests", "2.34.0", bothProxies("xn--bcher-kva.test"), "http://bücher.test", "direct no_proxy by xn--bcher-kva.test"},
		{"a symbol is no name", "requests", "2.34.0", bothProxies("*"), "http://☃.test", "fails"},
		{"all_proxy is for what has no proxy of its own", "requests", "2.34.0", dialect.Env{"http_proxy": proxyA, "ALL_PROXY": proxyB}, "https://a.test", "proxy ALL_PROXY 127.0.0.1:3129 CONNECT"},
		{"a password outside Latin-1 fails", "requests", "2.34.0", dialect.Env{"http_proxy": "http://u:%E2%82%AC@127.0.0.1:3128"}, "http://a.test", "fails http_proxy"},
		{"localhost:3128 has the scheme localhost", "requests", "2.34.0", dialect.Env{"http_proxy": "localhost:3128"}, "http://a.test", "fails http_proxy"},
	})
}

func TestHttpx(t *testing.T) {
	runScriptCases(t, []scriptCase{
		{"an IPv6 network breaks every URL", "httpx", "0.28.1", bothProxies("a.test, fd00::/8"), "http://a.test", "fails no_proxy by fd00::/8"},
		{"even without a proxy", "httpx", "0.28.1", dialect.Env{"no_proxy": "[::1]"}, "http://a.test", "fails no_proxy by [::1]"},
		{"but not beside an asterisk", "httpx", "0.28.1", bothProxies("fd00::/8, *"), "http://a.test", "direct no_proxy by *"},
		{"an IPv6 network was ignored by 0.23", "httpx", "0.23.3", bothProxies("fd00::/8"), "http://a.test", "proxy http_proxy 127.0.0.1:3128 http"},
		{"a bare IPv6 address broke 0.24.0", "httpx", "0.24.0", bothProxies("fd00::1"), "http://a.test", "fails no_proxy by fd00::1"},
		{"a bare IPv6 address matches from 0.24.1 on", "httpx", "0.24.1", bothProxies("fd00::1"), "http://[fd00::1]", "direct no_proxy by fd00::1"},
		{"a proxy that is not used breaks every URL", "httpx", "0.28.1", dialect.Env{"https_proxy": "socks5://127.0.0.1:1"}, "http://a.test", "fails https_proxy"},
		{"an entry http:// takes the place of the proxy for http", "httpx", "0.28.1", bothProxies("http://"), "http://a.test", "direct no_proxy by http://"},
		{"and leaves the one for https", "httpx", "0.28.1", bothProxies("http://"), "https://a.test", "proxy https_proxy 127.0.0.1:3128 CONNECT"},
		{"an entry with a port comes before the others", "httpx", "0.28.1", bothProxies("a.test,:8080"), "http://a.test:8080", "direct no_proxy by :8080"},
		{"the longer entry comes first", "httpx", "0.28.1", bothProxies("test,a.test"), "http://x.a.test", "direct no_proxy by a.test"},
		{"localhost covers nothing below it", "httpx", "0.28.1", bothProxies("localhost"), "http://a.localhost", "proxy http_proxy 127.0.0.1:3128 http"},
		{"it did before 0.24.1", "httpx", "0.23.3", bothProxies("localhost"), "http://a.localhost", "direct no_proxy by localhost"},
		{"an entry that is not ASCII breaks every URL", "httpx", "0.28.1", bothProxies("bücher.test"), "http://a.test", "fails no_proxy by bücher.test"},
		{"an A-label in front of a URL is decoded and matches no entry", "httpx", "0.28.1", bothProxies("xn--bcher-kva.test"), "http://xn--bcher-kva.test", "proxy http_proxy 127.0.0.1:3128 http"},
		{"below another label it is not, and does", "httpx", "0.28.1", bothProxies("xn--bcher-kva.test"), "http://a.xn--bcher-kva.test", "direct no_proxy by xn--bcher-kva.test"},
		{"a long number was a wrong address before 0.26", "httpx", "0.24.1", bothProxies("*"), "http://167838211", "fails"},
		{"socks needs an add-on", "httpx", "0.28.1", dialect.Env{"all_proxy": "socks5://127.0.0.1:1080"}, "http://a.test", "fails all_proxy"},
	})
}

func TestAiohttp(t *testing.T) {
	runScriptCases(t, []scriptCase{
		{"an https proxy is ignored", "aiohttp", "3.11.16", dialect.Env{"http_proxy": "https://127.0.0.1:3128"}, "http://a.test", "direct http_proxy"},
		{"ports do not count", "aiohttp", "3.11.16", bothProxies("a.test:8080"), "http://a.test:8080", "proxy http_proxy 127.0.0.1:3128 http"},
		{"the last group of an IPv6 address passes for a port", "aiohttp", "3.11.16", bothProxies("fd00:"), "http://[fd00::1]", "direct no_proxy by fd00:"},
		{"an address is compared in its short form", "aiohttp", "3.11.16", bothProxies("fd00::1"), "http://[fd00:0:0::0001]", "direct no_proxy by fd00::1"},
		{"a URL of A-labels matches an entry of U-labels", "aiohttp", "3.11.16", bothProxies("bücher.test"), "http://XN--bcher-kva.test", "direct no_proxy by bücher.test"},
	})
}
