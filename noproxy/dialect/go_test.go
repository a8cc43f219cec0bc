package dialect_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/http/httpproxy"

	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// pairs is how many (list, URL) pairs are tried; "make fuzz" tries ten million.
func pairs(t *testing.T) int {
	t.Helper()
	text := os.Getenv("PAIRS")
	if text == "" {
		return 300_000
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("PAIRS: %v", err)
	}
	return n
}

// seed is printed, so that a failure can be seen again with SEED=.
func seed(t *testing.T) uint64 {
	t.Helper()
	n := rand.Uint64()
	if text := os.Getenv("SEED"); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("SEED: %v", err)
		}
	}
	t.Logf("SEED=%d", n)
	return n
}

// words draws texts from few parts, so that entries and hosts meet often.
type words struct{ *rand.Rand }

func (w words) one(of ...string) string { return of[w.IntN(len(of))] }

func (w words) name() string {
	labels := make([]string, 1+w.IntN(3))
	for i := range labels {
		labels[i] = w.one("a", "b", "ab", "svc", "A", "bücher", "xn--bcher-kva", "x_y", "localhost", "1", "*", "")
	}
	return strings.Join(labels, ".") + w.one("", "", "", ".")
}

func (w words) address() string {
	return w.one("10.0.0.0", "10.0.0.1", "10.0.1.1", "110.0.0.1", "127.0.0.1", "127.1.2.3", "10.0.0.01", "0.0.0.0", "010.0.0.1", "1.2.3")
}

func (w words) address6() string {
	return w.one("::1", "fd00::1", "FD00:0::1", "::ffff:10.0.0.1", "::ffff:a00:1", "fd00::ffff", "::", "fe80::1", "fe80::1%eth0", "64:ff9b::a00:1")
}

func (w words) port() string { return w.one("", "", "", ":80", ":443", ":8080", ":", ":http") }

func (w words) entry() string {
	switch w.IntN(12) {
	case 0, 1, 2:
		return w.one("", "", ".", "*.", "*", "..") + w.name() + w.port()
	case 3:
		return w.address() + w.port()
	case 4:
		return w.address6()
	case 5:
		return "[" + w.address6() + "]" + w.port()
	case 6, 7:
		return w.address() + "/" + w.one("0", "1", "8", "08", "24", "32", "33", "", "-1", "255.0.0.0", "8:80")
	case 8:
		return w.address6() + "/" + w.one("0", "8", "64", "95", "96", "104", "120", "128", "129")
	case 9:
		return w.one("*", "*", "", ".", ":", ":80", "[", "]", "[]:80", "a:b:c", "/", "//", "[a]:80", "a]:80", "[::1]x:80", "%zz", "\"a\"", "<local>", "http://a")
	case 10:
		return string([]byte{byte(w.IntN(256)), byte(w.IntN(256)), '.', byte(w.IntN(256))})
	}
	return w.one("localhost", "LOCALHOST", "loopback", "127.0.0.0/8")
}

func (w words) list() string {
	var b strings.Builder
	for i := range w.IntN(6) {
		if i > 0 {
			b.WriteByte(',')
		}
		if entry := w.entry(); !strings.Contains(entry, ",") {
			b.WriteString(w.one("", "", "", " ", "\t") + entry + w.one("", "", "", " ", "\n", "\u00a0"))
		}
	}
	return b.String()
}

func (w words) host() string {
	switch w.IntN(5) {
	case 0:
		return w.address() + w.one("", "", ":80", ":443", ":8080")
	case 1:
		return "[" + strings.Replace(w.address6(), "%", "%25", 1) + "]" + w.one("", "", ":80", ":443", ":8080")
	}
	return w.one("", "", "", "x", "a.") + w.name() + w.one("", "", ":80", ":443", ":8080")
}

// httpproxy is the code that containerd, kubelet and all of Go use.
func TestGoListsAgreeWithHTTPProxy(t *testing.T) {
	const urlsPerList = 20
	w := words{rand.New(rand.NewPCG(seed(t), 0))}
	directs, total := 0, pairs(t)
	for tried := 0; tried < total; {
		list := w.list()
		config := httpproxy.Config{HTTPProxy: "http://proxy.example:3128", HTTPSProxy: "http://proxy.example:3128", NoProxy: list}
		oracle, compiled := config.ProxyFunc(), dialect.CompileGo(list)
		for range urlsPerList {
			u, err := url.Parse(w.one("http", "https") + "://" + w.host() + "/")
			if err != nil || u.Hostname() == "" {
				continue
			}
			proxy, err := oracle(u)
			if err != nil {
				t.Fatal(err)
			}
			tried++
			port := u.Port()
			if port == "" {
				port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
			}
			_, _, direct := compiled.Match(u.Hostname(), port)
			if direct != (proxy == nil) {
				t.Fatalf("%s with %q: direct is %t, for httpproxy %t", u, list, direct, proxy == nil)
			}
			if direct {
				directs++
			}
		}
	}
	if directs*20 < total || directs*20 > 19*total {
		t.Errorf("%d of %d pairs went direct: the generator has drifted", directs, total)
	}
	t.Logf("%d pairs, %d direct", total, directs)
}

// The deciding entry alone decides the same.
func TestTheDecidingEntryDecidesAlone(t *testing.T) {
	w := words{rand.New(rand.NewPCG(seed(t), 1))}
	for range 20_000 {
		list, host := w.list(), w.name()
		entry, reason, ok := dialect.CompileGo(list).Match(host, "443")
		if !ok || entry.Empty() {
			continue
		}
		if _, again, direct := dialect.CompileGo(entry.Of(list)).Match(host, "443"); !direct || again != reason {
			t.Fatalf("%q with %q is direct by %q (%s), but not with that alone (%s)", host, list, entry.Of(list), reason, again)
		}
	}
}

func manyEntries(n int) string {
	entries := make([]string, 0, n)
	for i := range n {
		switch i % 4 {
		case 0, 1:
			entries = append(entries, fmt.Sprintf("host-%d.example.com", i))
		case 2:
			entries = append(entries, fmt.Sprintf(".team-%d.example", i))
		case 3:
			entries = append(entries, fmt.Sprintf("10.%d.0.0/16", i))
		}
	}
	return strings.Join(entries, ",")
}

var benchHosts = []string{"a.team-198.example", "registry.example.org", "10.199.1.2", "192.0.2.1"}

func BenchmarkGoList(b *testing.B) {
	list := dialect.CompileGo(manyEntries(200))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		list.Match(benchHosts[i%len(benchHosts)], "443")
	}
}

func BenchmarkGoDecider(b *testing.B) {
	client, err := dialect.Find("go")
	if err != nil {
		b.Fatal(err)
	}
	decide := client.Newest().Read(dialect.Uniform("http://proxy.example:3128", "http://proxy.example:3128", manyEntries(200), ""))
	targets := benchTargets(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		decide(targets[i%len(targets)])
	}
}

// The yardstick: the same list and hosts.
func BenchmarkHTTPProxy(b *testing.B) {
	config := httpproxy.Config{HTTPProxy: "http://proxy.example:3128", HTTPSProxy: "http://proxy.example:3128", NoProxy: manyEntries(200)}
	proxy := config.ProxyFunc()
	var urls []*url.URL
	for _, host := range benchHosts {
		urls = append(urls, &url.URL{Scheme: "https", Host: host})
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := proxy(urls[i%len(urls)]); err != nil {
			b.Fatal(err)
		}
	}
}

func benchTargets(b *testing.B) []dialect.Target {
	b.Helper()
	var targets []dialect.Target
	for _, host := range benchHosts {
		target, err := dialect.ParseTarget("https://" + host)
		if err != nil {
			b.Fatal(err)
		}
		targets = append(targets, target)
	}
	return targets
}

// One decision of every client, for a list of 200 entries.
// httpx keeps its patterns in a dictionary; what it makes of n entries must not take n² here either.
func BenchmarkHttpxReads(b *testing.B) {
	httpx, err := dialect.Find("python-httpx")
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{1_000, 8_000} {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("h%d.example", i)
		}
		env := dialect.Uniform("http://p:1", "http://p:1", strings.Join(list, ","), "")
		b.Run(fmt.Sprintf("%d entries", n), func(b *testing.B) {
			for b.Loop() {
				httpx.Newest().Read(env)
			}
		})
	}
}

func BenchmarkAllClients(b *testing.B) {
	env := dialect.Uniform("http://proxy.example:3128", "http://proxy.example:3128", manyEntries(200), "*.example.com|10.*")
	for _, client := range dialect.Clients() {
		b.Run(client.Name, func(b *testing.B) {
			decide, targets := client.Newest().Read(env), benchTargets(b)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				decide(targets[i%len(targets)])
			}
		})
	}
}
