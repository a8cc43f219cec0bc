package dialect

import "testing"

func TestDotnetComparesWholeHosts(t *testing.T) {
	checkAnswers(t, map[string]answerCase{
		"a bare name is only itself":              {"dotnet", behind("d.test"), "http://a.d.test", throughAbsolute, ""},
		"a dot is also the name itself":           {"dotnet", behind("x, .D.test ,y"), "http://d.test", "direct", ".D.test"},
		"a dot is what is below":                  {"dotnet", behind(".d.test"), "https://a.D.test", "direct", ".d.test"},
		"a star is a character":                   {"dotnet", behind("*"), "http://h", throughAbsolute, ""},
		"a port is part of the name":              {"dotnet", behind("h:80"), "http://h", throughAbsolute, ""},
		"a bare IPv6 entry matches nothing":       {"dotnet", behind("fd00::1"), "http://[fd00::1]", throughAbsolute, ""},
		"in brackets it is compared compressed":   {"dotnet", behind("[fd00::1]"), "http://[fd00:0::1]", "direct", "[fd00::1]"},
		"an address is written in many ways":      {"dotnet", behind("10.1.2.3"), "http://0xa.66051", "direct", "10.1.2.3"},
		"a network, since 11":                     {"dotnet@11.0.0", behind("x,10.9.9.9/8"), "http://10.1.2.3", "direct", "10.9.9.9/8"},
		"a network of IPv6":                       {"dotnet", behind("fd00::/8"), "http://[fd00::1]", "direct", "fd00::/8"},
		"no network before":                       {"dotnet@10.0.1", behind("10.0.0.0/8"), "http://10.1.2.3", throughAbsolute, ""},
		"no network in the table's version":       {"dotnet@runtime@02a63a5 (no CIDR)", behind("10.0.0.0/8"), "http://10.1.2.3", throughAbsolute, ""},
		"an empty lower-case list wins":           {"dotnet", Env{"http_proxy": "p", "no_proxy": "", "NO_PROXY": "h"}, "http://h", "http p:80 ", ""},
		"an unusable proxy falls to upper case":   {"dotnet", Env{"http_proxy": "socks5h://p:1", "HTTP_PROXY": "q:1"}, "http://h", "http q:1 ", ""},
		"in a CGI program upper case is not read": {"dotnet", Env{"HTTP_PROXY": "q:1", "ALL_PROXY": "r:1", "GATEWAY_INTERFACE": ""}, "http://h", "http r:1 ", ""},
		"https:// was not usable":                 {"dotnet@7.0", Env{"https_proxy": "https://p:1"}, "https://h", "direct", ""},
		"https:// is a handshake":                 {"dotnet@8.0", Env{"https_proxy": "https://p"}, "https://h", "tls p:443 ", ""},
		"SOCKS has the port of http":              {"dotnet@8.0", Env{"all_proxy": "socks5://p"}, "https://h", "socks5 target=name p:80 ", ""},
		"a credential waits until it is asked":    {"dotnet", Env{"http_proxy": "http://u:p@p:1/"}, "http://h", "http p:1 ", ""},
	})
}
