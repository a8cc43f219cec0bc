// Package samples generates passwords and lists from all the pieces that went wrong somewhere. They are the same
// every time. Tests compare written values with the programs that read them.
package samples

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// classes are the kinds of pieces that went wrong somewhere. Each sample has pieces of some of them in its
// password and in its list.
var classes = []struct {
	name   string
	pieces []string
}{
	{"percent", []string{"%", "%%", "%40", "%n", "%h", "100%", "%-", "{%", "%}"}},
	{"backslash", []string{`\`, `\\`, `\n`, `\x41`, `\u00e9`, `DOM\user`, `\"`, `\$`, "\\\n"}},
	{"hash", []string{"#", "# comment", " #", "{#", "#}"}},
	{"double quote", []string{`"`, `""`, `a"b`, `"'`}},
	{"single quote", []string{"'", "''", "it's", `'"`}},
	{"dollar", []string{"$", "$$", "$HOME", "${HOME}", "$(HOME)", "$$(HOME)", "$(id)"}},
	{"braces", []string{"{{", "{{ 7*7 }}", "{{{", "}}", "{% raw %}", "{# x #}"}},
	{"UTF-8", []string{"é", "€", "😀", "\u0085", "\u00a0", "\u2028", "\u2029", "\ufeff", "\u200b"}},
	{"control", []string{"\n", "\r\n", "\r", "\t", "\x01", "\x08", "\x1b[0m", "\x7f", "a\n b"}},
	{"other", []string{"`id`", ";", " ; x", "=", "A=1 B=2", " ", "  a  ", "*", ": ", "- a", "&a", "!t", "|", ">", "~", "[a]", "@", ",,"}},
}

// Count is how many there are.
const Count = 1200

// Sample is one configuration, and what it was made from.
type Sample struct {
	Number             int
	Effective          resolve.Effective
	Username, Password string // raw; empty where the URL was written by hand
	List               string // NO_PROXY as it is meant, for any client and for Go
	classes            map[string]bool
}

// String says what a sample is made of.
func (s Sample) String() string {
	return fmt.Sprintf("%d of %s", s.Number, strings.Join(slices.Sorted(maps.Keys(s.classes)), ", "))
}

// All of them. The first has all of ASCII and the longest list.
func All(t testing.TB) []Sample {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	made := make([]Sample, Count)
	for i := range made {
		made[i] = newSample(t, random, i)
	}
	everything(t, &made[0])
	return made
}

// everything sets all of printable ASCII as the password, and the longest list there may be.
func everything(t testing.TB, s *Sample) {
	t.Helper()
	s.Username, s.Password = "u", ""
	for c := byte(' '); c < 0x7f; c++ {
		s.Password += string(c)
	}
	proxy, err := s.Effective.HTTP.WithoutCredentials().WithCredentials(s.Username, s.Password)
	if err != nil {
		t.Fatal(err)
	}
	s.List = strings.Repeat("x", render.MaxNoProxyBytes)
	list := noproxy.List{{Entry: noproxy.Entry{Kind: noproxy.Domain, Name: s.List}}}
	s.Effective.HTTP, s.Effective.HTTPS, s.Effective.NoProxy = proxy, proxy, noproxy.Lists{Any: list, Go: list}
}

func newSample(t testing.TB, random *rand.Rand, i int) Sample {
	t.Helper()
	s := Sample{Number: i, classes: map[string]bool{}}
	text := func() string {
		var b strings.Builder
		for k := range 2 + random.IntN(4) {
			class := classes[random.IntN(len(classes))]
			if k == 0 {
				class = classes[i%len(classes)] // each has its turn
			}
			b.WriteString(class.pieces[random.IntN(len(class.pieces))])
			s.classes[class.name] = true
		}
		return b.String()
	}
	s.List = text()
	proxy, err := proxyurl.Parse("http://proxy.example:3128")
	if err != nil {
		t.Fatal(err)
	}
	if i%4 == 0 { // as people write it, with what RFC 3986 lets stand
		proxy, err = proxyurl.Parse("http://" + byHand(random) + ":" + byHand(random) + "@proxy.example:3128")
	} else {
		s.Username, s.Password = sendable("u"+text(), ":"), sendable(text(), "")
		proxy, err = proxy.WithCredentials(s.Username, s.Password)
	}
	if err != nil {
		t.Fatalf("sample %d: %v", i, err)
	}
	list := noproxy.List{
		{Entry: noproxy.Entry{Kind: noproxy.Domain, Name: "first.example"}},
		{Entry: noproxy.Entry{Kind: noproxy.Domain, Name: s.List}},
	}
	if i%3 == 0 { // at the end of the line, and in front
		list = list[1:]
	}
	s.List = list.String()
	s.Effective = resolve.Effective{
		Namespace: "org-acme", Cluster: "mycluster", Mode: resolve.ModeProxied, Proxy: "default", Form: resolve.FormExact,
		HTTP: proxy, HTTPS: proxy, NoProxy: noproxy.Lists{Any: list, Go: list},
	}
	return s
}

// sendable leaves out what HTTP Basic authentication cannot carry, which is refused long before.
func sendable(text, also string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || strings.ContainsRune(also, r) {
			return -1
		}
		return r
	}, text)
}

func byHand(random *rand.Rand) string {
	const may = "aZ0-._~!$&'()*+,;="
	b := []byte{'u'}
	for range 1 + random.IntN(12) {
		b = append(b, may[random.IntN(len(may))])
		if random.IntN(8) == 0 {
			b = append(b, "%25"...)
		}
	}
	return string(b)
}
