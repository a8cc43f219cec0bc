package dialect

import "strings"

// The Python client of Kubernetes. It makes urllib3's pool manager by itself:
// for a proxy of its Configuration, which is read from the environment since
// 34. That version forgets NO_PROXY again; since 36 it asks requests.
//
// Rules: kubernetes-client/python kubernetes/client/configuration.py and rest.py
// in 22.6.0, 34.1.0 and 36.0.3, with requests 2.28.1 and urllib3 1.26.12. One
// proxy is for http and https alike, and no credential is sent.
var pythonKubernetes = &Client{
	Name:    "python-kubernetes",
	Aliases: []string{"kubernetes-python", "kubernetes-client"},
	Latest:  "36",
	Behaviours: versions{
		{"", "", kubernetesSource + "22.6.0", func(Env) Decider { return rules{host: kubernetesHost}.decider(nil).because(Direct, noneRead) }},
		{"34", "the proxy variables are read, HTTP_PROXY first, but NO_PROXY is not", kubernetesSource + "34.1.0", readPythonKubernetes(false)},
		{"36", "NO_PROXY is read", kubernetesSource + "36.0.3", readPythonKubernetes(true)},
	}.behaviours(),
}

const kubernetesSource = "kubernetes-client/python kubernetes/client/configuration.py and rest.py, "

func readPythonKubernetes(listed bool) func(Env) Decider {
	return func(env Env) Decider {
		v := env.nonEmpty("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY")
		proxies := map[string]proxy{}
		for _, scheme := range []string{"http", "https"} {
			if v.name != "" {
				p := kubernetesURL.read(v, scheme)
				p.variable = v
				proxies[scheme] = p
			}
		}
		if !listed {
			return rules{host: kubernetesHost}.decider(proxies).because(Proxy, "NO_PROXY is not read (set Configuration.no_proxy)")
		}
		noProxy := env.nonEmpty("no_proxy", "NO_PROXY")
		own := rules{cut: commas(blank), entry: requestsRules(false).entry, covers: requestsRules(false).covers}.readList(noProxy)
		return rules{host: kubernetesHost}.decider(proxies, own, urllibRules{}.list(noProxy))
	}
}

// kubernetesHost is compared as it is written, in lower case.
func kubernetesHost(t Target) (host, string) {
	h, failure := requestsHost(t)
	h.name = strings.ToLower(t.Host)
	if h.withPort = h.name; t.Port != "" {
		h.withPort += ":" + strings.TrimLeft(t.Port, "0")
	}
	h.addr, _ = inetAton(h.name)
	h.proxyOnly = h.proxyOnly || literal(h.name).IsLinkLocalUnicast() && t.Bracketed // it lacks a zone
	return h, failure
}

// kubernetesURL is a proxy as urllib3 reads it, of which only http and https are known.
var kubernetesURL = proxyTraits{ports: webOr80, schemes: webSchemes, unknown: proxy{failure: unknownScheme}}
