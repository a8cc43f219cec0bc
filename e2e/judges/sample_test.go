package judges_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/operator/noproxy"
	"github.com/fairlead-io/fairlead/operator/proxyurl"
	"github.com/fairlead-io/fairlead/operator/render"
	"github.com/fairlead-io/fairlead/operator/resolve"
)

// classes are what has gone wrong somewhere: each sample has pieces of some of
// them in its password and in its list.
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

// sample is one configuration, and what it was made from.
type sample struct {
	number             int
	effective          resolve.Effective
	username, password string // raw; empty where the URL was written by hand
	list               string
	classes            map[string]bool

	plain bool // user data carries its EnvironmentFile without base64
	login bool // /etc/environment carries it
	pods  bool // manifests of static pods carry it
}

// String says what a sample is made of.
func (s sample) String() string {
	return fmt.Sprintf("%d of %s", s.number, strings.Join(slices.Sorted(maps.Keys(s.classes)), ", "))
}

// samples are the same for the same number.
func samples(t *testing.T, n int) []sample {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	made := make([]sample, n)
	for i := range made {
		made[i] = newSample(t, random, i)
	}
	everything(t, &made[0])
	return made
}

// everything has all of printable ASCII in its password, and the longest list there may be.
func everything(t *testing.T, s *sample) {
	t.Helper()
	s.username, s.password = "u", ""
	for c := byte(' '); c < 0x7f; c++ {
		s.password += string(c)
	}
	proxy, err := s.effective.HTTP.WithoutCredentials().WithCredentials(s.username, s.password)
	if err != nil {
		t.Fatal(err)
	}
	s.list = strings.Repeat("x", render.MaxNoProxyBytes)
	list := noproxy.List{{Entry: noproxy.Entry{Kind: noproxy.Domain, Name: s.list}}}
	s.effective.HTTP, s.effective.HTTPS, s.effective.NoProxy = proxy, proxy, noproxy.Lists{Any: list, Go: list}
}

func newSample(t *testing.T, random *rand.Rand, i int) sample {
	t.Helper()
	s := sample{number: i, classes: map[string]bool{}}
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
	s.list = text()
	proxy, err := proxyurl.Parse("http://proxy.example:3128")
	if err != nil {
		t.Fatal(err)
	}
	if i%4 == 0 { // as people write it, with what RFC 3986 lets stand
		proxy, err = proxyurl.Parse("http://" + byHand(random) + ":" + byHand(random) + "@proxy.example:3128")
	} else {
		s.username, s.password = sendable("u"+text(), ":"), sendable(text(), "")
		proxy, err = proxy.WithCredentials(s.username, s.password)
	}
	if err != nil {
		t.Fatalf("sample %d: %v", i, err)
	}
	list := noproxy.List{
		{Entry: noproxy.Entry{Kind: noproxy.Domain, Name: "first.example"}},
		{Entry: noproxy.Entry{Kind: noproxy.Domain, Name: s.list}},
	}
	if i%3 == 0 { // at the end of the line, and in front
		list = list[1:]
	}
	s.list = list.String()
	s.effective = resolve.Effective{
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

// forRancher reports whether the sample is also written for RKE2.
func (s sample) forRancher() bool { return s.number%4 == 1 }

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

// want is the environment that is meant.
func (s sample) want() map[string]string {
	proxy := s.effective.HTTP.Reveal()
	return map[string]string{
		"HTTP_PROXY": proxy, "http_proxy": proxy, "HTTPS_PROXY": proxy, "https_proxy": proxy,
		"NO_PROXY": s.list, "no_proxy": s.list,
	}
}

func TestTheSamplesHoldEnoughOfEverything(t *testing.T) {
	counts := map[string]int{}
	for i, s := range samples(t, sampleCount) {
		for class := range s.classes {
			counts[class]++
		}
		if s.username == "" {
			continue
		}
		parsed, err := url.Parse(s.effective.HTTP.Reveal())
		if err != nil {
			t.Fatalf("sample %d: %v", i, err)
		}
		if password, _ := parsed.User.Password(); parsed.User.Username() != s.username || password != s.password {
			t.Errorf("sample %d: the URL says %q, %q, and %q, %q is meant", i, parsed.User.Username(), password, s.username, s.password)
		}
	}
	for _, class := range classes {
		if counts[class.name] < 50 {
			t.Errorf("%d samples have %s, at least 50 are needed", counts[class.name], class.name)
		}
	}
	if sampleCount < 1000 {
		t.Errorf("%d samples", sampleCount)
	}
}

const sampleCount = 1200
