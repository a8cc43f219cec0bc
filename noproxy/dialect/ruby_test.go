package dialect_test

import (
	"net/netip"
	"testing"

	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

func TestRuby(t *testing.T) {
	runScriptCases(t, []scriptCase{
		{"Net::HTTP asks for http_proxy even for https", "ruby-net-http", "3.3", dialect.Env{"http_proxy": proxyA, "https_proxy": proxyB}, "https://a.test", "proxy http_proxy 127.0.0.1:3128 CONNECT"},
		{"open-uri asks for https_proxy", "ruby-open-uri", "3.3", dialect.Env{"http_proxy": proxyA, "https_proxy": proxyB}, "https://a.test", "proxy https_proxy 127.0.0.1:3129 CONNECT"},
		{"an empty no_proxy hides NO_PROXY", "ruby-net-http", "3.3", dialect.Env{"http_proxy": proxyA, "no_proxy": "", "NO_PROXY": "a.test"}, "http://a.test", "proxy http_proxy 127.0.0.1:3128 http"},
		{"white space of any kind separates", "ruby-net-http", "3.3", bothProxies("x.test\n a.test"), "http://a.test", "direct no_proxy by a.test"},
		{"a port without a number is another entry", "ruby-net-http", "3.3", bothProxies("x.test:test"), "http://a.test", "direct no_proxy by test"},
		{"the port of the scheme counts", "ruby-net-http", "3.3", bothProxies("a.test:443"), "https://a.test", "direct no_proxy by a.test:443"},
		{"a colon without a port means every port", "ruby-net-http", "3.3", bothProxies("a.test:"), "http://a.test:8080", "direct no_proxy by a.test"},
		{"an IPv6 entry falls apart", "ruby-net-http", "3.3", bothProxies("fd00::1"), "http://[fd00::1]", "proxy http_proxy 127.0.0.1:3128 http"},
		{"loopback written as one number is loopback", "ruby-net-http", "3.3", bothProxies(""), "http://2130706433", "direct"},
		{"a netmask will do for a length", "ruby-net-http", "3.3", bothProxies("10.0.0.0/255.0.0.0"), "http://10.1.2.3", "direct no_proxy by 10.0.0.0/255.0.0.0"},
		{"a netmask with holes will not", "ruby-net-http", "3.3", bothProxies("10.0.0.0/255.0.255.0"), "http://10.1.2.3", "proxy http_proxy 127.0.0.1:3128 http"},
		{"a zero in front of a length was read by 2.7", "ruby-net-http", "2.7", bothProxies("10.0.0.0/08"), "http://10.1.2.3", "direct no_proxy by 10.0.0.0/08"},
		{"and is not by 3.1", "ruby-net-http", "3.1", bothProxies("10.0.0.0/08"), "http://10.1.2.3", "proxy http_proxy 127.0.0.1:3128 http"},
		{"an IPv4-mapped address was in an IPv4 network for 2.7", "ruby-net-http", "2.7", bothProxies("10.0.0.0/8"), "http://[::ffff:10.1.2.3]", "direct no_proxy by 10.0.0.0/8"},
		{"and is not for 3.1", "ruby-net-http", "3.1", bothProxies("10.0.0.0/8"), "http://[::ffff:10.1.2.3]", "proxy http_proxy 127.0.0.1:3128 http"},
		{"a URL that is not ASCII fails", "ruby-net-http", "3.3", bothProxies("*"), "http://bücher.test", "fails"},
		{"in a CGI program http_proxy counts", "ruby-open-uri", "3.3", dialect.Env{"http_proxy": proxyA, "HTTP_PROXY": proxyB, "REQUEST_METHOD": "GET"}, "http://a.test", "proxy http_proxy 127.0.0.1:3128 http"},
		{"in a CGI program HTTP_PROXY does not, but CGI_HTTP_PROXY", "ruby-open-uri", "3.3", dialect.Env{"HTTP_PROXY": proxyA, "CGI_HTTP_PROXY": proxyB, "REQUEST_METHOD": ""}, "http://a.test", "proxy CGI_HTTP_PROXY 127.0.0.1:3129 http"},
		{"Net::HTTP makes a blank of a plus sign", "ruby-net-http", "3.1", dialect.Env{"http_proxy": "http://u:a+b%2B@127.0.0.1:3128"}, "http://a.test", "proxy http_proxy 127.0.0.1:3128 http as u:a b+"},
		{"open-uri cuts a password at a colon", "ruby-open-uri", "3.1", dialect.Env{"http_proxy": "http://u:a:b@127.0.0.1:3128"}, "http://a.test", "proxy http_proxy 127.0.0.1:3128 http as u:a"},
	})
}

func TestRubyLooksAtWhatANameResolvesTo(t *testing.T) {
	client, err := dialect.Find("ruby")
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"10.1.2.3":  "direct no_proxy by 10.0.0.0/8",
		"11.1.2.3":  "proxy http_proxy 127.0.0.1:3128 http",
		"127.0.0.2": "direct",
		"::1":       "direct",
	} {
		env := bothProxies("10.0.0.0/8")
		target := dialect.Target{URL: "http://a.test/", Scheme: "http", Host: "a.test", Addrs: []netip.Addr{netip.MustParseAddr(address)}}
		if got := scriptAnswer(env, client.Newest().Read(env)(target)); got != want {
			t.Errorf("a name of %s: %s, want %s", address, got, want)
		}
	}
}
