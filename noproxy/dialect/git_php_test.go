package dialect_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

func TestGitReadsTheProxyItself(t *testing.T) {
	env := func(proxy string) dialect.Env { return dialect.Env{"https_proxy": proxy} }
	const url = "https://a.test/"
	runCommandCases(t, []commandCase{
		{name: "no credential before the proxy asks", client: "git", env: env("http://u:p@p.test:1"), url: url, want: "p.test:1 CONNECT"},
		{name: "a user alone fails even for an excluded host", client: "git", env: dialect.Env{"https_proxy": "http://u@p.test:1", "no_proxy": "*"}, url: url, want: "fails"},
		{name: "an empty password is one", client: "git", env: env("http://u:@p.test:1"), url: url, want: "p.test:1 CONNECT"},
		{name: "an empty variable turns the proxy off", client: "git", env: dialect.Env{"https_proxy": "", "HTTPS_PROXY": "http://p.test:1"}, url: url, want: "direct"},
		{name: "an empty list hides the other", client: "git", env: dialect.Env{"https_proxy": "http://p.test:1", "no_proxy": "", "NO_PROXY": "a.test"}, url: url, want: "p.test:1 CONNECT"},
		{name: "only commas separate with libcurl 8.14", client: "git@2.47.3", noProxy: "b.test a.test", url: url, want: "proxy.test:3128 CONNECT"},
		{name: "blanks separate with libcurl 7.88", client: "git@2.39.5", noProxy: "b.test a.test", url: url, want: "direct a.test"},
		{name: "no networks with libcurl 7.74", client: "git@2.30.2", noProxy: "10.0.0.0/8", url: "https://10.1.2.3/", want: "proxy.test:3128 CONNECT"},
	})
}

func TestPHPIsItsLibcurl(t *testing.T) {
	runCommandCases(t, []commandCase{
		{name: "the version of libcurl counts", client: "php-curl@8.4.1 libcurl 7.74.0", noProxy: "10.0.0.0/8", url: "http://10.1.2.3/", want: viaProxy},
		{name: "PHP's own says nothing", client: "php-curl@7.4", noProxy: "fd00::/8", url: "http://[fd00::1]/", want: "direct fd00::/8"},
	})
}

func TestGuzzleReadsUpperCaseAndLibcurlTheRest(t *testing.T) {
	const url = "http://a.test/"
	runCommandCases(t, []commandCase{
		{name: "HTTP_PROXY is read", client: "php-guzzle", env: dialect.Env{"HTTP_PROXY": "http://p.test:1"}, url: url, want: "p.test:1 http"},
		{name: "where Guzzle excludes a host libcurl looks for itself", client: "php-guzzle", env: dialect.Env{"HTTP_PROXY": "http://p.test:1", "http_proxy": "http://q.test:2", "NO_PROXY": "a.test", "no_proxy": "b.test"}, url: url, want: "q.test:2 http"},
		{name: "and finds nothing", client: "php-guzzle", env: dialect.Env{"HTTP_PROXY": "http://p.test:1", "NO_PROXY": "x, *", "no_proxy": "b.test"}, url: url, want: "direct *"},
		{name: "libcurl's list counts for Guzzle's proxy", client: "php-guzzle", env: dialect.Env{"HTTP_PROXY": "http://p.test:1", "no_proxy": "A.test"}, url: url, want: "direct A.test"},
		{name: "0 is no list", client: "php-guzzle", env: dialect.Env{"HTTP_PROXY": "http://p.test:1", "NO_PROXY": "0"}, url: "http://0.test/", want: "p.test:1 http"},
		{name: "an IPv4-mapped address is no URL", client: "php-guzzle", noProxy: "a.test", url: "http://[::ffff:10.1.2.3]/", want: "fails"},
	})
}
