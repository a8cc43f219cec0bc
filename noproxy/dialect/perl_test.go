package dialect_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

func TestLWP(t *testing.T) {
	runScriptCases(t, []scriptCase{
		{"upper case comes first", "perl-lwp", "6.78", dialect.Env{"http_proxy": proxyA, "HTTP_PROXY": proxyB}, "http://a.test", "proxy HTTP_PROXY 127.0.0.1:3129 http"},
		{"an empty variable is none", "perl-lwp", "6.78", dialect.Env{"http_proxy": proxyA, "HTTP_PROXY": ""}, "http://a.test", "proxy http_proxy 127.0.0.1:3128 http"},
		{"a proxy that is not used kills the client", "perl-lwp", "6.78", dialect.Env{"http_proxy": proxyA, "ftp_proxy": "proxy.test:3128x y", "https_proxy": "127.0.0.1:3128", "no_proxy": "a.test"}, "http://a.test", "fails https_proxy"},
		{"a variable of no scheme that it knows is not read", "perl-lwp", "6.78", dialect.Env{"http_proxy": proxyA, "all_proxy": "127.0.0.1:3128"}, "http://a.test", "proxy http_proxy 127.0.0.1:3128 http"},
		{"an empty element covered everything in 6.68", "perl-lwp", "6.68", bothProxies("b.test,,c.test"), "http://a.test", "direct no_proxy"},
		{"empty elements at the end go", "perl-lwp", "6.68", bothProxies("b.test,,"), "http://a.test", "proxy http_proxy 127.0.0.1:3128 http"},
		{"an entry matched in the midst of a label in 6.68", "perl-lwp", "6.68", bothProxies("b.test"), "http://ab.test", "direct no_proxy by b.test"},
		{"a dot in front matched nothing in 6.72", "perl-lwp", "6.72", bothProxies(".a.test"), "http://x.a.test", "proxy http_proxy 127.0.0.1:3128 http"},
		{"one dot in front goes from 6.73 on", "perl-lwp", "6.73", bothProxies("..b.test,.a.test"), "http://x.a.test", "direct no_proxy by .a.test"},
		{"a second dot in front stays", "perl-lwp", "6.73", bothProxies("..a.test"), "http://x.a.test", "proxy http_proxy 127.0.0.1:3128 http"},
		{"a blank in front of the list stays", "perl-lwp", "6.78", bothProxies(" a.test"), "http://a.test", "proxy http_proxy 127.0.0.1:3128 http"},
		{"case counts", "perl-lwp", "6.78", bothProxies("a.test"), "http://A.test", "proxy http_proxy 127.0.0.1:3128 http"},
		{"the host 0 is false and never goes direct", "perl-lwp", "6.78", bothProxies("0"), "http://0", "proxy http_proxy 127.0.0.1:3128 http"},
		{"in a CGI program HTTP_PROXY does not count, but CGI_HTTP_PROXY", "perl-lwp", "6.78", dialect.Env{"HTTP_PROXY": proxyA, "CGI_HTTP_PROXY": proxyB, "http_proxy": proxyA, "REQUEST_METHOD": "GET"}, "http://a.test", "proxy CGI_HTTP_PROXY 127.0.0.1:3129 http"},
		{"https to an https proxy is TLS", "perl-lwp", "6.78", dialect.Env{"https_proxy": "https://u:p@127.0.0.1"}, "https://a.test", "proxy https_proxy 127.0.0.1:443 tls"},
		{"a scheme of SOCKS is unknown", "perl-lwp", "6.78", dialect.Env{"http_proxy": "socks5://127.0.0.1:1080"}, "http://a.test", "fails http_proxy"},
	})
}

func TestHTTPTiny(t *testing.T) {
	runScriptCases(t, []scriptCase{
		{"NO_PROXY is not read", "perl-http-tiny", "", dialect.Env{"http_proxy": proxyA, "NO_PROXY": "a.test"}, "http://a.test", "proxy http_proxy 127.0.0.1:3128 http"},
		{"an empty http_proxy leaves HTTP_PROXY", "perl-http-tiny", "", dialect.Env{"http_proxy": "", "HTTP_PROXY": proxyA}, "http://a.test", "proxy HTTP_PROXY 127.0.0.1:3128 http"},
		{"an empty ALL_PROXY kills the client", "perl-http-tiny", "", dialect.Env{"http_proxy": proxyA, "ALL_PROXY": ""}, "http://a.test", "fails ALL_PROXY"},
		{"any scheme is plain HTTP", "perl-http-tiny", "", dialect.Env{"http_proxy": "socks5://127.0.0.1:3128"}, "http://a.test", "proxy http_proxy 127.0.0.1:3128 http"},
		{"a user alone is sent without a colon", "perl-http-tiny", "", dialect.Env{"http_proxy": "http://u@127.0.0.1:3128"}, "http://a.test", "proxy http_proxy 127.0.0.1:3128 http as u"},
		{"an IPv6 address has brackets", "perl-http-tiny", "", bothProxies("fd00::1,[fd00::1]"), "http://[FD00::1]", "direct no_proxy by [fd00::1]"},
		{"https to an https proxy fails", "perl-http-tiny", "", dialect.Env{"https_proxy": "https://127.0.0.1:3128"}, "https://a.test", "fails https_proxy"},
		{"in a CGI program HTTP_PROXY does not count, but CGI_HTTP_PROXY", "perl-http-tiny", "", dialect.Env{"HTTP_PROXY": proxyA, "CGI_HTTP_PROXY": proxyB, "REQUEST_METHOD": "GET"}, "http://a.test", "proxy CGI_HTTP_PROXY 127.0.0.1:3129 http"},
	})
}
