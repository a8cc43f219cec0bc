package noproxy_test

import (
	"math/rand"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http/httpproxy"
	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/noproxy"
)

// Go's own reader of NO_PROXY judges here: containerd, kubelet and kubeadm use
// it. Whatever it makes of the text that somebody wrote, it must make of ours.

// bypass asks Go whether a request to target goes around the proxy.
func bypass(t *rapid.T, noProxy string, target *url.URL) bool {
	config := httpproxy.Config{HTTPProxy: "http://proxy.example:3128", HTTPSProxy: "http://proxy.example:3128", NoProxy: noProxy}
	proxy, err := config.ProxyFunc()(target)
	if err != nil {
		t.Fatalf("%s: %v", target, err)
	}
	return proxy == nil
}

// Few labels and addresses close together, so that entries match often.
var (
	labels    = rapid.SampledFrom([]string{"a", "b", "ab", "a-b", "svc", "xn--bcher-kva", "A", "a_b"})
	uLabels   = rapid.SampledFrom([]string{"a", "b", "ab", "a-b", "svc", "xn--bcher-kva", "bücher", "BÜCHER"})
	ports     = rapid.SampledFrom([]string{"", "", "", ":80", ":443", ":8080"})
	ipv4      = rapid.SampledFrom([]string{"10.0.0.0", "10.0.0.1", "10.0.0.255", "10.0.1.1", "10.128.0.1", "11.0.0.1", "110.0.0.1", "192.168.0.1", "127.0.0.1"})
	ipv6      = rapid.SampledFrom([]string{"::1", "fd00::1", "FD00:0::0:1", "fd00::ffff", "fd00:0:0:1::1", "2001:db8::1", "::ffff:10.0.0.1", "::FFFF:10.128.0.1", "::ffff:a00:1"})
	ipv6hosts = rapid.Map(ipv6, func(ip string) string { return "[" + ip + "]" })
)

func name(t *rapid.T) string {
	// Not a_b.bücher: Go leaves it as it is and never matches it, we refuse it.
	anyLabel := rapid.SampledFrom([]*rapid.Generator[string]{labels, uLabels}).Draw(t, "alphabet")
	return strings.Join(rapid.SliceOfN(anyLabel, 1, 4).Draw(t, "labels"), ".") + rapid.SampledFrom([]string{"", "", "", "."}).Draw(t, "root")
}

var targets = rapid.Custom(func(t *rapid.T) *url.URL {
	host := rapid.OneOf(rapid.Custom(name), rapid.Custom(name), ipv4, ipv6hosts).Draw(t, "host")
	return &url.URL{Scheme: rapid.SampledFrom([]string{"http", "https"}).Draw(t, "scheme"), Host: host + ports.Draw(t, "port")}
})

// tokens draws the forms that Go reads at all. Three forms are left out, since
// Go takes them for names that never match, while the package understands them:
// an address in brackets without a port, a network in brackets, and digits that
// are not ASCII.
var tokens = rapid.Custom(func(t *rapid.T) string {
	return rapid.OneOf(
		rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom([]string{"", ".", "*."}).Draw(t, "prefix") + name(t) + ports.Draw(t, "port")
		}),
		rapid.Custom(func(t *rapid.T) string { return ipv4.Draw(t, "ip") + ports.Draw(t, "port") }),
		ipv6,
		rapid.Custom(func(t *rapid.T) string {
			return ipv6hosts.Draw(t, "ip") + rapid.SampledFrom([]string{":80", ":443", ":8080"}).Draw(t, "port")
		}),
		rapid.Custom(func(t *rapid.T) string {
			return ipv4.Draw(t, "ip") + "/" + rapid.SampledFrom([]string{"0", "1", "7", "8", "9", "16", "24", "31", "32"}).Draw(t, "bits")
		}),
		rapid.Custom(func(t *rapid.T) string {
			return ipv6.Draw(t, "ip") + "/" + rapid.SampledFrom([]string{"0", "3", "8", "48", "64", "95", "96", "104", "120", "127", "128"}).Draw(t, "bits")
		}),
		rapid.Just("*"),
	).Draw(t, "token")
})

var blanks = rapid.SampledFrom([]string{"", "", " ", "\t"})

// written draws a list as somebody might write it.
var written = rapid.Custom(func(t *rapid.T) string {
	var elements []string
	for _, token := range rapid.SliceOfN(tokens, 0, 4).Draw(t, "tokens") {
		elements = append(elements, blanks.Draw(t, "before")+token+blanks.Draw(t, "after"))
	}
	return strings.Join(elements, ",")
})

// parsed reads a list, which must not hold anything that is refused.
func parsed(t *rapid.T, text string) noproxy.List {
	var items noproxy.List
	for _, token := range noproxy.Split(text) {
		entry, err := noproxy.Parse(token)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, noproxy.Item{Entry: entry})
	}
	return items
}

func TestTheCanonicalSpellingBypassesExactlyWhatTheWrittenOneDoes(t *testing.T) {
	matched := 0
	rapid.Check(t, func(t *rapid.T) {
		token, target := tokens.Draw(t, "token"), targets.Draw(t, "target")
		entry, err := noproxy.Parse(token)
		if err != nil {
			t.Fatal(err)
		}
		raw, canonical := bypass(t, token, target), bypass(t, entry.String(), target)
		if raw != canonical {
			t.Fatalf("%s with %q: %v; with %q: %v", target, token, raw, entry, canonical)
		}
		if raw {
			matched++
		}
	})
	if matched == 0 {
		t.Error("no entry ever matched: the generators have drifted apart")
	}
}

func TestAWholeListBypassesExactlyWhatTheWrittenOneDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, target := written.Draw(t, "list"), targets.Draw(t, "target")
		list := parsed(t, text)
		if raw, ours := bypass(t, text, target), bypass(t, list.String(), target); raw != ours {
			t.Fatalf("%s with %q: %v; with %q: %v", target, text, raw, list, ours)
		}
	})
}

func TestAMergedListBypassesWhatAnyOfItsListsDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := parsed(t, written.Draw(t, "a")), parsed(t, written.Draw(t, "b"))
		target := targets.Draw(t, "target")
		either := bypass(t, a.String(), target) || bypass(t, b.String(), target)
		if merged := noproxy.Merge(a, b); bypass(t, merged.String(), target) != either {
			t.Fatalf("%s: %q and %q: %v; %q: %v", target, a, b, either, merged, !either)
		}
	})
}

func TestTheOrderOfMergingChangesTheOrderOfTheListAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lists := []noproxy.List{parsed(t, written.Draw(t, "a")), parsed(t, written.Draw(t, "b")), parsed(t, written.Draw(t, "c"))}
		want := set(noproxy.Merge(lists...))
		rand.New(rand.NewSource(rapid.Int64().Draw(t, "order"))).Shuffle(len(lists), func(i, j int) { lists[i], lists[j] = lists[j], lists[i] })
		if got := set(noproxy.Merge(lists...)); !slices.Equal(got, want) {
			t.Fatalf("%q in another order is %q", want, got)
		}
		if nested := set(noproxy.Merge(noproxy.Merge(lists[0], lists[1]), lists[2])); !slices.Equal(nested, want) {
			t.Fatalf("%q in two steps is %q", want, nested)
		}
	})
}

func set(list noproxy.List) []string {
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = item.Entry.String()
	}
	slices.Sort(texts)
	return texts
}
