package lint

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// omitted returns findings about entries that are not written for every client. In a cluster with IPv6, leaving a
// network out can be a choice: the finding is then an Info.
func omitted(in Input) []Finding {
	var findings []Finding
	chosen := Finding{
		Code: Omitted, Severity: Info,
		Why:  "an IPv6 network makes some clients fail for every URL, so drop-ins alone have it: pods ask the proxy for addresses in it that are not listed",
		Mend: "use names, or list the addresses that matter; or set form Portable/v2, which writes it for pods, too, where none of these clients runs",
	}
	inNoForm := map[string]bool{}
	if in.Form != "" && len(in.Omitted) > 0 {
		inNoForm = spellings(noproxy.Write(in.Entries, noproxy.AudienceAny, noproxy.V2).Omitted)
	}
	for _, item := range in.Omitted {
		f := Finding{
			Code: Omitted, Severity: Warning, Entries: []Entry{entryOf(item)}, Why: "an IPv6 network makes some clients fail for every URL; drop-ins have it, pods and values do not",
			Mend: "use names; form Portable/v2 writes it nevertheless, on a cluster with IPv6 networks of its own",
		}
		switch {
		case item.Entry.Kind == noproxy.Addr:
			f.Why = "an IPv6 address with a port needs brackets, which make some clients fail for every URL; drop-ins have it, pods and values do not"
			f.Mend = "list the address without a port"
		case in.Cluster != nil && in.Cluster.HasIPv6() && !inNoForm[item.Entry.String()]:
			chosen.Entries = append(chosen.Entries, entryOf(item))
			continue
		case !slices.ContainsFunc(item.Sources, func(s noproxy.Source) bool { return s.Layer != noproxy.LayerProvider }):
			f.Severity, f.Mend = Info, "" // nobody wrote it, and a cluster without IPv6 networks of its own does not need it
		}
		findings = append(findings, f)
	}
	if len(chosen.Entries) > 0 {
		findings = append(findings, chosen)
	}
	return findings
}

// LeftOut returns the IPv6 networks of a cluster that a list as it stands does not have, as a list in form Portable/v3 does not: what
// matters in them is listed. A list for Go alone has them.
func LeftOut(in Input, cluster resolve.Cluster) noproxy.List {
	other := func(item noproxy.Item) bool { return isIPv6Network(entryOf(item)) } // a list of another form
	if !in.forAll() || slices.ContainsFunc(in.Entries, other) {
		return nil
	}
	list := dialect.CompileGo(in.Any)
	var left noproxy.List
	for _, network := range ownNetworks(cluster) {
		writing := noproxy.Write(noproxy.List{network}, noproxy.AudienceAny, noproxy.V3)
		lacks := func(item noproxy.Item) bool { return !covers(list, item.Entry.String()) }
		if len(writing.Omitted) > 0 && !covers(list, within(network.Entry.String())) && !slices.ContainsFunc(writing.Written, lacks) {
			left = append(left, network)
		}
	}
	return left
}

func ownNetworks(c resolve.Cluster) noproxy.List {
	var all noproxy.List
	add := func(layer noproxy.Layer, field string, cidrs []string) {
		for i, cidr := range cidrs {
			if entry, err := noproxy.Parse(cidr); err == nil && entry.Kind == noproxy.CIDR {
				source := noproxy.Source{Layer: layer, Object: c.Object(), Field: fmt.Sprintf("%s[%d]", field, i)}
				all = append(all, noproxy.Item{Entry: entry, Sources: []noproxy.Source{source}})
			}
		}
	}
	add(noproxy.LayerServiceCIDR, "spec.clusterNetwork.services.cidrBlocks", c.ServiceCIDRs)
	add(noproxy.LayerPodCIDR, "spec.clusterNetwork.pods.cidrBlocks", c.PodCIDRs)
	return all
}

// leftOut reports whether an address is in a network that is not written on purpose.
func leftOut(omitted noproxy.List, host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && slices.ContainsFunc(omitted, func(item noproxy.Item) bool {
		return item.Entry.Kind == noproxy.CIDR && item.Entry.Prefix.Contains(addr)
	})
}

// mendOf returns what covers a service network: of an IPv6 one, in a list as it stands that is for any client, the addresses that matter.
func mendOf(in Input, cidr string) string {
	entry, err := noproxy.Parse(cidr)
	if err != nil || !in.forAll() {
		return cidr
	}
	service := noproxy.Item{Entry: entry, Sources: []noproxy.Source{{Layer: noproxy.LayerServiceCIDR}}}
	if writing := noproxy.Write(noproxy.List{service}, noproxy.AudienceAny, noproxy.V3); len(writing.Omitted) > 0 {
		return cmp.Or(writing.Written.String(), cidr)
	}
	return cidr
}

// forAll reports whether this is a list as it stands that every client reads, and not Go alone, which has no trouble with IPv6
// networks.
func (in Input) forAll() bool {
	return in.Form == "" && in.Audience != noproxy.AudienceGo
}
