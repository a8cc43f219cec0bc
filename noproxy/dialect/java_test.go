package dialect

import "testing"

func javaBehind(nonProxyHosts string) Env {
	return Env{"http.proxyHost": "p", "https.proxyHost": "p", "http.proxyPort": "1", "http.nonProxyHosts": nonProxyHosts}
}

func TestJavaReadsSystemProperties(t *testing.T) {
	checkAnswers(t, map[string]answerCase{
		"the environment is not read":                {"java", behind(""), "http://h", "direct", ""},
		"a star at the front":                        {"java", javaBehind("x|*.D.test"), "https://a.d.test", "direct", "*.D.test"},
		"a star at the back":                         {"java", javaBehind("10.*"), "http://10.1.2.3", "direct", "10.*"},
		"a star at both ends":                        {"java", javaBehind("*am*"), "http://example.test", "direct", "*am*"},
		"a star in the middle is a character":        {"java", javaBehind("a.*.test"), "http://a.b.test", "http p:1 ", ""},
		"a comma is a character":                     {"java", javaBehind("x,h"), "http://h", "http p:1 ", ""},
		"a blank is a character":                     {"java", javaBehind("x| h"), "http://h", "http p:1 ", ""},
		"addresses are compared as they are written": {"java", javaBehind("[fd00::1]"), "http://[fd00:0::1]", "http p:1 ", ""},
		"loopback hosts go direct":                   {"java", javaBehind("x"), "http://127.9.9.9", "direct", ""},
		"but not where the list is empty":            {"java", javaBehind(""), "http://localhost", "http p:1 ", ""},
		"https.nonProxyHosts does not exist":         {"java", Env{"https.proxyHost": "p", "https.nonProxyHosts": "*"}, "https://h", "CONNECT p:443 ", ""},
		"a host from one name, a port from another":  {"java", Env{"proxyHost": "p", "http.proxyPort": "7"}, "http://h", "http p:7 ", ""},
		"a port may be octal":                        {"java", Env{"http.proxyHost": "::1", "http.proxyPort": "010"}, "http://h", "http [::1]:8 ", ""},
		"a port that is no number is none":           {"java", Env{"http.proxyHost": "p", "http.proxyPort": "x"}, "http://h", "http p:80 ", ""},
		"a port that is too large fails":             {"java", Env{"http.proxyHost": "p", "http.proxyPort": "65536"}, "http://h", "fails", ""},
		"SOCKS is the last resort":                   {"java", Env{"socksProxyHost": "p"}, "http://h", "socks5 target=ip p:1080 ", ""},
		"SOCKS 4":                                    {"java", Env{"socksProxyHost": "p", "socksProxyVersion": "4"}, "https://h", "socks4 p:1080 ", ""},
	})
}

func TestTheUniformEnvironmentHasTheProxyForJava(t *testing.T) {
	for proxy, want := range map[string]string{
		"http://u:p@proxy.test:3128/": "CONNECT proxy.test:3128 ",
		"http://[fd00::1]:3128":       "CONNECT [fd00::1]:3128 ",
		"http://[fd00::1]":            "CONNECT [fd00::1]:443 ",
		"http://proxy.test":           "CONNECT proxy.test:443 ",
	} {
		checkAnswers(t, map[string]answerCase{proxy: {"java", Uniform("", proxy, "", "x"), "https://h", want, ""}})
	}
}
