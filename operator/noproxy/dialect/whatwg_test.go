package dialect

import "testing"

func TestAURLIsReadAsJavaScriptReadsIt(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want whatwgURL
	}{
		"the default port is none":                   {"http://h:80/", whatwgURL{scheme: "http", host: "h", bare: true}},
		"zeros in front of a port are dropped":       {"http://h:08080", whatwgURL{scheme: "http", host: "h", port: "8080", bare: true}},
		"line breaks and tabs are dropped":           {" ht\ntp://h\t:1\n", whatwgURL{scheme: "http", host: "h", port: "1", bare: true}},
		"a special scheme needs no slashes":          {`HTTP:h\a`, whatwgURL{scheme: "http", host: "h"}},
		"dot segments come down to the root":         {"http://h/a/%2e./.?#", whatwgURL{scheme: "http", host: "h", bare: true}},
		"a slash after dot segments is kept":         {"http://h/a//..", whatwgURL{scheme: "http", host: "h"}},
		"the last @ ends the userinfo":               {"http://u:p@s:s@h", whatwgURL{scheme: "http", username: "u", password: "p%40s%3As", host: "h", bare: true}},
		"a percent sign in userinfo is kept":         {"http://u:100%@h", whatwgURL{scheme: "http", username: "u", password: "100%", host: "h", bare: true}},
		"a number is an IPv4 address":                {"http://0x0a010203", whatwgURL{scheme: "http", host: "10.1.2.3", bare: true}},
		"the last part fills what is left":           {"http://10.66051.", whatwgURL{scheme: "http", host: "10.1.2.3", bare: true}},
		"octal parts":                                {"http://010.1.2.3", whatwgURL{scheme: "http", host: "8.1.2.3", bare: true}},
		"IPv6 is compressed, and IPv4 in it is hex":  {"http://[0:0:0:0:0:FFFF:10.1.2.3]", whatwgURL{scheme: "http", host: "[::ffff:a01:203]", bare: true}},
		"an international name becomes ASCII":        {"http://BÜcher.test", whatwgURL{scheme: "http", host: "xn--bcher-kva.test", bare: true}},
		"a percent-encoded name is decoded":          {"http://%45xample.test", whatwgURL{scheme: "http", host: "example.test", bare: true}},
		"the host of another scheme is left alone":   {"socks5://EXAMPLE:1", whatwgURL{scheme: "socks5", host: "EXAMPLE", port: "1"}},
		"without slashes another scheme has no host": {"user:pw@h:1", whatwgURL{scheme: "user"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := parseWHATWG(c.text); !ok || got != c.want {
				t.Errorf("parseWHATWG(%q) = %+v, %v; want %+v", c.text, got, ok, c.want)
			}
		})
	}
}

func TestAURLThatJavaScriptRefusesIsRefused(t *testing.T) {
	for _, text := range []string{
		"", "127.0.0.1:3128", "//h", "http://", "http://:80", "http://u@", "http://h:65536", "http://h:x",
		"http://256.1.1.1", "http://1.2.3.4.5", "http://08.1.1.1", "http://[::1", "http://[fe80::1%25eth0]", "http://[1.2.3.4]",
		"http://a b", "http://a%20b", "http://a<b", "http://xn--a", "socks5://:1", `"http://h"`,
	} {
		if got, ok := parseWHATWG(text); ok {
			t.Errorf("parseWHATWG(%q) = %+v", text, got)
		}
	}
}
