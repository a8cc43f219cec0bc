package dialect_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

func TestAria2Corners(t *testing.T) {
	const client, url = "aria2c", "http://a.test/"
	env := func(proxy string) dialect.Env { return dialect.Env{"http_proxy": proxy} }
	runCommandCases(t, []commandCase{
		{name: "a network in short form", client: client, noProxy: "10/8", url: "http://0.1.2.3/", want: "direct 10/8"},
		{name: "a host in hexadecimal", client: client, noProxy: "10.0.0.0/8", url: "http://0x0a010203/", want: "direct 10.0.0.0/8"},
		{name: "a length that is too long is an address", client: client, noProxy: "10.1.2.3/99", url: "http://10.1.2.3/", want: "direct 10.1.2.3/99"},
		{name: "a dot covers no address", client: client, noProxy: ".2.3", url: "http://10.1.2.3/", want: viaProxy},
		{name: "case counts", client: client, noProxy: "A.test", url: url, want: viaProxy},
		{name: "blanks around do not", client: client, noProxy: "b.test,\r\n\ta.test ", url: url, want: "direct a.test"},
		{name: "an empty variable leaves all_proxy", client: client, env: dialect.Env{"http_proxy": "", "all_proxy": "p.test:1"}, url: url, want: "p.test:1 http"},
		{name: "so does one that cannot be used", client: client, env: dialect.Env{"http_proxy": "socks5://q.test", "all_proxy": "p.test:1"}, url: url, want: "p.test:1 http"},
		{name: "https is spoken to in http", client: client, env: env("https://p.test"), url: url, want: "p.test:443 http"},
		{name: "an IPv6 proxy with a user", client: client, env: env("http://u:p@[::1]:1"), url: url, want: "[::1]:1 http u:p"},
	})
}

func TestAptCorners(t *testing.T) {
	const client, url = "apt", "https://a.test/"
	env := func(proxy string) dialect.Env { return dialect.Env{"https_proxy": proxy} }
	runCommandCases(t, []commandCase{
		{name: "any end of the host", client: client, noProxy: "St", url: url, want: "direct St"},
		{name: "blanks are part of an entry", client: client, noProxy: "b.test, a.test", url: url, want: "proxy.test:3128 CONNECT"},
		{name: "http_proxy serves https", client: client, env: dialect.Env{"http_proxy": "http://p.test:1"}, url: url, want: "p.test:1 CONNECT"},
		{name: "unless https_proxy is set", client: client, env: dialect.Env{"http_proxy": "http://p.test:1", "https_proxy": ""}, url: url, want: "direct"},
		{name: "the default port is the target's", client: client, env: env("http://p.test"), url: url, want: "p.test:443 CONNECT"},
		{name: "a value without a colon is none", client: client, env: env("p.test"), url: url, want: "direct"},
		{name: "one with a colon is an unknown scheme", client: client, env: env("p.test:1"), url: url, want: "fails"},
		{name: "socks5h", client: client, env: env("socks5h://u:p@p.test"), url: url, want: "p.test:1080 socks5 target=name u:p"},
		{name: "not socks5", client: client, env: env("socks5://p.test"), url: url, want: "fails"},
		{name: "https to the proxy", client: client, env: env("https://p.test"), url: url, want: "p.test:443 tls"},
	})
}
