package dialect

import "strings"

// PHP's curl extension, which is libcurl as it is, and Guzzle on top of it.
//
// Rules of Guzzle: guzzle/guzzle src/Client.php configureDefaults,
// src/Handler/CurlFactory.php applyHandlerOptions and src/Utils.php
// isHostInNoProxy, versions 6.5 to 7.9. Guzzle reads HTTP_PROXY, HTTPS_PROXY
// and NO_PROXY, in upper case only, and hands libcurl a proxy unless its own
// reading of the list says otherwise. libcurl then applies its own list to that
// proxy; and where Guzzle hands over none, libcurl looks at its own variables.
var phpFamily = []*Client{
	{
		Name:       "php-curl",
		Behaviours: curlBehaviours(),
		Release:    libcurlIn,
	},
	{
		Name:      "php-guzzle",
		Aliases:   []string{"guzzle"},
		AlsoReads: []string{"many PHP libraries, such as the AWS SDK"},
		Behaviours: []Behaviour{
			{
				Source: "guzzle/guzzle 7.4.5, with libcurl 7.88 as in Debian 12",
				Read:   guzzleOn(curlIDNFirst),
			},
			{
				Since: "7.9", Change: "with libcurl 8.14: only commas separate",
				Source: "guzzle/guzzle 7.9, with libcurl 8.14 as in Debian 13",
				Read:   guzzleOn(curlLowerHex),
			},
		},
	},
}

// libcurlIn finds the version of libcurl in "8.2.35 libcurl 7.88.1". PHP's own
// version says nothing about it.
func libcurlIn(version string) string {
	if _, after, found := strings.Cut(version, "libcurl"); found {
		return firstNumber(after)
	}
	return ""
}

func guzzleOn(release curlRelease) func(Env) Decider {
	return func(env Env) Decider {
		list := release.compile(env.nonEmpty("no_proxy", "NO_PROXY"))
		theirs := release.readProxies(env)
		ours := map[string]curlProxy{
			"http":  release.parseProxy(phpTrue(env, "HTTP_PROXY"), curlHTTP),
			"https": release.parseProxy(phpTrue(env, "HTTPS_PROXY"), curlHTTP),
		}
		areas := guzzleAreas(phpTrue(env, "NO_PROXY"))
		return func(t Target) Decision {
			proxy := ours[t.Scheme]
			entry, reason, excluded := areas.match(t)
			if proxy.variable == "" || excluded {
				proxy = theirs[t.Scheme]
			}
			decision := release.decide(t, list, proxy)
			if excluded && decision.Route == Direct && decision.Variable == "" {
				return direct(areas.variable, entry, reason) // libcurl, left alone, found no proxy
			}
			return decision
		}
	}
}

// guzzleList is NO_PROXY as Guzzle reads it.
type guzzleList struct {
	variable string
	areas    []guzzleArea
}

type guzzleArea struct {
	span        Span
	text, below string // as written; and without leading dots
}

func guzzleAreas(v variable) guzzleList {
	list := guzzleList{variable: v.name}
	for _, span := range elements(v.value) {
		text := strings.ReplaceAll(span.Of(v.value), " ", "")
		if text != "" && text != "0" { // which PHP calls empty
			list.areas = append(list.areas, guzzleArea{span.trim(v.value, " "), text, strings.TrimLeft(text, ".")})
		}
	}
	return list
}

// match is isHostInNoProxy. It cuts the host at the first colon, and so never
// knows an IPv6 address.
func (l guzzleList) match(t Target) (entry Span, reason string, found bool) {
	host := asciiLower(t.Host)
	if t.Bracketed {
		host, _, _ = strings.Cut("["+host, ":")
	}
	for _, area := range l.areas {
		above, ends := strings.CutSuffix(host, area.below)
		switch {
		case area.text == "*":
			return area.span, everything, true
		case area.text == host:
			return area.span, theName, true
		case ends && strings.HasSuffix(above, "."):
			return area.span, belowName, true
		}
	}
	return Span{}, "", false
}

// phpTrue returns a variable if PHP takes its value for true.
func phpTrue(env Env, name string) variable {
	if v := env.nonEmpty(name); v.value != "0" {
		return v
	}
	return variable{}
}
