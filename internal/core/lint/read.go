package lint

import (
	"errors"
	"regexp"
	"strings"
	"sync"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// Read returns the input for a list as somebody wrote it. What cannot be read, and
// what clients cut at different places, is found here; the rest is meant as
// Fairlead reads it. The source gets the position of each entry. Of a list with
// user information in it, that is all that is found: any entry may be a part of
// a password.
func Read(list string, source noproxy.Source) Input {
	if strings.TrimSpace(list) == "" {
		return Input{Any: list, Empty: true}
	}
	in := Input{Any: list, Spelled: map[string]string{}}
	elements := noproxy.Cut(list, source)
	if refused := noproxy.WholeList(elements); refused != nil {
		return Input{Hidden: true, Refusals: []Finding{unreadable("", refused.Refusal, refused.Source, false)}}
	}
	var parts []noproxy.List
	for _, element := range elements {
		where := []Entry{shown(element)}
		if element.Text == "" {
			in.Refusals = append(in.Refusals, Finding{
				Code: EmptyElement, Severity: Error, Entries: where, Mend: "remove the extra comma",
				Why: "an empty element means every host to these clients", Clients: openedByEmpty(),
			})
			continue
		}
		if element.Text != list[element.Start:element.End] {
			in.Refusals = append(in.Refusals, Finding{
				Code: Blank, Severity: Warning, Entries: where, Mend: "separate entries with a comma and nothing else",
				Why: "white space around it hides it from these clients", Clients: hiddenByBlanks(),
			})
		}
		entry, err := noproxy.Parse(element.Text)
		var refusal *noproxy.Refusal
		if errors.As(err, &refusal) {
			in.Refusals = append(in.Refusals, unreadable(element.Text, refusal, element.Source, len(in.Refusals) < askedTokens))
			continue
		}
		if text := entry.String(); text != element.Text {
			in.Spelled[text] = element.Text
		}
		if resolve.NamesAPIServer(entry) {
			entry.Kind = noproxy.Host
		}
		parts = append(parts, noproxy.List{{Entry: entry, Sources: []noproxy.Source{element.Source}}})
	}
	in.Entries = noproxy.Merge(parts...)
	return in
}

// shown returns an element that need not be an entry.
func shown(element noproxy.Element) Entry {
	return entryAt(noproxy.Refuse(element.Text, "", "").Value, element.Source)
}

// ReadProxy returns the proxy of a URL as somebody wrote it, or adds to the refusals why it is none.
func (in *Input) ReadProxy(field, text string) proxyurl.URL {
	u, err := proxyurl.Parse(text)
	if err != nil {
		in.Refusals = append(in.Refusals, Finding{Code: ProxyURL, Severity: Error, Why: field + ": " + err.Error()})
	}
	return u
}

// openedByEmpty names the clients to which an empty element means every host.
var openedByEmpty = sync.OnceValue(func() []string {
	clients := affected{}
	target, _ := dialect.ParseTarget("http://any.example/")
	for _, r := range readers("a.invalid,,b.invalid", nil, false) {
		if r.decide(target).Route == dialect.Direct {
			clients.add(r.choice)
		}
	}
	return clients.names()
})

// hiddenByBlanks names the clients that miss an entry with white space around it.
var hiddenByBlanks = sync.OnceValue(func() []string {
	clients := affected{}
	target, _ := dialect.ParseTarget("http://a.example/")
	plain := readers("b.example,a.example,c.example", nil, false)
	for _, list := range []string{"b.example, a.example,c.example", "b.example,a.example ,c.example", "b.example,\na.example,c.example"} {
		for i, r := range readers(list, nil, false) {
			if plain[i].decide(target).Route == dialect.Direct && r.decide(target).Route != dialect.Direct {
				clients.add(r.choice)
			}
		}
	}
	return clients.names()
})

// askedTokens bounds how many findings there are before clients are no longer
// asked about unreadable tokens: a file that is no list at all has thousands.
const askedTokens = 200

func unreadable(token string, refusal *noproxy.Refusal, at noproxy.Source, ask bool) Finding {
	f := Finding{
		Code: Unreadable, Severity: Error, Why: refusal.Detail, Mend: "correct or remove it",
		Entries: []Entry{entryAt(refusal.Value, at)},
	}
	if !ask {
		return f
	}
	f.Why += "; no client is known to read it"
	if f.Clients = understoodBy(token); len(f.Clients) > 0 {
		f.Why = refusal.Detail + "; only these clients make something of it"
	}
	return f
}

// hostLike finds what may have been meant as a host.
var hostLike = regexp.MustCompile(`[\pL\pN_*][\pL\pN_.*-]*`)

// listless are the clients without a list.
var listless = sync.OnceValue(func() []reader { return readers("", nil, false) })

// understoodBy names the clients that go direct to a host which the token might
// mean, and would not without it.
func understoodBy(token string) []string {
	clients := affected{}
	with, without := readers(token, nil, false), listless()
	for _, host := range hostLike.FindAllString(token, 4) {
		target, err := dialect.ParseTarget("http://" + strings.Trim(strings.ReplaceAll(host, "*", "7"), ".") + "/")
		if err != nil {
			continue
		}
		for i, r := range with {
			if r.decide(target).Route == dialect.Direct && without[i].decide(target).Route == dialect.Proxy {
				clients.add(r.choice)
			}
		}
	}
	return clients.names()
}
