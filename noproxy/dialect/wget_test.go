package dialect_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

func TestWgetCornersOfListAndProxy(t *testing.T) {
	env := func(proxy string) dialect.Env { return dialect.Env{"http_proxy": proxy, "https_proxy": proxy} }
	const url = "http://a.test/"
	runCommandCases(t, []commandCase{
		{name: "white space after a comma does not count", client: "wget", noProxy: "b.test,\n a.test", url: url, want: "direct a.test"},
		{name: "white space before one does", client: "wget", noProxy: "a.test ,b.test", url: url, want: viaProxy},
		{name: "white space in front of the list does", client: "wget", noProxy: " a.test", url: url, want: viaProxy},
		{name: "a dot covers what is below", client: "wget", noProxy: ".test", url: url, want: "direct .test"},
		{name: "but not the name", client: "wget", noProxy: ".a.test", url: url, want: viaProxy},
		{name: "a user alone is not sent", client: "wget", env: env("http://u@p.test:1"), url: url, want: "p.test:1 http"},
		{name: "an https proxy for https is spoken to in http", client: "wget", env: env("https://p.test"), url: "https://a.test/", want: "p.test:443 CONNECT"},
		{name: "an https proxy for http is an error", client: "wget", env: env("https://p.test"), url: url, want: "fails"},
	})
}

func TestWget2CornersOfListAndProxy(t *testing.T) {
	env := func(proxy string) dialect.Env { return dialect.Env{"http_proxy": proxy, "https_proxy": proxy} }
	const url = "http://a.test/"
	runCommandCases(t, []commandCase{
		{name: "1.99.1 speaks TLS to the proxy", client: "wget2@1.99.1", env: env("p.test:1"), url: "https://a.test/", want: "p.test:1 tls"},
		{name: "a scheme that it does not know ends it", client: "wget2", env: dialect.Env{"https_proxy": "socks5://p.test:1", "no_proxy": "a.test"}, url: url, want: "fails"},
		{name: "1.99.1 takes any scheme", client: "wget2@1.99.1", env: env("socks5://p.test:1"), url: url, want: "p.test:1 http"},
		{name: "2.1 tunnels", client: "wget2@2.1", env: env("p.test:1"), url: "https://a.test/", want: "p.test:1 CONNECT"},
		{name: "an encoded @ splits like any", client: "wget2", env: env("http://u:p%40q.test@p.test:1"), url: url, want: "fails"},
		{name: "2.1 knows networks", client: "wget2@2.1", noProxy: "10.0.0.0/8,fd00::/9", url: "http://[fd7f::1]/", want: "direct fd00::/9"},
		{name: "a length of 0 is everything", client: "wget2@2.1", noProxy: "0.0.0.0/x", url: "http://10.1.2.3/", want: "direct 0.0.0.0/x"},
		{name: "1.99.1 does not", client: "wget2@1.99.1", noProxy: "10.0.0.0/8", url: "http://10.1.2.3/", want: viaProxy},
		{name: "a Unicode entry is one in punycode", client: "wget2", noProxy: ".bücher.test", url: "http://a.xn--bcher-kva.test/", want: "direct .bücher.test"},
		{name: "an entry of 256 bytes is left out", client: "wget2@2.1", noProxy: strings.Repeat(" ", 250) + "a.test", url: url, want: viaProxy},
		{name: "a bare name covers itself only", client: "wget2", noProxy: "a.test", url: "http://b.a.test/", want: viaProxy},
	})
}

func TestWget2WithLibproxyCorners(t *testing.T) {
	const client, url = "wget2-libproxy", "http://a.test/"
	env := func(proxy string) dialect.Env { return dialect.Env{"HTTP_PROXY": proxy} }
	runCommandCases(t, []commandCase{
		{name: "https as if it were http", client: client, env: env("http://p.test:1"), url: "https://a.test/", want: "p.test:1 http"},
		{name: "the host may be the start of the entry", client: client, noProxy: ".a.testing", url: url, want: "direct .a.testing"},
		{name: "case counts but there", client: client, noProxy: "A.test", url: url, want: viaProxy},
		{name: "not there", client: client, noProxy: ".A.test", url: url, want: "direct .A.test"},
		{name: "a port of the URL as it is written", client: client, noProxy: "a.test:80", url: url, want: viaProxy},
		{name: "a port that is written", client: client, noProxy: "a.test:80", url: "http://a.test:80/", want: "direct a.test:80"},
		{name: "host bits make a network invalid", client: client, noProxy: "10.1.2.3/8", url: "http://10.1.2.3/", want: viaProxy},
		{name: "names without a dot", client: client, noProxy: "<local>", url: "http://a/", want: "direct <local>"},
		{name: "a percent sign in the URL", client: client, env: env("http://p.test:1"), url: "http://a.test/%zz", want: "direct"},
		{name: "a scheme that wget2 cannot parse", client: client, env: env("socks5://p.test:1"), url: url, want: "fails"},
	})
}
