package dialect_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// commandCase asks a command-line client one question. Answers are worded by
// commandAnswer.
type commandCase struct {
	name    string
	client  string // name@version
	env     dialect.Env
	noProxy string // where env is nil: both proxies are http://proxy.test:3128
	url     string
	want    string
}

func (c commandCase) decide(t *testing.T) (dialect.Env, dialect.Decision) {
	t.Helper()
	name, version, _ := strings.Cut(c.client, "@")
	client, err := dialect.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	target, err := dialect.ParseTarget(c.url)
	if err != nil {
		t.Fatal(err)
	}
	env := c.env
	if env == nil {
		env = dialect.Uniform("http://proxy.test:3128", "http://proxy.test:3128", c.noProxy, "")
	}
	return env, client.At(version).Read(env)(target)
}

// commandAnswer is "fails", "direct" with the deciding entry if there is one, or
// the address of the proxy with protocol and credential.
func commandAnswer(env dialect.Env, d dialect.Decision) string {
	switch {
	case d.Route == dialect.Fails:
		return "fails"
	case d.Route == dialect.Direct && d.Entry.Empty():
		return "direct"
	case d.Route == dialect.Direct:
		return "direct " + d.Entry.Of(env[d.Variable])
	case d.Hop.Auth.IsZero():
		return d.Hop.Address + " " + string(d.Hop.Protocol)
	}
	return d.Hop.Address + " " + string(d.Hop.Protocol) + " " + d.Hop.Auth.Bytes()
}

func runCommandCases(t *testing.T, cases []commandCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			env, decision := c.decide(t)
			if got := commandAnswer(env, decision); got != c.want {
				t.Errorf("%s: %s: got %q, want %q (%s)", c.client, c.url, got, c.want, decision.Reason)
			}
			if decision.Reason == "" {
				t.Error("no reason")
			}
		})
	}
}

const viaProxy = "proxy.test:3128 http"

func TestLibcurlReadsTheListByItsRelease(t *testing.T) {
	runCommandCases(t, []commandCase{
		{name: "7.85 knows no networks", client: "curl@7.85.0", noProxy: "10.0.0.0/8", url: "http://10.1.2.3/", want: viaProxy},
		{name: "7.85 takes a tab for a part of the entry", client: "curl@7.85.0", noProxy: "a.test\tb.test", url: "http://b.test/", want: viaProxy},
		{name: "7.85 compares the trailing dot", client: "curl@7.85.0", noProxy: "a.test", url: "http://a.test./", want: viaProxy},
		{name: "7.85 matches the end of an address", client: "curl@7.85.0", noProxy: "2.3", url: "http://10.1.2.3/", want: "direct 2.3"},
		{name: "7.86 no longer covers what is below a name", client: "curl@7.86.0", noProxy: "b.test", url: "http://a.b.test/", want: viaProxy},
		{name: "7.86 covers below a dot in the last entry only", client: "curl@7.86.0", noProxy: ".b.test,c.test", url: "http://a.b.test/", want: viaProxy},
		{name: "7.86 ignores the boundary of labels", client: "curl@7.86.0", noProxy: "c.test,.b.test", url: "http://ab.test/", want: "direct .b.test"},
		{name: "7.86 reads an address together with what follows", client: "curl@7.86.0", noProxy: "10.1.2.3,c.test", url: "http://10.1.2.3/", want: viaProxy},
		{name: "7.86 reads the last address", client: "curl@7.86.0", noProxy: "c.test,10.1.2.3", url: "http://10.1.2.3/", want: "direct 10.1.2.3"},
		{name: "7.86 reads a network anywhere", client: "curl@7.86.0", noProxy: "10.0.0.0/8,c.test", url: "http://10.1.2.3/", want: "direct 10.0.0.0/8"},
		{name: "7.87 mends it", client: "curl@7.87.0", noProxy: ".b.test,c.test", url: "http://a.b.test/", want: "direct .b.test"},
		{name: "8.8 takes a blank for a separator", client: "curl@8.8.0", noProxy: "a.test b.test,c.test", url: "http://b.test/", want: "direct b.test"},
		{name: "8.9 ends the list at a blank", client: "curl@8.9.0", noProxy: "a.test b.test,c.test", url: "http://c.test/", want: viaProxy},
		{name: "8.9 allows blanks around commas", client: "curl@8.9.0", noProxy: "a.test , c.test", url: "http://c.test/", want: "direct c.test"},
		{name: "8.17 takes what number it finds for the length", client: "curl@8.17.0", noProxy: "10.0.0.0/8x", url: "http://10.1.2.3/", want: "direct 10.0.0.0/8x"},
		{name: "8.18 wants a number", client: "curl@8.18.0", noProxy: "10.0.0.0/8x", url: "http://10.1.2.3/", want: viaProxy},
		{name: "8.17 compares IPv6 addresses as text", client: "curl@8.17.0", noProxy: "fd00:0::1", url: "http://[fd00::1]/", want: viaProxy},
		{name: "8.18 compares IPv6 addresses", client: "curl@8.18.0", noProxy: "fd00:0::1", url: "http://[fd00::1]/", want: "direct fd00:0::1"},
		{name: "8.18 knows IPv6 networks", client: "curl@8.18.0", noProxy: "fd00::/9", url: "http://[fd7f::1]/", want: "direct fd00::/9"},
		{name: "a length of 0 is the address alone", client: "curl", noProxy: "0.0.0.0/0", url: "http://10.1.2.3/", want: viaProxy},
		{name: "an entry of 128 bytes is no address", client: "curl", noProxy: "10.0.0.0/" + strings.Repeat("0", 118) + "8", url: "http://10.1.2.3/", want: viaProxy},
		{name: "a star works alone", client: "curl", noProxy: "*,a.test", url: "http://b.test/", want: viaProxy},
	})
}

func TestLibcurlNormalizesTheHostByItsRelease(t *testing.T) {
	runCommandCases(t, []commandCase{
		{name: "7.76 leaves numbers alone", client: "curl@7.76.0", noProxy: "10.1.2.3", url: "http://0x0a010203/", want: viaProxy},
		{name: "7.77 reads them", client: "curl@7.77.0", noProxy: "10.1.2.3", url: "http://0x0a010203/", want: "direct 10.1.2.3"},
		{name: "octal", client: "curl", noProxy: "10.1.2.3", url: "http://012.1.515/", want: "direct 10.1.2.3"},
		{name: "a number that is too large is a name", client: "curl", noProxy: "10.1.2.3", url: "http://10.1.2.256/", want: viaProxy},
		{name: "five parts are a name", client: "curl", noProxy: "0.0.0.0/1", url: "http://1.2.3.4.0/", want: viaProxy},
		{name: "8.12 knows 0X", client: "curl@8.12.0", noProxy: "10.1.2.3", url: "http://0X0a010203/", want: "direct 10.1.2.3"},
		{name: "8.13 knows no 0X", client: "curl@8.13.0", noProxy: "10.1.2.3", url: "http://0X0a010203/", want: viaProxy},
		{name: "8.21 knows it again", client: "curl@8.21.0", noProxy: "10.1.2.3", url: "http://0X0a010203/", want: "direct 10.1.2.3"},
		{name: "8.21 drops the dot after an address", client: "curl@8.21.0", noProxy: "10.1.2.3", url: "http://10.1.2.3./", want: "direct 10.1.2.3"},
		{name: "8.20 does not", client: "curl@8.20.0", noProxy: "10.1.2.3", url: "http://10.1.2.3./", want: "direct 10.1.2.3"},
		{name: "8.20 takes it for a name then", client: "curl@8.20.0", noProxy: "10.0.0.0/8", url: "http://10.1.2.3./", want: viaProxy},
		{name: "7.79 does not decode", client: "curl@7.79.0", noProxy: "a.test", url: "http://%61.test/", want: viaProxy},
		{name: "7.80 decodes", client: "curl@7.80.0", noProxy: "a.test", url: "http://%61.test/", want: "direct a.test"},
		{name: "7.83.1 refuses a decoded slash", client: "curl@7.83.1", noProxy: "a.test", url: "http://b%2fa.test/", want: "fails"},
		{name: "7.80 does not", client: "curl@7.80.0", noProxy: "a.test", url: "http://b%2f.a.test/", want: "direct a.test"},
		{name: "8.21 refuses two dots", client: "curl@8.21.0", noProxy: "a.test", url: "http://a.test../", want: "fails"},
		{name: "7.81 shortens IPv6", client: "curl@7.81.0", noProxy: "fd00::1", url: "http://[fd00:0:0::1]/", want: "direct fd00::1"},
		{name: "7.80 does not shorten", client: "curl@7.80.0", noProxy: "fd00::1", url: "http://[fd00:0:0::1]/", want: viaProxy},
		{name: "7.87 compares Unicode", client: "curl@7.87.0", noProxy: "bücher.test", url: "http://bücher.test/", want: "direct bücher.test"},
		{name: "7.88 compares punycode", client: "curl@7.88.0", noProxy: "xn--bcher-kva.test", url: "http://bücher.test/", want: "direct xn--bcher-kva.test"},
	})
}

func TestLibcurlReadsTheProxyByItsRelease(t *testing.T) {
	env := func(proxy string) dialect.Env { return dialect.Env{"http_proxy": proxy} }
	runCommandCases(t, []commandCase{
		{name: "the default port is 1080", client: "curl@8.20.0", env: env("http://p.test"), url: "http://a.test/", want: "p.test:1080 http"},
		{name: "8.21 takes the one of the scheme", client: "curl@8.21.0", env: env("p.test"), url: "http://a.test/", want: "p.test:80 http"},
		{name: "SOCKS keeps 1080", client: "curl@8.21.0", env: env("socks5h://p.test"), url: "http://a.test/", want: "p.test:1080 socks5 target=name"},
		{name: "a name may spell a scheme", client: "curl@8.20.0", env: env("smtp.p.test:1"), url: "http://a.test/", want: "fails"},
		{name: "but not with a scheme", client: "curl@8.20.0", env: env("http://smtp.p.test:1"), url: "http://a.test/", want: "smtp.p.test:1 http"},
		{name: "8.21 does not guess", client: "curl@8.21.0", env: env("smtp.p.test:1"), url: "http://a.test/", want: "smtp.p.test:1 http"},
		{name: "an address through SOCKS 5 as such", client: "curl@7.81.0", env: env("socks5h://p.test:1"), url: "http://10.1.2.3/", want: "p.test:1 socks5 target=ip"},
		{name: "an address through SOCKS 5 as a name", client: "curl@7.80.0", env: env("socks5h://p.test:1"), url: "http://10.1.2.3/", want: "p.test:1 socks5 target=name"},
		{name: "a broken proxy is not looked at where the list matches", client: "curl@8.20.0", env: dialect.Env{"http_proxy": "ftp.p.test:1", "no_proxy": "a.test"}, url: "http://a.test/", want: "direct a.test"},
	})
}
