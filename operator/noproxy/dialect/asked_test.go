package dialect

import "testing"

// What LWP 6.68 with URI 5.17 called these hosts.
func TestLWPEncodesEachByteOfANameThatIsNotASCII(t *testing.T) {
	for host, want := range map[string]string{
		"bücher.test": "xn--bcher-lka2c.test",
		"BÜcher.test": "xn--bcher-3ea6y.test",
		"straße.test": "xn--strae-pfa5w.test",
		"例.test":      "xn--la5hve.test",
		"é.test":      "xn--gba5c.test",
	} {
		target, err := ParseTarget("http://" + host + "/")
		if err != nil {
			t.Fatal(err)
		}
		if got := lwpHost(target); got != want {
			t.Errorf("%s: %s, LWP says %s", host, got, want)
		}
	}
}

// What Python 3.11.7 did.
func TestUrllibComparesUserInformationAsPartOfTheHost(t *testing.T) {
	for _, row := range []struct {
		list, url string
		want      Route
	}{
		{"example.test", "http://me:pw@example.test/", Proxy},
		{"example.test", "http://me:pw@a.example.test/", Fails},
		{"me:pw@example.test", "http://me:pw@example.test/", Fails},
		{"example.test:80", "http://me@example.test:80/", Proxy},
		{"me", "http://me:pw@other.test/", Proxy},
		{"127.0.0.1", "http://me:pw@127.0.0.1:8080/", Proxy},
		{"me", "http://me:pw@[::1]/", Proxy},
		{"*", "http://me@example.test/", Fails},
		{"example.test", "https://me:pw@other.test/", Fails},
	} {
		target, err := ParseTarget(row.url)
		if err != nil {
			t.Fatal(err)
		}
		env := Env{"http_proxy": "http://p:1", "https_proxy": "http://p:1", "no_proxy": row.list}
		if got := pythonUrllib.At("3.11.7").Read(env)(target); got.Route != row.want {
			t.Errorf("%s with %s: %s, urllib: %s", row.url, row.list, got.Route, row.want)
		}
	}
}

// What undici 7.30.2 sent.
func TestUndiciSendsSOCKSCredentialsAsTheURLHasThem(t *testing.T) {
	target, err := ParseTarget("http://example.test/")
	if err != nil {
		t.Fatal(err)
	}
	for userinfo, want := range map[string]string{
		"us%40er:p%3Aw": "us%40er:p%3Aw", "user:p%25w": "user:p%25w", "user:pw": "user:pw", "us%40er": "",
	} {
		env := Env{"http_proxy": "socks5://" + userinfo + "@127.0.0.1:3128"}
		if got := undici723.read(env)(target); got.Route != Proxy || got.Hop.Auth.Bytes() != want {
			t.Errorf("%s: %s with %q, undici sent %q", userinfo, got.Route, got.Hop.Auth.Bytes(), want)
		}
	}
}
