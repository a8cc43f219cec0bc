package explain

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// fake returns a client that goes direct because of the first entry that the
// function says covers the URL.
func fake(name string, covers func(entry string, target dialect.Target) bool) dialect.Choice {
	client := &dialect.Client{Name: name, Behaviours: []dialect.Behaviour{{Read: func(env dialect.Env) dialect.Decider {
		return func(target dialect.Target) dialect.Decision {
			list, start := env["NO_PROXY"], 0
			for _, entry := range strings.Split(list, ",") {
				if covers(entry, target) {
					return dialect.Decision{Route: dialect.Direct, Entry: dialect.Span{Start: start, End: start + len(entry)}, Variable: "NO_PROXY", Reason: "covered"}
				}
				start += len(entry) + 1
			}
			hop := dialect.Hop{Address: strings.TrimPrefix(env["HTTPS_PROXY"], "http://")}
			return dialect.Decision{Route: dialect.Proxy, Variable: "HTTPS_PROXY", Reason: "no entry matches", Hop: hop}
		}
	}}}}
	return client.Newest()
}

// always returns a client that decides without asking.
func always(name string, decision dialect.Decision) dialect.Choice {
	client := &dialect.Client{Name: name, Behaviours: []dialect.Behaviour{{Read: func(dialect.Env) dialect.Decider {
		return func(dialect.Target) dialect.Decision { return decision }
	}}}}
	return client.Newest()
}

func exact(entry string, target dialect.Target) bool { return strings.TrimSpace(entry) == target.Host }

func never(string, dialect.Target) bool { return false }

func anything(entry string, _ dialect.Target) bool { return entry != "" }

func networks(entry string, target dialect.Target) bool {
	prefix, err := netip.ParsePrefix(entry)
	addr, addrErr := netip.ParseAddr(target.Host)
	return err == nil && addrErr == nil && prefix.Contains(addr)
}

func target(tb testing.TB, url string) dialect.Target {
	tb.Helper()
	t, err := dialect.ParseTarget(url)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

const proxy = "http://proxy.example:3128"

// ask explains one URL for a list as it stands.
func ask(tb testing.TB, list, url string, choices ...dialect.Choice) Explanation {
	tb.Helper()
	c := Configuration{HTTP: proxy, HTTPS: proxy, List: Written(list, "--no-proxy")}
	return Evaluate(c, choices, []dialect.Target{target(tb, url)})[0]
}
