package dialect

import "strings"

// PHP's curl extension, which is libcurl as it is, and Guzzle on top of it.
//
// Rules of Guzzle: guzzle/guzzle src/Client.php configureDefaults,
// src/Handler/CurlFactory.php applyHandlerOptions and src/Utils.php
// isHostInNoProxy, versions 6.5 to 7.9; since 7.12 it no longer leaves the variables
// to libcurl, which is not modelled. Guzzle reads HTTP_PROXY, HTTPS_PROXY
// and NO_PROXY, in upper case only, and hands libcurl a proxy unless its own
// reading of the list says otherwise. libcurl then applies its own list to that
// proxy; and where Guzzle hands over none, libcurl looks at its own variables.
var phpFamily = []*Client{
	{
		Name:       "php-curl",
		Behaviours: curlBehaviours(),
		Release:    libcurlIn,
		Written:    "8.2 libcurl 7.88",
	},
	{
		Name:      "php-guzzle",
		Latest:    "7",
		Aliases:   []string{"guzzle"},
		AlsoReads: []string{"many PHP libraries, such as the AWS SDK"},
		Behaviours: versions{
			{"", "", "guzzle/guzzle 7.4.5, with libcurl 7.88 as in Debian 12", guzzle{libcurl: curlIDNFirst, ipv6: "0123456789abcdef:"}.read},
			{"7.9", "with libcurl 8.14: only commas separate; with psr7 2.7: IPv6 addresses in upper case are no error", "guzzle/guzzle 7.9, with guzzle/psr7 2.7 and libcurl 8.14 as in Debian 13", guzzle{libcurl: curlLowerHex, ipv6: "0123456789abcdefABCDEF:"}.read},
		}.behaviours(),
	},
}

// libcurlIn finds the version of libcurl in "8.2.35 libcurl 7.88.1". PHP's own
// version says nothing about it.
func libcurlIn(version string) string {
	if _, after, ok := strings.Cut(version, "libcurl"); ok {
		return firstNumber(after)
	}
	return ""
}

// guzzle is a Guzzle with what it comes with.
type guzzle struct {
	libcurl curlRelease
	ipv6    string // what guzzle/psr7 src/Uri.php parse knows an IPv6 address by
}

func (g guzzle) read(env Env) Decider {
	r := g.libcurl.rules()
	list := r.readList(r.find(env, strings.Fields(r.no)...))
	theirs, overridden := r.proxies(env), r.proxies(env)
	for scheme := range overridden {
		if ours := phpTrue(env, strings.ToUpper(scheme)+"_PROXY"); ours.name != "" {
			overridden[scheme] = r.proxyOf(ours, scheme)
		}
	}
	alone, with := r.decider(theirs, list), r.decider(overridden, list)
	areas := guzzleList.readList(phpTrue(env, "NO_PROXY"))
	return func(t Target) Decision {
		if t.Bracketed && skip(t.Host, 0, g.ipv6) < len(t.Host) {
			return fails("", badURL)
		}
		h, _ := guzzleList.host(t)
		entry, reason, excluded := areas.match(h)
		if !excluded {
			return with(t)
		}
		decision := alone(t)
		if decision.Route == Direct && decision.Variable == "" {
			return direct(areas.name, entry, reason) // libcurl, left alone, found no proxy
		}
		return decision
	}
}

// guzzleList is NO_PROXY as Guzzle reads it (isHostInNoProxy). It cuts the host
// at the first colon, and so never knows an IPv6 address.
var guzzleList = rules{
	host: func(t Target) (host, string) {
		name, _, _ := strings.Cut(asciiLower(t.bracketed()), ":")
		return named(name)
	},
	cut: commas(blank),
	entry: func(text string) (entry, bool) {
		text = strings.ReplaceAll(text, " ", "")
		return entry{text: text}, text != "0" // which PHP calls empty
	},
	covers: func(e *entry, h host) string {
		if e.text[0] != '.' {
			return (star | exactly | below).covers(e.text, h.name)
		}
		if e.text == h.name {
			return theName
		}
		return below.covers(strings.TrimLeft(e.text, "."), h.name)
	},
}

// phpTrue returns a variable if PHP takes its value for true.
func phpTrue(env Env, name string) variable {
	if v := env.nonEmpty(name); v.value != "0" {
		return v
	}
	return variable{}
}
