package dialect

import "testing"

func TestTheHostOfAURLIsReadAsJavaScriptReadsIt(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want host
	}{
		"the default port":                          {"http://h", host{name: "h", port: "80"}},
		"zeros in front of a port are dropped":      {"http://h:08080", host{name: "h", port: "8080"}},
		"a backslash ends the host":                 {`https://h\a`, host{name: "h", port: "443"}},
		"a number is an IPv4 address":               {"http://0x0a010203", host{name: "10.1.2.3", port: "80"}},
		"the last part fills what is left":          {"http://10.66051.", host{name: "10.1.2.3", port: "80"}},
		"octal parts":                               {"http://010.1.2.3", host{name: "8.1.2.3", port: "80"}},
		"IPv6 is compressed, and IPv4 in it is hex": {"http://[0:0:0:0:0:FFFF:10.1.2.3]", host{name: "[::ffff:a01:203]", port: "80"}},
		"an international name becomes ASCII":       {"http://BÜcher.test", host{name: "xn--bcher-kva.test", port: "80"}},
		"a percent-encoded name is decoded":         {"http://%45xample.test", host{name: "example.test", port: "80"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, failure := whatwgTarget(targetOf(t, c.text)); failure != "" || got != c.want {
				t.Errorf("%q: %+v, %s; want %+v", c.text, got, failure, c.want)
			}
		})
	}
}

func TestAURLThatJavaScriptRefusesIsRefused(t *testing.T) {
	for _, text := range []string{
		"http://256.1.1.1", "http://1.2.3.4.5", "http://08.1.1.1", "http://[fe80::1%25eth0]", "http://a%20b", "http://a<b", "http://xn--a",
	} {
		if got, failure := whatwgTarget(targetOf(t, text)); failure == "" {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func targetOf(t *testing.T, text string) Target {
	t.Helper()
	target, err := ParseTarget(text)
	if err != nil {
		t.Fatal(err)
	}
	return target
}
