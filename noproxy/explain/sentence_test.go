package explain

import (
	"testing"

	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

var loopback = dialect.Decision{Route: dialect.Direct, Reason: "loopback is never proxied"}

var broken = dialect.Decision{Route: dialect.Fails, Variable: "NO_PROXY", Reason: "it cannot read the list"}

var unreadable = dialect.Decision{
	Route: dialect.Fails, Variable: "NO_PROXY", Entry: dialect.Span{Start: 0, End: 9}, Reason: "it cannot read the entry",
}

func TestTheSentenceSaysWhatClientsDo(t *testing.T) {
	for name, test := range map[string]struct {
		list, url string
		clients   []dialect.Choice
		want      string
	}{
		"one goes direct":           {"a.example", "a.example", []dialect.Choice{fake("go", exact)}, "go goes direct because of a.example"},
		"one uses the proxy":        {"b.example", "a.example", []dialect.Choice{fake("go", exact)}, "go uses the proxy: no entry matches"},
		"two agree":                 {"a.example", "a.example", []dialect.Choice{fake("go", exact), fake("curl", exact)}, "go and curl go direct because of a.example"},
		"four agree":                {"a.example", "a.example", []dialect.Choice{fake("a", exact), fake("b", exact), fake("c", exact), fake("d", exact)}, "All 4 clients go direct because of a.example"},
		"for two entries":           {"10.0.0.0/8,10.1.2.3", "10.1.2.3", []dialect.Choice{fake("go", networks), fake("wget", exact), fake("curl", networks)}, "go, wget and curl go direct because of 10.0.0.0/8 or 10.1.2.3"},
		"an entry with a final dot": {"a.example.", "a.example.", []dialect.Choice{fake("go", exact)}, "go goes direct because of a.example."},
		"by a rule of its own":      {"a.example", "localhost", []dialect.Choice{always("go", loopback), fake("curl", exact)}, "go goes direct (loopback is never proxied); curl uses the proxy"},
		"by rules more than by an entry": {
			"127.0.0.1", "[::1]",
			[]dialect.Choice{always("go", loopback), always("ruby", loopback), fake("axios", anything), fake("curl", exact)},
			"axios goes direct because of 127.0.0.1; go and ruby go direct (loopback is never proxied); curl uses the proxy",
		},
		"networks":                    {"100.64.0.0/13", "100.64.0.1", []dialect.Choice{fake("go", networks), fake("wget", exact), fake("apt", exact)}, "go goes direct because of 100.64.0.0/13; wget and apt do not read networks in NO_PROXY and use the proxy"},
		"a failure":                   {"fd00::/64", "a.example", []dialect.Choice{fake("go", exact), always("python-httpx", broken)}, "go uses the proxy; python-httpx fails: it cannot read the list"},
		"a failure beside two routes": {"a.example", "a.example", []dialect.Choice{fake("go", exact), fake("x", never), always("y", broken)}, "go goes direct because of a.example; x does not take a.example to cover this host and uses the proxy; y fails: it cannot read the list"},
		"an entry that makes one fail": {
			"fd00::/64", "a.example",
			[]dialect.Choice{fake("go", exact), always("python-httpx", unreadable), always("y", unreadable)},
			"go uses the proxy; python-httpx and y fail because of fd00::/64: it cannot read the entry",
		},
		"an address that is not known": {
			"a", "a.example",
			[]dialect.Choice{always("x", dialect.Decision{Route: dialect.Depends, Reason: "the address is not known"}), always("y", dialect.Decision{Route: dialect.Direct, Reason: "r"})},
			"y goes direct (r); x depends on the address: the address is not known",
		},
		"a proxy that is not judged": {"a", "a.example", []dialect.Choice{always("x", dialect.Decision{Route: dialect.Depends, Reason: dialect.NotJudged})}, "x depends: " + dialect.NotJudged},
		"all fail":                   {"a", "a.example", []dialect.Choice{always("x", broken), always("y", broken)}, "x and y fail: it cannot read the list"},
		"many by name, then by count": {
			"10.0.0.0/8", "10.1.2.3",
			[]dialect.Choice{fake("a", exact), fake("b", exact), fake("c", exact), fake("d", exact), fake("go", networks)},
			"go goes direct because of 10.0.0.0/8; 4 clients do not read networks in NO_PROXY and use the proxy",
		},
		"lost in the list": {
			" a.example ,b", "a.example",
			[]dialect.Choice{fake("go", exact), fake("apt", func(entry string, target dialect.Target) bool { return entry == target.Host })},
			"go goes direct because of a.example; apt does not find a.example in this list and uses the proxy",
		},
		"who reads networks is not said not to": {
			"100.64.0.0/13", "100.64.0.1",
			[]dialect.Choice{fake("go", networks), fake("odd", func(entry string, target dialect.Target) bool {
				return entry != "100.64.0.0/13" && networks(entry, target)
			})},
			"go goes direct because of 100.64.0.0/13; odd does not take 100.64.0.0/13 to cover this host and uses the proxy",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ask(t, test.list, test.url, test.clients...).Summary; got != test.want {
				t.Errorf("%s\nwant %s", got, test.want)
			}
		})
	}
}

// Of whoever goes direct because of an entry and whoever does not, the sentence
// says what the latter do not read.
func TestTheSentenceNamesWhatTheOthersDoNotRead(t *testing.T) {
	for _, test := range []struct{ entry, url, want string }{
		{"10.0.0.0/8", "10.1.2.3", "read networks in NO_PROXY"},
		{"10.1.2.3/8", "10.1.2.3", "read a network that is spelled like 10.1.2.3/8"},
		{"0.0.0.0/0", "10.1.2.3", "read networks of length 0"},
		{"fd00::/8", "[fd00::1]", "read IPv6 networks in NO_PROXY"},
		{"10.0.0.0/8", "a.example", "resolve names before they decide"},
		{"10.0.0.0/8", "0x0a010203", "read this host as an address"},
		{"10.0.0.0/8", "[::ffff:10.1.2.3]", "see the IPv4 address inside an IPv6 one"},
		{"10.1.2.3", "[::ffff:10.1.2.3]", "see the IPv4 address inside an IPv6 one"},
		{"10.1.2.3", "0x0a010203", "read this host as an address"},
		{"127.0.0.1", "[::1]", "take 127.0.0.1 to cover this host"},
		{"[::1]", "[::1]", "read brackets in NO_PROXY"},
		{"::1", "[::1]", "read IPv6 addresses without brackets"},
		{"::1", "[0::1]", "compare IPv6 addresses by what they mean"},
		{"10.1.2.3", "10.1.2.3", "take 10.1.2.3 to cover this host"},
		{"*", "a.example", "read * in NO_PROXY"},
		{"*", "10.1.2.3", "take * to cover addresses"},
		{"a.example:8080", "http://a.example:8080", "read ports in NO_PROXY"},
		{"a.example:443", "a.example", "take the default port for a URL's that names none"},
		{"example.com", "sub.example.com", "take example.com to cover names below it"},
		{".example.com", "example.com", "take .example.com to cover example.com itself"},
		{"*.example.com", "sub.example.com", "read wildcards in NO_PROXY"},
		{"example.com", "example.com.", "ignore the final dot of a name"},
		{"example.com.", "example.com", "ignore the final dot of a name"},
		{"example.com", "Example.com", "ignore upper and lower case"},
		{"EXAMPLE.com", "example.com", "ignore upper and lower case"},
		{"example.com", "notexample.com", "let an entry match the end of a longer name"},
		{"bücher.example", "xn--bcher-kva.example", "compare internationalized names by their ASCII form"},
		{".example.com", "sub.example.com", "take .example.com to cover this host"},
		{"10.*", "10.1.2.3", "read 10.* in that way"},
		{"a b", "b", "read a b in that way"},
	} {
		t.Run(test.entry+" "+test.url, func(t *testing.T) {
			want := "x goes direct because of " + test.entry + "; y does not " + test.want + " and uses the proxy"
			if got := ask(t, test.entry, test.url, fake("x", anything), fake("y", never)).Summary; got != want {
				t.Errorf("%s\nwant %s", got, want)
			}
		})
	}
}

func TestResolvedNamesAreNotTakenForEndsOfNames(t *testing.T) {
	resolved := target(t, "a.example")
	resolved.Addrs = append(resolved.Addrs, target(t, "127.0.0.1").Addrs...)
	if got := claimForName("localhost", mustParse(t, "localhost"), resolved).words; got != "let an entry match the end of a longer name" {
		t.Error(got)
	}
	resolved.Addrs = append(resolved.Addrs, loopbackAddr)
	if got := claimForName("localhost", mustParse(t, "localhost"), resolved).words; got != "resolve names before they decide" {
		t.Error(got)
	}
}

func TestTheSentenceIsAboutTheEntryAlsoWhereJavaSpellsItDifferently(t *testing.T) {
	java := always("java", dialect.Decision{Route: dialect.Direct, Variable: nonProxyHosts, Entry: dialect.Span{Start: 0, End: 4}, Reason: "the host starts with this text"})
	e := ask(t, "10.0.0.0/8", "10.1.2.3", java, fake("wget", exact))
	want := "java goes direct because of 10.0.0.0/8; wget does not read networks in NO_PROXY and uses the proxy"
	if e.Summary != want || e.Decisions[0].Source.String() != "--no-proxy[0]" {
		t.Errorf("%s, %s", e.Summary, e.Decisions[0].Source)
	}
}

func TestDifferentProxiesAreADisagreement(t *testing.T) {
	c := Configuration{HTTP: "http://p1.example:3128", HTTPS: "http://p2.example:3128", List: Written("x", "")}
	ruby := always("ruby", dialect.Decision{Route: dialect.Proxy, Reason: "no entry matches", Hop: dialect.Hop{Address: "P1.example:3128"}})
	listless := always("py", dialect.Decision{Route: dialect.Proxy, Reason: "NO_PROXY is not read", Hop: dialect.Hop{Address: "p1.example:3128"}})
	for _, test := range []struct {
		choices []dialect.Choice
		agree   bool
		want    string
	}{
		{[]dialect.Choice{fake("go", exact), ruby}, false, "go uses the proxy p2.example:3128; ruby uses the proxy p1.example:3128"},
		{[]dialect.Choice{fake("go", exact), listless}, false, "go uses the proxy p2.example:3128; py uses the proxy p1.example:3128: NO_PROXY is not read"},
		{[]dialect.Choice{fake("go", exact), fake("curl", exact)}, true, "go and curl use the proxy: no entry matches"},
	} {
		e := Evaluate(c, test.choices, []dialect.Target{target(t, "a.example")})[0]
		if e.Summary != test.want || e.Agree != test.agree {
			t.Errorf("%s (%v), want %s", e.Summary, e.Agree, test.want)
		}
	}
}
