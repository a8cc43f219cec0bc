package dialect

import "testing"

func TestRustKeepsNamesAndAddressesApart(t *testing.T) {
	checkAnswers(t, map[string]answerCase{
		"a star is for names":                        {"reqwest", behind("*"), "http://h", "direct", "*"},
		"a star is not for addresses":                {"reqwest", behind("*"), "http://10.1.2.3", throughAbsolute, ""},
		"an address is no name":                      {"reqwest", behind("2.3"), "http://10.1.2.3", throughAbsolute, ""},
		"octets may have zeros in a network":         {"reqwest", behind("x, 010.0.0.0/08"), "http://10.1.2.3", "direct", "010.0.0.0/08"},
		"but not a third digit in its length":        {"reqwest", behind("10.0.0.0/008"), "http://10.1.2.3", throughAbsolute, ""},
		"a mapped address is not the IPv4 one":       {"reqwest", behind("10.0.0.0/8"), "http://[::ffff:10.1.2.3]", throughAbsolute, ""},
		"a name in another form is not an address":   {"reqwest", behind("10.1.2.3"), "http://10.66051", throughAbsolute, ""},
		"case counted":                               {"reqwest@0.1.19", behind("D.test"), "http://d.test", throughAbsolute, ""},
		"case does not count":                        {"reqwest@0.1.20", behind("D.test"), "http://a.d.test", "direct", "D.test"},
		"an empty upper-case list wins":              {"reqwest", Env{"http_proxy": "http://p", "NO_PROXY": "", "no_proxy": "h"}, "http://h", "http p:80 ", ""},
		"an unusable proxy falls back to ALL_PROXY":  {"reqwest", Env{"HTTP_PROXY": "socks://p", "http_proxy": "http://p", "ALL_PROXY": "http://q:1"}, "http://h", "http q:1 ", ""},
		"in a CGI program there is none":             {"reqwest", Env{"HTTPS_PROXY": "http://p", "REQUEST_METHOD": ""}, "https://h", "direct", ""},
		"a user alone made it unusable":              {"reqwest@0.1.17", Env{"HTTP_PROXY": "http://u@p"}, "http://h", "direct", ""},
		"a user alone has an empty password":         {"reqwest@0.1.18", Env{"HTTP_PROXY": "http://u@p"}, "http://h", "http p:80 u:", ""},
		"SOCKS4 was not known":                       {"reqwest@0.1.15", Env{"HTTP_PROXY": "socks4://p"}, "http://h", "direct", ""},
		"SOCKS4 is":                                  {"reqwest@0.1.16", Env{"HTTP_PROXY": "socks4://p"}, "http://h", "socks4 p:1080 ", ""},
		"a host in Unicode is no URL":                {"reqwest", behind(""), "http://bücher.test", "fails", ""},
		"a version of reqwest is the newest matcher": {"reqwest@0.12.20", behind("D.test"), "http://d.test", "direct", "D.test"},
	})
}

// The measurement of Rust records what a function returns.
func TestWhatTheRustMatcherReturnsIsWorded(t *testing.T) {
	for proxy, want := range map[string]string{
		"http://u:p@127.0.0.1:1/": `proxy http://127.0.0.1:1/ auth=Some("Basic u:p") raw=None`,
		"socks5://u%22:p@h":       `proxy socks5://h/ auth=None raw=Some(("u\"", "p"))`,
		"socks5h://u@h":           `proxy socks5h://h/ auth=None raw=Some(("u", ""))`,
		"u:%C3%A9@h:1":            `proxy http://h:1/ auth=Some("?") raw=None`,
		"http://a%5cb:%25@h":      `proxy http://h/ auth=Some("Basic a\\b:%") raw=None`,
		"http://[::1]:1":          `proxy http://[::1]:1/ auth=None raw=None`,
	} {
		decision := answerTo(t, answerCase{client: "reqwest", env: Env{"HTTP_PROXY": proxy}, url: "http://t"})
		if got := observeRust(decision); got != want {
			t.Errorf("%s: %s, want %s", proxy, got, want)
		}
	}
}
