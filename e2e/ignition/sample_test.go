package ignition_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/operator/noproxy"
	"github.com/fairlead-io/fairlead/operator/proxyurl"
	"github.com/fairlead-io/fairlead/operator/render/ignition"
	"github.com/fairlead-io/fairlead/operator/resolve"
)

// classes are what YAML, JSON, a data URL or systemd has a meaning of its own for.
// Each sample has pieces of some of them in its password and in its lists.
var classes = []struct {
	name   string
	pieces []string
}{
	{"percent", []string{"%", "%%", "%40", "%0A", "%n", "100%"}},
	{"backslash", []string{`\`, `\\`, `\n`, `\x41`, `\u00e9`, `DOM\user`, `\"`}},
	{"hash", []string{"#", " # comment", "#a"}},
	{"double quote", []string{`"`, `""`, `a"b`}},
	{"single quote", []string{"'", "''", "it's"}},
	{"dollar", []string{"$", "$$", "$HOME", "${X}", "$(id)"}},
	{"braces", []string{"{{", "{{ x }}", "{%", "{#", "{a: b}"}},
	{"UTF-8", []string{"é", "€", "😀", "\u0085", "\u00a0", "\u2028", "\ufeff"}},
	{"control", []string{"\n", "\r\n", "\r", "\t", "\t\n", "\x01", "\x1b[0m", "\x7f", "\n  a\n b"}},
	{"other", []string{"yes", "1:30", "0o17", ": ", "- a", "&a", "*a", "!t", "|", ">", "~", "[a]", "@", ";base64", "+", "`id`", "---\n"}},
}

// sample is a configuration, and what it is made of.
type sample struct {
	number    int
	effective resolve.Effective
	variant   ignition.Variant
	classes   map[string]bool
}

func (s sample) String() string {
	return fmt.Sprintf("sample %d of %s", s.number, strings.Join(slices.Sorted(maps.Keys(s.classes)), ", "))
}

// samples are always the same.
func samples(t *testing.T, n int) []sample {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	made := make([]sample, n)
	count := map[string]int{}
	for i := range made {
		made[i] = newSample(t, random, i)
		for class := range made[i].classes {
			count[class]++
		}
	}
	for _, class := range classes {
		if count[class.name] < 50 {
			t.Fatalf("%d samples of %s", count[class.name], class.name)
		}
	}
	return made
}

func newSample(t *testing.T, random *rand.Rand, i int) sample {
	t.Helper()
	s := sample{number: i, classes: map[string]bool{}, variant: ignition.Flatcar}
	if i%2 == 1 {
		s.variant = ignition.FedoraCoreOS
	}
	text := func() string {
		var b strings.Builder
		for range 1 + random.IntN(4) {
			class := classes[random.IntN(len(classes))]
			b.WriteString(class.pieces[random.IntN(len(class.pieces))])
			s.classes[class.name] = true
		}
		return b.String()
	}
	list := func(name string) noproxy.List {
		return noproxy.List{
			{Entry: noproxy.Entry{Kind: noproxy.Domain, Name: text()}},
			{Entry: noproxy.Entry{Kind: noproxy.Domain, Name: name + ".example" + text()}},
		}
	}
	// What Basic authentication cannot carry is refused long before.
	sendable := func(text string) string {
		return strings.Map(func(r rune) rune {
			if r < 0x20 || r == 0x7f || r == ':' {
				return -1
			}
			return r
		}, text)
	}
	proxy, err := proxyurl.Parse("http://proxy.example:3128")
	if err != nil {
		t.Fatal(err)
	}
	if proxy, err = proxy.WithCredentials("u"+sendable(text()), sendable(text())); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	s.effective = resolve.Effective{
		Namespace: "org-acme", Cluster: "mycluster", Mode: resolve.ModeProxied, Proxy: "default", Form: resolve.FormExact,
		HTTP: proxy, HTTPS: proxy, NoProxy: noproxy.Lists{Any: list("any"), Go: list("go")},
		Node: resolve.Node{Units: []string{"crio.service"}, TrustedCA: []byte("PEM " + text() + "\n")},
	}
	return s
}
