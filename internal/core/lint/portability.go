package lint

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// perClass bounds how many entries of one class are asked about. Clients tell
// classes of entries apart, not entries; and a long list has many of each.
const perClass = 8

// Portability asks every client about the requests that the entries imply.
func Portability(in Input) []Finding {
	written, _ := noproxy.ParseList(in.Any, noproxy.Source{}) // what cannot be read is in Refusals
	if len(written) == 0 {
		return nil
	}
	all := in.readers(written)
	found := map[Code]*deviation{}
	left := spellings(in.Left)
	meant := dialect.CompileGo(in.Entries.String())
	for _, item := range sample(remaining(in), left) {
		for _, p := range probes(item.Entry, written) {
			if left[item.Entry.String()] && (p.code == Unmatched || p.code == NetworkMembers) {
				p.code = Budget
			}
			target, err := dialect.ParseTarget(p.url)
			if err != nil {
				continue // a name that can stand in no URL
			}
			if _, _, ok := meant.Match(target.Host, target.EffectivePort()); ok && !p.direct {
				continue // by another entry
			}
			for _, r := range all {
				in.note(found, item, p, r, r.decide(target))
			}
		}
	}
	var findings []Finding
	for _, text := range texts {
		if d := found[text.code]; d != nil {
			findings = append(findings, d.finding(text, in.Form != ""))
		}
	}
	// All entries for which there was no room, not only those that clients were asked about.
	if at := slices.IndexFunc(findings, func(f Finding) bool { return f.Code == Budget }); at >= 0 {
		findings[at].Entries = nil
		for _, item := range in.Left {
			findings[at].Entries = append(findings[at].Entries, entryOf(item))
		}
	}
	return findings
}

// readers returns the clients that the list is for.
func (in Input) readers(written noproxy.List) []reader {
	all := readers(in.Any, written, in.Today)
	if in.Audience != noproxy.AudienceGo {
		return all
	}
	return slices.DeleteFunc(all, func(r reader) bool { return r.choice.Client.Name != "go" })
}

// remaining returns the entries that the list is to express at all.
func remaining(in Input) noproxy.List {
	omitted := spellings(in.Omitted)
	return slices.DeleteFunc(slices.Clone(in.Entries), func(item noproxy.Item) bool { return omitted[item.Entry.String()] })
}

func spellings(list noproxy.List) map[string]bool {
	has := make(map[string]bool, len(list))
	for _, text := range list.Texts() {
		has[text] = true
	}
	return has
}

// sample takes the first entries of each class.
func sample(list noproxy.List, left map[string]bool) noproxy.List {
	taken := map[string]int{}
	var some noproxy.List
	for _, item := range list {
		e := item.Entry
		class := fmt.Sprint(e.Kind, e.Prefix.Addr().BitLen(), e.Port != 0, e.Rooted, strings.Contains(e.Name, "."), left[e.String()])
		if taken[class]++; taken[class] <= perClass {
			some = append(some, item)
		}
	}
	return some
}

// deviation has the clients that decide otherwise than meant, and the entries that cause it.
type deviation struct {
	entries []Entry // all of them
	today   []Entry // those on account of which a client does as of its newest behaviour
	clients affected
}

func (in Input) note(found map[Code]*deviation, item noproxy.Item, p probe, r reader, d dialect.Decision) {
	code := p.code
	switch {
	case d.Route == dialect.Fails:
		code = Breaks
		if !fails(r.choice, in.spelling(item.Entry.String()), p.url) {
			return // another entry is to blame
		}
	case (d.Route == dialect.Direct) == p.direct:
		return
	case isCluster(item) && code == Apex, isCluster(item) && p.url == "http://"+item.Entry.Name+"/":
		return // nobody is called svc or cluster.local
	}
	if found[code] == nil {
		found[code] = &deviation{clients: affected{}}
	}
	f := found[code]
	f.entries = appendNew(f.entries, entryOf(item))
	if r.choice.Since == r.choice.Client.Newest().Since {
		f.today = appendNew(f.today, entryOf(item))
	}
	f.clients.add(r.choice)
}

// appendNew appends an entry unless it is there already.
func appendNew(entries []Entry, entry Entry) []Entry {
	if slices.Contains(entries, entry) {
		return entries
	}
	return append(entries, entry)
}

func (in Input) spelling(text string) string { return cmp.Or(in.Spelled[text], text) }

func fails(choice dialect.Choice, entry, url string) bool {
	target, err := dialect.ParseTarget(url)
	return err == nil && choice.Read(dialect.Uniform(anyProxy, anyProxy, entry, ""))(target).Route == dialect.Fails
}

func isCluster(item noproxy.Item) bool {
	return slices.ContainsFunc(item.Sources, func(s noproxy.Source) bool {
		return s.Layer == noproxy.LayerServiceDomain || s.Layer == noproxy.LayerBuiltin
	})
}

// finding is no more than Info if only releases are affected that later ones
// have superseded. A list that Fairlead writes has a form.
func (d *deviation) finding(text text, hasForm bool) Finding {
	entries := d.today
	if len(d.today) == 0 {
		text.severity, entries = Info, d.entries
	}
	if text.code == Breaks && slices.ContainsFunc(entries, isIPv6Network) {
		if text.mend = "list the addresses that matter in place of the network, as form Portable/v3 does, or use names"; hasForm {
			text.mend = "set form Portable/v3, which keeps IPv6 networks in the drop-ins of nodes and out of what pods read"
		}
	}
	return Finding{Code: text.code, Severity: text.severity, Entries: entries, Why: text.why, Mend: text.mend, Clients: d.clients.names()}
}

func isIPv6Network(e Entry) bool {
	prefix, err := netip.ParsePrefix(e.Value)
	return err == nil && prefix.Addr().Is6()
}

// affected are clients in one of their behaviours, by name and first version.
type affected map[[2]string]bool

func (a affected) add(choice dialect.Choice) { a[[2]string{choice.Client.Name, choice.Since}] = true }

// names names each client, with the versions if not all of its behaviours are affected.
func (a affected) names() []string {
	var names []string
	for _, client := range dialect.Clients() {
		for i := 0; i < len(client.Behaviours); i++ {
			first := i
			for i < len(client.Behaviours) && a[[2]string{client.Name, client.Behaviours[i].Since}] {
				i++
			}
			if i > first {
				names = append(names, client.Between(first, i-1))
			}
		}
	}
	return names
}

// text is the wording of a finding, the same for every entry.
type text struct {
	code      Code
	severity  Severity
	why, mend string
}

// texts are in the order of the findings of one severity.
var texts = []text{
	{
		Breaks, Error, "makes these clients fail for every URL, not only for those that match",
		"leave the entry out of what pods read; the drop-ins of nodes may have it",
	},
	{
		Budget, Warning, fmt.Sprintf("the list would have more than its budget of %d bytes with what these clients need beside such entries: "+
			"a domain with a leading dot, the addresses of a small network; it is left out, and they use the proxy", noproxy.Budget),
		"list domains instead of hosts, and networks instead of addresses, until the list is shorter",
	},
	{
		Unmatched, Warning, "these clients use the proxy for hosts that the entry should cover",
		"list the domain and the domain with a leading dot, as form Portable does",
	},
	{
		IPv6Network, Warning, "these clients do not read IPv6 networks, and use the proxy for the addresses in them",
		"use names, or list the addresses that matter",
	},
	{
		Port, Warning, "these clients ignore an entry with a port, or read the port differently",
		"list the host without a port",
	},
	{
		Wildcard, Warning, "these clients ignore the wildcard, and use the proxy for everything",
		"set no proxy at all where none is wanted",
	},
	{
		IPv6Address, Info, "these clients do not read a bare IPv6 address, and others do not read one in brackets",
		"reach the host by a name",
	},
	{
		NetworkMembers, Info, "these clients do not read such networks, and use the proxy for addresses in them that are not listed",
		"use names, or list the addresses that matter beside the network",
	},
	{
		FinalDot, Info, "these clients do not ignore the final dot of a name, and use the proxy for it",
		"list the name with the final dot as well, where URLs have one",
	},
	{
		OverMatch, Info, "these clients compare the end of the host only, and go direct to others, such as xexample.com for example.com",
		"for a domain, list .example.com alone where the domain itself is not needed",
	},
	{
		Apex, Info, "in these clients an entry with a leading dot covers the domain itself, too",
		"",
	},
}
