package dialect

import "testing"

func TestUndiciChangedItsRules(t *testing.T) {
	checkAnswers(t, map[string]answerCase{
		"upper case won at first":                    {"undici@6.14.0", Env{"http_proxy": "http://a:1", "HTTP_PROXY": "http://b:2"}, "http://h", "CONNECT b:2 ", ""},
		"lower case wins since":                      {"undici@6.14.1", Env{"http_proxy": "http://a:1", "HTTP_PROXY": "http://b:2"}, "http://h", "CONNECT a:1 ", ""},
		"a bare name was only itself":                {"undici@7.21.0", behind("d.test"), "http://a.d.test", throughConnect, ""},
		"a bare name is also what is below":          {"undici@7.22.0", behind("x, d.test"), "http://a.d.test", "direct", "d.test"},
		"a star without a dot was an end":            {"undici@7.21.0", behind("*d.test"), "http://ad.test", "direct", "*d.test"},
		"SOCKS was an error":                         {"undici@7.22.0", Env{"http_proxy": "socks5://p"}, "http://h", "fails", ""},
		"SOCKS is used, in 1080 by default":          {"undici@7.23.0", Env{"http_proxy": "socks5://p"}, "http://h", "socks5 target=name p:1080 ", ""},
		"a missing scheme was added for a while":     {"undici@8.0.1", Env{"https_proxy": "p:1"}, "https://h", "tls p:1 ", ""},
		"and is an error again":                      {"undici@8.0.2", Env{"https_proxy": "p.test:1"}, "https://h", "fails", ""},
		"a user alone is not sent":                   {"undici@8.1.0", Env{"http_proxy": "http://u@p:1"}, "http://h", "CONNECT p:1 ", ""},
		"a user alone is sent":                       {"undici@8.2.0", Env{"http_proxy": "http://u%40@p:1"}, "http://h", "CONNECT p:1 u@:", ""},
		"http URLs are not tunnelled":                {"undici@8.7.0", behind(""), "http://h", throughAbsolute, ""},
		"https URLs still are":                       {"undici@8.7.0", behind(""), "https://h", throughConnect, ""},
		"the end of an IPv6 entry was its port":      {"undici@8.9.0", behind("fd00::1"), "http://[fd00::1]", throughAbsolute, ""},
		"a bare IPv6 entry is an address":            {"undici@8.10.0", behind("fd00::1"), "http://[fd00:0::1]", "direct", "fd00::1"},
		"in brackets it may have a port":             {"undici@8.10.0", behind("[fd00::1]:81"), "http://[fd00::1]:81", "direct", "[fd00::1]:81"},
		"a dot at the end mattered":                  {"undici@8.10.0", behind("d.test"), "http://d.test.", throughAbsolute, ""},
		"a dot at the end does not matter":           {"undici@8.10.1", behind("d.test."), "http://d.test", "direct", "d.test."},
		"a star in a list was a name":                {"undici@8.10.2", behind("x,*"), "http://h", throughAbsolute, ""},
		"a star in a list covers all":                {"undici@8.11.0", behind("x,*:80"), "http://h", "direct", "*:80"},
		"a star with a port covers that":             {"undici@8.11.0", behind("*:80"), "http://h:81", throughAbsolute, ""},
		"a wildcard was also the name itself":        {"undici@8.10.2", behind("*.d.test"), "http://d.test", "direct", "*.d.test"},
		"a wildcard is only what is below":           {"undici@8.11.0", behind("*.d.test"), "http://d.test", throughAbsolute, ""},
		"an entry for https is cut at white space":   {"undici", behind("a\u00a0b\ufeffh"), "https://h", "direct", "h"},
		"a broken proxy fails what goes direct":      {"undici", Env{"https_proxy": "p:1", "no_proxy": "h"}, "http://h", "fails", ""},
		"an empty https_proxy means http_proxy":      {"undici", Env{"https_proxy": "", "http_proxy": "http://p:1"}, "https://h", "CONNECT p:1 ", ""},
		"a URL that is not one fails":                {"undici", behind(""), "http://256.1.1.1", "fails", ""},
		"an address is written in many ways":         {"undici", behind("10.1.2.3"), "http://0xa.66051", "direct", "10.1.2.3"},
		"a proxy that is empty in lower case is off": {"undici", Env{"http_proxy": "", "HTTP_PROXY": "http://p"}, "http://h", "direct", ""},
	})
}

func TestNodeHasTwoReaders(t *testing.T) {
	checkAnswers(t, map[string]answerCase{
		"an old Node reads nothing":            {"node-fetch@20.19.0", behind(""), "http://h", "direct", ""},
		"nor does 23":                          {"node-http@23.11.1", behind(""), "http://h", "direct", ""},
		"http of 24.4 does not either":         {"node-http@24.4.1", behind(""), "http://h", "direct", ""},
		"but its fetch does":                   {"node-fetch@24.4.1", behind(""), "http://h", throughConnect, ""},
		"25 has an older undici than 24.14.1":  {"node-fetch@25.7.0", behind("d.test"), "http://a.d.test", throughConnect, ""},
		"http sends http URLs as they are":     {"node-http@24.21.0", behind(""), "http://h", throughAbsolute, ""},
		"http fails where undici cannot start": {"node-http", Env{"https_proxy": "p:1"}, "http://h", "fails", ""},
		"a bare name is only itself":           {"node-http", behind("d.test"), "http://a.d.test", throughAbsolute, ""},
		"a dot is also the name itself":        {"node-http", behind(" .D.test"), "http://d.test", "direct", ".D.test"},
		"a dot covered every end":              {"node-http@24.15.0", behind(".d.test"), "http://xd.test", "direct", ".d.test"},
		"a dot covers what is below":           {"node-http@24.16.0", behind(".d.test"), "http://xd.test", throughAbsolute, ""},
		"a default port is written out":        {"node-http", behind("h:443"), "https://h", "direct", "h:443"},
		"an IPv6 address may have a port":      {"node-http", behind("fd00::1:8080"), "http://[fd00::1]:8080", "direct", "fd00::1:8080"},
		"a range of addresses":                 {"node-http", behind("x,10.1.2.1 - 10.1.2.9"), "http://10.1.2.3", "direct", "10.1.2.1 - 10.1.2.9"},
		"a range is not for names":             {"node-http", behind("0.0.0.0-255.255.255.255"), "http://h", throughAbsolute, ""},
	})
}

func TestAxiosAsksTwoMatchers(t *testing.T) {
	checkAnswers(t, map[string]answerCase{
		"it read the variables of npm":                 {"axios@1.13.6", Env{"npm_config_proxy": "http://p:1"}, "http://h", "http p:1 ", ""},
		"it no longer does":                            {"axios@1.14.0", Env{"npm_config_proxy": "http://p:1"}, "http://h", "direct", ""},
		"https was sent to the proxy as it is":         {"axios@1.16.0", behind(""), "https://h", throughAbsolute, ""},
		"https is tunnelled":                           {"axios@1.16.1", behind(""), "https://h", throughConnect, ""},
		"a dot at the end counted":                     {"axios@1.14.0", behind("h."), "http://h", throughAbsolute, ""},
		"a dot at the end does not count":              {"axios@1.15.0", behind("h."), "http://h", "direct", "h."},
		"loopback hosts were different":                {"axios@1.15.0", behind("localhost"), "http://127.9.9.9", throughAbsolute, ""},
		"loopback hosts are one":                       {"axios@1.15.1", behind("localhost"), "http://127.9.9.9", "direct", "localhost"},
		"0.0.0.0 was not":                              {"axios@1.17.0", behind("localhost"), "http://0.0.0.0", throughAbsolute, ""},
		"0.0.0.0 is":                                   {"axios@1.18.0", behind("::"), "http://0.0.0.0", "direct", "::"},
		"mapped addresses were different":              {"axios@1.15.2", behind("10.1.2.3"), "http://[::ffff:10.1.2.3]", throughAbsolute, ""},
		"mapped addresses are the same":                {"axios@1.16.0", behind("10.1.2.3"), "http://[::ffff:10.1.2.3]", "direct", "10.1.2.3"},
		"an entry may be a short address":              {"axios@1.19.0", behind("10.66051"), "http://10.1.2.3", "direct", "10.66051"},
		"but not a single number":                      {"axios", behind("167838211"), "http://10.1.2.3", throughAbsolute, ""},
		"a network":                                    {"axios@1.20.0", behind("x 10.9.9.9/8"), "http://10.1.2.3", "direct", "10.9.9.9/8"},
		"a network has no port":                        {"axios", behind("10.0.0.0/8:80"), "http://10.1.2.3", throughAbsolute, ""},
		"a mapped network":                             {"axios", behind("::ffff:10.0.0.0/104"), "http://10.1.2.3", "direct", "::ffff:10.0.0.0/104"},
		"a mapped network has an IPv4 length":          {"axios", behind("::ffff:10.0.0.0/105"), "http://10.128.0.1", throughAbsolute, ""},
		"an IPv6 entry is normalized":                  {"axios@1.21.0", behind("FD00:0::1"), "http://[fd00::1]", "direct", "FD00:0::1"},
		"so is an international name":                  {"axios@1.21.0", behind("*.BÜcher.test"), "http://a.xn--bcher-kva.test", "direct", "*.BÜcher.test"},
		"a proxy without a scheme has that of the URL": {"axios", Env{"https_proxy": "p"}, "https://h", "tls p:443 ", ""},
		"a SOCKS proxy gets a tunnel":                  {"axios", Env{"https_proxy": "socks5://p:1"}, "https://h", "CONNECT p:1 ", ""},
		"credentials are sent encoded":                 {"axios", Env{"http_proxy": "http://u:%40@p"}, "http://h", "http p:80 u:%40", ""},
		"an IPv6 proxy is not found for http":          {"axios", Env{"http_proxy": "http://[::1]:1"}, "http://h", "fails", ""},
		"nor is it asked where an entry matches":       {"axios", Env{"http_proxy": "http://[::1]:1", "no_proxy": "h"}, "http://h", "direct", "h"},
		"the older package keeps addresses":            {"proxy-from-env@1.1.0", behind("10.66051"), "http://10.66051", "direct", "10.66051"},
		"the newer package normalizes them":            {"proxy-from-env@2.1.0", behind("10.1.2.3"), "http://10.66051", "direct", "10.1.2.3"},
		"a star in a list is every end":                {"proxy-from-env", behind("x,*"), "http://h", "direct", "*"},
	})
}
