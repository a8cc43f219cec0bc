package importing

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// Import is the result of joining settings: the objects are made from it.
type Import struct {
	HTTP, HTTPS URL
	NoProxy     []Kept // for all clusters
	Own         []Own  // for one cluster alone
	CA          CA
	Lines       []Line
}

// Own has the entries of a single cluster.
type Own struct {
	Namespace, Name string
	NoProxy         []Kept
}

// Kept is an entry that is imported.
type Kept struct {
	Entry noproxy.Entry
	Place Place
	line  int // of the report
}

// Join makes one import of several settings. Entries that every cluster has are for all; where the files do not say for which
// cluster settings are, all entries are for all. Clusters are those of the fleet, whose own networks Fairlead derives; there may
// be none. Settings of two proxies are an error.
func Join(all []Settings, clusters []*clusterv1.Cluster) (Import, error) {
	var joined Import
	var kept [][]Kept
	each := len(all) > 1
	for i, s := range all {
		if err := joined.addURLs(s); err != nil {
			return Import{}, err
		}
		joined.Lines = append(joined.Lines, s.Lines...)
		entries, err := joined.keep(s, Clusters(all[i:i+1], clusters))
		if err != nil {
			return Import{}, err
		}
		each = each && s.Cluster != nil
		kept = append(kept, entries)
	}
	joined.share(all, kept, each)
	slices.SortStableFunc(joined.Lines, func(a, b Line) int {
		if a.Place.File != b.Place.File {
			return 0 // in the order of the files
		}
		return a.Place.Line - b.Place.Line
	})
	return joined, joined.checkSize()
}

// What the API takes: maxItems of spec.noProxy.
const (
	mostForAll = 4096
	mostForOne = 1024
)

func (i Import) checkSize() error {
	const format = "%s: spec.noProxy has %d entries: the API takes %d at most"
	if n := len(i.NoProxy); n > mostForAll {
		return fmt.Errorf(format, "the CorporateProxy", n, mostForAll)
	}
	for _, own := range i.Own {
		if n := len(own.NoProxy); n > mostForOne {
			return fmt.Errorf(format, "ProxyOverride "+own.Namespace+"/"+own.Name, n, mostForOne)
		}
	}
	return nil
}

// Clusters returns the clusters that settings are for. A cluster that a file describes is taken from the fleet if it is
// there. Settings without a cluster are for the whole fleet.
func Clusters(all []Settings, fleet []*clusterv1.Cluster) []*clusterv1.Cluster {
	var found []*clusterv1.Cluster
	for _, s := range all {
		if s.Cluster == nil {
			return fleet
		}
		at := slices.IndexFunc(fleet, func(c *clusterv1.Cluster) bool { return c.Namespace == s.Cluster.Namespace && c.Name == s.Cluster.Name })
		if at < 0 {
			found = append(found, s.Cluster)
		} else {
			found = append(found, fleet[at])
		}
	}
	return found
}

func (i *Import) addURLs(s Settings) error {
	for _, pair := range []struct{ into, from *URL }{{&i.HTTP, &s.HTTP}, {&i.HTTPS, &s.HTTPS}} {
		if pair.into.Place == (Place{}) {
			*pair.into = *pair.from
			if pair.from.IsZero() {
				pair.into.Place = s.Place
			}
			continue
		}
		if !pair.into.Equal(pair.from.URL) {
			return cmp.Or(pair.from.Place, s.Place).errorf("another proxy, or other credentials, than in %s: import each proxy by itself, with a --name of its own", pair.into.Place)
		}
	}
	switch {
	case len(s.CA.PEM) == 0 && s.CA.Name == "":
	case len(i.CA.PEM) == 0 && i.CA.Name == "":
		i.CA = s.CA
	case i.CA.Name != s.CA.Name || !slices.Equal(i.CA.PEM, s.CA.PEM):
		return s.Place.errorf("other certificates than in another file: import each by itself, with a --name of its own")
	}
	return nil
}

// share says which entries are for all clusters.
func (i *Import) share(all []Settings, kept [][]Kept, each bool) {
	has := func(entries []Kept, e noproxy.Entry) bool {
		return slices.ContainsFunc(entries, func(k Kept) bool { return k.Entry == e })
	}
	for n, entries := range kept {
		var own []Kept
		for _, k := range entries {
			everywhere := !slices.ContainsFunc(kept, func(others []Kept) bool { return !has(others, k.Entry) })
			switch {
			case each && !everywhere && noproxy.TooBroad(k.Entry) != "": // for all, it would be one of other clusters, too
				i.Lines[k.line].Verdict = NotSupported
				i.Lines[k.line].Text += ": a ProxyOverride may not have it unless delegation.noProxy is Any: it " + noproxy.TooBroad(k.Entry)
			case each && !everywhere:
				if !has(own, k.Entry) {
					own = append(own, k)
				}
			case !has(i.NoProxy, k.Entry):
				i.NoProxy = append(i.NoProxy, k)
			}
		}
		if len(own) > 0 {
			i.Own = append(i.Own, Own{all[n].Cluster.Namespace, all[n].Cluster.Name, own})
		}
	}
}

// keep parses the entries, and leaves out what Fairlead derives for each of the clusters, or for any where none is known.
func (i *Import) keep(s Settings, clusters []*clusterv1.Cluster) ([]Kept, error) {
	for _, list := range [][]Entry{s.NoProxy, s.Effective} {
		if at, refusal := noproxy.Whole(textsOf(list)); refusal != nil {
			return nil, list[at].Place.errorf("%w", refusal)
		}
	}
	derived, err := derivedOf(clusters)
	if err != nil {
		return nil, err
	}
	var all []Kept
	for _, e := range s.NoProxy {
		entry, err := noproxy.Parse(e.Text)
		line := Line{e.Place, Understood, e.Text}
		var refusal *noproxy.Refusal
		switch {
		case errors.As(err, &refusal):
			line.Verdict, line.Text = NotSupported, refusal.Error()
		case isDerived(entry, derived):
			line.Text += ", which Fairlead derives: left out"
		default:
			if written := entry.String(); written != e.Text {
				line.Text += ", written as " + written
			}
			all = append(all, Kept{entry, e.Place, len(i.Lines)})
		}
		i.Lines = append(i.Lines, line)
	}
	return all, nil
}

// derivedOf returns the entries that each cluster has without anybody's, whichever form Portable it keeps.
func derivedOf(clusters []*clusterv1.Cluster) ([]noproxy.List, error) {
	some := []resolve.Cluster{{Namespace: "any", Name: "any"}}
	if len(clusters) > 0 {
		some = nil
		for _, c := range clusters {
			some = append(some, inputs.Cluster(c))
		}
	}
	proxy, err := proxyurl.Parse("http://proxy.invalid:1")
	if err != nil {
		return nil, err
	}
	var all []noproxy.List
	for _, c := range some {
		if c.EndpointHost == "" {
			c.EndpointHost = "endpoint.invalid"
		}
		e, err := resolve.Resolve(resolve.Input{Installation: resolve.Installation{HTTP: proxy, Form: resolve.FormPortable}, Cluster: c})
		if err != nil {
			return nil, err
		}
		all = append(all, slices.Concat(e.Entries, e.NoProxy.Any, e.NoProxy.Go))
	}
	return all, nil
}

func isDerived(e noproxy.Entry, each []noproxy.List) bool {
	return !slices.ContainsFunc(each, func(list noproxy.List) bool {
		return !slices.ContainsFunc(list, func(item noproxy.Item) bool { return covers(item.Entry, e) })
	})
}

// covers reports whether an entry means everything that e means. A network covers only the same network: clients that
// read no networks need the addresses in it.
func covers(by, e noproxy.Entry) bool {
	if by.Port != 0 && by.Port != e.Port || by.Rooted != e.Rooted {
		return false
	}
	switch by.Kind {
	case noproxy.Addr, noproxy.CIDR:
		return e.Kind == by.Kind && e.Prefix == by.Prefix
	case noproxy.Host:
		return (e.Kind == noproxy.Domain || e.Kind == noproxy.Host) && e.Name == by.Name
	case noproxy.Domain:
		return e.Name != "" && (e.Name == by.Name || strings.HasSuffix(e.Name, "."+by.Name))
	case noproxy.Subdomains:
		return e.Kind == noproxy.Subdomains && e.Name == by.Name || strings.HasSuffix(e.Name, "."+by.Name)
	}
	return by.Kind == noproxy.All
}
