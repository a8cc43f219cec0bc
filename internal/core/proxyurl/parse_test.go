package proxyurl_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
)

func TestAProxyURLIsAcceptedAndEmittedInOneShape(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"nothing":                          {"", ""},
		"only white space":                 {" \n", ""},
		"host and port":                    {"http://proxy.example:3128", "http://proxy.example:3128"},
		"https":                            {"https://proxy.example:443", "https://proxy.example:443"},
		"a scheme in capitals":             {"HTTP://proxy.example:3128", "http://proxy.example:3128"},
		"a host in capitals":               {"http://PROXY.example:3128", "http://proxy.example:3128"},
		"a trailing slash":                 {"http://proxy.example:3128/", "http://proxy.example:3128"},
		"a trailing newline":               {"http://proxy.example:3128\n", "http://proxy.example:3128"},
		"white space around it":            {" \thttp://proxy.example:3128\r\n", "http://proxy.example:3128"},
		"a final dot":                      {"http://me:p@proxy.example.:3128", "http://me:p@proxy.example.:3128"},
		"an IPv4 address":                  {"http://192.168.52.220:3128", "http://192.168.52.220:3128"},
		"an IPv6 address":                  {"http://[2001:DB8::0:1]:3128", "http://[2001:db8::1]:3128"},
		"an IPv4-mapped address":           {"http://[::ffff:10.1.2.3]:3128", "http://10.1.2.3:3128"},
		"a name outside ASCII":             {"http://pröxy.example:3128", "http://xn--prxy-6qa.example:3128"},
		"a port with zeros in front":       {"http://proxy.example:03128", "http://proxy.example:3128"},
		"the published example":            {"http://myProxyUser:mySuperSecretPassword@192.168.52.220:3128", "http://myProxyUser:mySuperSecretPassword@192.168.52.220:3128"},
		"a username alone":                 {"http://me@proxy.example:3128", "http://me@proxy.example:3128"},
		"an empty password":                {"http://me:@proxy.example:3128", "http://me:@proxy.example:3128"},
		"a colon in the password":          {"http://me:a:b@proxy.example:3128", "http://me:a:b@proxy.example:3128"},
		"percent-encoding in either case":  {"http://d%5Cu:p%40%3a@proxy.example:3128/", "http://d%5Cu:p%40%3a@proxy.example:3128"},
		"every character RFC 3986 lets by": {"http://azAZ09-._~:!$&'()*+,;=@proxy.example:1", "http://azAZ09-._~:!$&'()*+,;=@proxy.example:1"},
		"credentials and an IPv6 address":  {"http://me:p@[::1]:3128", "http://me:p@[::1]:3128"},
	} {
		t.Run(name, func(t *testing.T) {
			url, err := proxyurl.Parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if url.Reveal() != test.want {
				t.Errorf("revealed as %q, want %q", url.Reveal(), test.want)
			}
			if url.IsZero() != (test.want == "") || url.HasCredentials() != strings.Contains(test.want, "@") {
				t.Errorf("%q: zero %v, credentials %v", test.text, url.IsZero(), url.HasCredentials())
			}
			if again, err := proxyurl.Parse(url.Reveal()); err != nil || !again.Equal(url) {
				t.Errorf("%q is read back as %q (%v)", url.Reveal(), again.Reveal(), err)
			}
		})
	}
}

// What stands in each error is the least that names the mistake; S3CRET stands
// in every place that may hold a password.
func TestEveryOtherProxyURLIsRefusedWithoutShowingIt(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"no scheme":                           {"me:S3CRET@proxy.example:3128", "scheme is missing"},
		"no scheme and no credentials":        {"proxy.example:3128", "scheme is missing"},
		"an unknown scheme":                   {"ftp://me:S3CRET@proxy.example:3128", "neither http nor https"},
		"a password in place of the scheme":   {"S3CRET://proxy.example:3128", "neither http nor https"},
		"socks5":                              {"socks5://me:S3CRET@proxy.example:1080", `"socks5" is not supported`},
		"SOCKS4A":                             {"SOCKS4A://me:S3CRET@proxy.example:1080", `"socks4a" is not supported`},
		"no port":                             {"http://me:S3CRET@proxy.example", "port is missing"},
		"no port before the slash":            {"http://me:S3CRET@proxy.example/", "port is missing"},
		"no port after an IPv6 address":       {"http://me:S3CRET@[::1]", "port is missing"},
		"an empty port":                       {"http://me:S3CRET@proxy.example:", "port is not a number"},
		"port 0":                              {"http://me:S3CRET@proxy.example:0", "port is not a number"},
		"port 65536":                          {"http://me:S3CRET@proxy.example:65536", "port is not a number"},
		"a named port":                        {"http://me:S3CRET@proxy.example:proxy", "port is not a number"},
		"a path":                              {"http://me:S3CRET@proxy.example:3128/S3CRET", "something follows it"},
		"two slashes":                         {"http://me:S3CRET@proxy.example:3128//", "something follows it"},
		"a path without a port":               {"http://me:S3CRET@proxy.example/S3CRET", "nothing may follow"},
		"a query":                             {"http://me:S3CRET@proxy.example:3128?S3CRET", "something follows it"},
		"a query without a port":              {"http://me:S3CRET@proxy.example?S3CRET", "nothing may follow"},
		"a fragment":                          {"http://me:S3CRET@proxy.example:3128#S3CRET", "something follows it"},
		"two proxies":                         {"http://me:S3CRET@proxy.example:3128,http://other.example:3128", "stands in brackets"},
		"no host":                             {"http://me:S3CRET@:3128", "host is missing"},
		"a blank in the host":                 {"http://me:S3CRET@ proxy.example:3128", "neither a host name"},
		"a network for the host":              {"http://me:S3CRET@10.0.0.0/8:3128", "neither a host name"},
		"a network of one address":            {"http://me:S3CRET@10.1.2.3/32:3128", "neither a host name"},
		"a leading dot":                       {"http://me:S3CRET@.proxy.example:3128", "neither a host name"},
		"a star":                              {"http://me:S3CRET@*:3128", "neither a host name"},
		"an IPv6 address without brackets":    {"http://me:S3CRET@::1:3128", "stands in brackets"},
		"a zone":                              {"http://me:S3CRET@[fe80::1%25eth0]:3128", "neither a host name"},
		"no username":                         {"http://:S3CRET@proxy.example:3128", "no username"},
		"nothing before the @":                {"http://@proxy.example:3128", "no username"},
		"a percent sign alone":                {"http://me:S3CRET%@proxy.example:3128", "starts no percent-encoding"},
		"a percent sign before other letters": {"http://me:S3CRET%zz@proxy.example:3128", "% at byte 10"},
		"half an encoding at the end":         {"http://me:S3CRET%4@proxy.example:3128", "starts no percent-encoding"},
		"an @ in the password":                {"http://me:S3@CRET@proxy.example:3128", "byte 6 of user and password must be percent-encoded: # is %23"},
		"a # in the password":                 {"http://me:S3#CRET@proxy.example:3128", "must be percent-encoded"},
		"a / in the password":                 {"http://me:S3/CRET@proxy.example:3128", "must be percent-encoded"},
		"a blank in the password":             {"http://me:S3 CRET@proxy.example:3128", "must be percent-encoded"},
		"a quote in the password":             {`http://me:S3"CRET@proxy.example:3128`, "must be percent-encoded"},
		"a backslash in the username":         {`http://DOM\me:S3CRET@proxy.example:3128`, "must be percent-encoded"},
		"a letter outside ASCII":              {"http://me:S3CRETé@proxy.example:3128", "must be percent-encoded"},
		"a newline in the password":           {"http://me:S3\nCRET@proxy.example:3128", "must be percent-encoded"},
		"a NUL byte":                          {"http://me:S3\x00CRET@proxy.example:3128", "must be percent-encoded"},
		"a bracket in the password":           {"http://me:S3[CRET@proxy.example:3128", "must be percent-encoded"},
	} {
		t.Run(name, func(t *testing.T) {
			url, err := proxyurl.Parse(test.text)
			if err == nil {
				t.Fatalf("accepted as %q", url.Reveal())
			}
			if !url.IsZero() {
				t.Errorf("a refused URL came with %q", url.Reveal())
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("refused with %q, want %q", err, test.want)
			}
			for _, secret := range []string{"S3", "CRET", "me:"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%q shows %q", err, secret)
				}
			}
		})
	}
}

func TestTheFinalDotOfTheHostAloneIsTakenAway(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"http://proxy.example:3128":      "http://proxy.example:3128",
		"http://proxy.example.:3128":     "http://proxy.example:3128",
		"http://a.:b.@proxy.example.:31": "http://a.:b.@proxy.example:31",
		"http://me:p@[fd00::1]:3128":     "http://me:p@[fd00::1]:3128",
	} {
		if got := mustParse(t, text).WithoutFinalDot().Reveal(); got != want {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

func TestWhatKubeletExpandsIsFound(t *testing.T) {
	for userinfo, want := range map[string]bool{
		"me:a$b": false, "me:a$(b": false, "me:a)$(": false, "me:$": false, "me:%24%24": false,
		"me:a$$b": true, "me:a$(B)c": true, "$$:a": true, "$(:)": true,
	} {
		if got := mustParse(t, "http://"+userinfo+"@proxy.example:3128").IsExpanded(); got != want {
			t.Errorf("%s: %t", userinfo, got)
		}
	}
}
