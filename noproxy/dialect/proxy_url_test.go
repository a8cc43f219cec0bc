package dialect

import (
	"strings"
	"testing"
)

// What no client would take for a proxy's URL, or each for another one, is not judged.
func TestAValueThatIsNoProxysURLIsNotJudged(t *testing.T) {
	for _, value := range []string{
		"/", "direct proxy", " http://p:1", "http://p:1\n", "\thttp://p:1", `"http://p:1"`, "//p:1", "://p:1", "http:/p:1", "http:///p:1", "http://", "http://:1",
		"HTTP://p:1", "ftp://p:1", "foo://p:1", "http://p:", "http://p:0", "http://p:01", "http://p:65536", "http://p:x", "http://p:1:2",
		"http://p/path", "http://p:1?x", "http://p:1#x", "p:1/", "http://::1:1", "http://[::1", "http://[p]:1", "http://[::1%25lo]:1",
		"http://p..x", "http://.p", "http://-p", "http://b\u00fccher.test", "http://1.2.3", "http://0x7f000001", "http://p%2ex",
		"http://@p:1", "http://:@p:1", "http://:pw@p:1", "http://u:%@p:1", "http://u:%zz@p:1", "http://u:p@ss@p:1", "http://u:p#ss@p:1", "http://u:p[@p:1",
		"http://u:p w@p:1", "http://u:\u00e9@p:1", "http://u:%0a@p:1", "http://u:%7f@p:1", "http://u:%ff@p:1", "http://u%3a:p@p:1",
	} {
		if u, ok := parseProxyURL(value); ok || u != (proxyURL{}) {
			t.Errorf("%q is read as %+v", value, u)
		}
		for _, choice := range All() {
			decide := choice.Read(Uniform(value, value, "a.test", "a.test"))
			for _, url := range []string{"http://h.test", "https://a.test"} {
				d := decide(targetOf(t, url))
				if d.Route != Depends && d.Reason != noneRead || d.Route == Depends && d.Reason != NotJudged || d.Hop != (Hop{}) {
					t.Errorf("%s for %s behind %q: %s (%s)", choice, url, value, d.Route, d.Reason)
				}
			}
		}
	}
}

func TestTheURLOfAProxyIsTakenApart(t *testing.T) {
	for value, want := range map[string]proxyURL{
		"http://p:1":                       {scheme: "http", host: "p", port: "1"},
		"https://p.example./":              {scheme: "https", host: "p.example."},
		"p:3128":                           {host: "p", port: "3128"},
		"10.1.2.3":                         {host: "10.1.2.3"},
		"socks5h://[fd00::1]:65535":        {scheme: "socks5h", host: "[fd00::1]", port: "65535", bracketed: true},
		"http://u@p":                       {scheme: "http", userinfo: "u", user: "u", hasUser: true, host: "p"},
		"http://u:@p":                      {scheme: "http", userinfo: "u:", user: "u", hasUser: true, hasPassword: true, host: "p"},
		"u:a:%c3%A9!$&'()*+,;=-._~@my_p-1": {userinfo: "u:a:%c3%A9!$&'()*+,;=-._~", user: "u", password: "a:%c3%A9!$&'()*+,;=-._~", hasUser: true, hasPassword: true, host: "my_p-1"},
	} {
		if got, ok := parseProxyURL(value); !ok || got != want {
			t.Errorf("%q: %+v (%t), want %+v", value, got, ok, want)
		}
	}
}

// A value that cannot be judged is not passed over for another variable.
func TestNoOtherVariableStandsInForOneThatIsNotJudged(t *testing.T) {
	for _, client := range []string{"aria2c", "dotnet", "reqwest"} {
		d := answerTo(t, answerCase{client: client, env: Env{"http_proxy": "http://me:S3CRET#@p", "all_proxy": "http://q:1"}, url: "http://h"})
		if d.Route != Depends || d.Variable != "http_proxy" || strings.Contains(d.Reason, "S3CRET") {
			t.Errorf("%s: %s by %s (%s)", client, d.Route, d.Variable, d.Reason)
		}
	}
}
