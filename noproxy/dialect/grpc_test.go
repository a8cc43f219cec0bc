package dialect

import "testing"

func TestGRPCComparesEnds(t *testing.T) {
	checkAnswers(t, map[string]answerCase{
		"the core: every end":                        {"grpc-core", behind("D.test"), "http://XD.test", "direct", "D.test"},
		"the core: a dot is not the name itself":     {"grpc-core", behind(".d.test"), "http://d.test", throughConnect, ""},
		"the core: a blank element covers all":       {"grpc-core", behind("x,, "), "http://h", "direct", ""},
		"the core: a network":                        {"grpc-core", behind("x, 10.9.9.9/8"), "http://10.1.2.3", "direct", "10.9.9.9/8"},
		"the core: a network in brackets":            {"grpc-core", behind("[fd00::]/8"), "http://[fd00::1]", "direct", "[fd00::]/8"},
		"the core: a length that is too long":        {"grpc-core", behind("10.1.2.3/99"), "http://10.1.2.3", "direct", "10.1.2.3/99"},
		"the core: no network before 1.55":           {"grpc-core@1.54.3", behind("10.0.0.0/8"), "http://10.1.2.3", throughConnect, ""},
		"the core: a variable of its own":            {"grpc-core", Env{"grpc_proxy": "http://p:1", "https_proxy": "http://q"}, "http://h", "CONNECT p:1 ", ""},
		"the core: which turns the proxy off":        {"grpc-core", Env{"grpc_proxy": "", "https_proxy": "http://q"}, "http://h", "direct", ""},
		"the core: a list of its own":                {"grpc-core", Env{"http_proxy": "http://p", "no_grpc_proxy": "", "no_proxy": "h"}, "http://h", "CONNECT p:443 ", ""},
		"the core: upper case is not read":           {"grpc-core", Env{"HTTPS_PROXY": "http://q"}, "https://h", "direct", ""},
		"the core: a credential is decoded":          {"grpc-core", Env{"https_proxy": "http://u:%40@q:1/"}, "https://h", "CONNECT q:1 u:@", ""},
		"js: only the host itself, at first":         {"grpc-js@1.12.6", behind("d.test"), "http://a.d.test", throughConnect, ""},
		"js: every end, in the same case":            {"grpc-js@1.13.0", behind("x,d.test"), "http://ad.test", "direct", "d.test"},
		"js: in another case":                        {"grpc-js", behind("D.test"), "http://d.test", throughConnect, ""},
		"js: an empty element covers all":            {"grpc-js", behind("x,"), "http://h", "direct", ""},
		"js: nothing is trimmed":                     {"grpc-js", behind("x, h"), "http://h", throughConnect, ""},
		"js: a network":                              {"grpc-js", behind("10.0.0.0/8x"), "http://10.1.2.3", "direct", "10.0.0.0/8x"},
		"js: a network of length zero is an address": {"grpc-js", behind("0.0.0.0/0"), "http://10.1.2.3", throughConnect, ""},
		"js: an empty list of its own is none":       {"grpc-js", Env{"http_proxy": "http://p", "no_grpc_proxy": "", "no_proxy": "h"}, "http://h", "direct", "h"},
		"js: credentials were sent encoded":          {"grpc-js@1.10.9", Env{"http_proxy": "http://u:%40@p"}, "http://h", "CONNECT p:80 u:%40", ""},
		"js: credentials are decoded":                {"grpc-js@1.10.10", Env{"http_proxy": "http://u:%40@p"}, "http://h", "CONNECT p:80 u:@", ""},
		"js: a user alone is sent without a colon":   {"grpc-js", Env{"http_proxy": "http://u@p"}, "http://h", "CONNECT p:80 u", ""},
		"js: another scheme is ignored":              {"grpc-js", Env{"http_proxy": "https://p"}, "http://h", "direct", ""},
	})
}
