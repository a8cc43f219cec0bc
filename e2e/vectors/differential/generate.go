// Package differential asks a client questions that nobody thought of, and
// compares the answers with its dialect. Nothing of it gets into the table.
package differential

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/fairlead-io/fairlead/e2e/vectors/table"
)

// Generate makes a question. About half of the lists match their URL.
func Generate(random *rand.Rand) table.Row {
	g := generator{random}
	host := g.host()
	port := g.one("", "", "", ":80", ":443", ":8080")
	url := g.one("http", "http", "https") + "://" + host + port + "/"
	var list strings.Builder
	list.WriteString(g.rarely(g.blank()))
	for i := range 1 + random.IntN(4) {
		if i > 0 {
			list.WriteString(g.separator())
		}
		list.WriteString(g.entry(host, port))
	}
	list.WriteString(g.rarely(g.blank()))
	text, _ := json.Marshal(list.String()) // text can be marshalled
	return table.Row{NoProxy: text, URL: url}
}

type generator struct{ *rand.Rand }

func (g generator) one(choices ...string) string { return choices[g.IntN(len(choices))] }

func (g generator) percent(n int) bool { return g.IntN(100) < n }

// rarely returns the text in one of ten cases.
func (g generator) rarely(text string) string {
	if g.percent(10) {
		return text
	}
	return ""
}

// The lab's address for names is in none of the networks that can be made of
// these, because what Ruby resolves is not in the question.
var (
	addresses  = []string{"10.1.2.3", "10.1.2.4", "10.2.0.1", "110.1.2.3", "172.16.5.6", "192.168.1.1", "127.0.0.1"}
	addresses6 = []string{"fd00::1", "fd00::2", "fd00:1::1", "::1"}
	labels     = []string{"a", "b", "x", "svc", "ns", "example", "xexample", "test", "local", "cluster", "my_host", "c-d"}
)

func (g generator) host() string {
	switch {
	case g.percent(25):
		return g.one(addresses...)
	case g.percent(12):
		return "[" + g.one(addresses6...) + "]"
	case g.percent(4):
		return g.one("localhost", "LOCALHOST", "foo.localhost")
	}
	return g.recased(g.name()) + g.rarely(".")
}

func (g generator) name() string {
	name := g.one("test", "local", "svc", "example")
	for range g.IntN(4) {
		name = g.one(labels...) + "." + name
	}
	return name
}

func (g generator) recased(text string) string {
	if at := g.IntN(20); at == 0 {
		return strings.ToUpper(text)
	} else if at < len(text) && g.percent(10) {
		return text[:at] + strings.ToUpper(text[at:at+1]) + text[at+1:]
	}
	return text
}

func (g generator) blank() string { return g.one(" ", "  ", "\t", "\n") }

func (g generator) separator() string {
	if g.percent(75) {
		return ","
	}
	return g.one(", ", " ,", ",,", " ", "\t", ",\n", "\n", ";", "|", " , ", ", ,")
}

// entry makes one that has to do with the host, or not.
func (g generator) entry(host, port string) string {
	switch {
	case g.percent(15):
		return g.junk()
	case g.percent(30):
		return g.about(strings.TrimSuffix(strings.Trim(g.host(), "[]"), "."), g.one("", ":80", ":8080"))
	}
	return g.about(strings.Trim(host, "[]"), port)
}

// about makes an entry of a host: a part of it, or something around it.
func (g generator) about(host, port string) string {
	if strings.Contains(host, ":") {
		return g.aboutIPv6(host, port)
	}
	part := host
	if at := strings.IndexByte(host, '.'); at >= 0 && g.percent(35) {
		part = host[at+1:] // the parent
	} else if g.percent(5) {
		part = host[g.IntN(len(host)):]
	}
	if isAddress(host) && g.percent(30) {
		return fmt.Sprintf("%s/%d%s", host, 8+g.IntN(26), g.rarely(port))
	}
	entry := g.recased(part)
	if g.percent(30) {
		entry = "." + entry
	} else if g.percent(10) {
		entry = g.one("*.", "*", "..", "**.", "-", "x") + entry
	}
	if g.percent(6) {
		entry += "."
	}
	if g.percent(25) {
		entry += port
	}
	if g.percent(5) {
		entry += g.one(":", ":*", ":8080", "/", "/8", " ", ".*")
	}
	return entry
}

func (g generator) aboutIPv6(host, port string) string {
	switch g.IntN(5) {
	case 0:
		return "[" + host + "]" + g.rarely(port)
	case 1:
		return fmt.Sprintf("%s/%d", host, 8+g.IntN(122))
	case 2:
		return strings.ToUpper(host)
	case 3:
		return strings.Replace(host, "::", ":0::", 1)
	}
	return host
}

func isAddress(host string) bool { return strings.Trim(host, "0123456789.") == "" }

func (g generator) junk() string {
	return g.one("", " ", ".", "*", "*", "**", "*.*", "..", ":", "/", "-", "10", "10.", "1.2.3", "10.*", "10/8", "10.0.0.0/33",
		"10.1.2.3-10.1.2.9", "[", "]", "[]", "::", "fd00::/8", "http://example.test", "a b", "%", "\"", "'*'", "<local>", "é.test", "test", "*.test", ".test")
}
