package noproxy

import (
	"cmp"
	"net/netip"
	"slices"
)

// Portable writes a merged list for an audience in the forms Portable; the
// package comment has its rules. What cannot be written for the audience comes
// back as omitted. The result depends neither on the order of the list nor on
// whether it has been through Portable before.
func Portable(list List, audience Audience) (written, omitted List) {
	w := Write(list, audience, V1)
	return w.Written, w.Omitted
}

// Write writes a merged list for an audience in a portable form.
func Write(list List, audience Audience, version Version) Writing {
	w := writer{audience: audience, ipv6: hasIPv6Network(list), networks: audience == AudienceGo || version < V3}
	w.all(list)
	if len(w.written.String()) <= Budget {
		return Writing{Written: w.written, Omitted: w.omitted}
	}
	w.lean = true
	w.omitted = nil
	w.all(list)
	if version >= V2 {
		w.kept = w.affordable(list)
		w.omitted = nil
		w.all(list)
	}
	return Writing{w.written, w.omitted, w.left(list)}
}

// hasIPv6Network reports whether the cluster itself is IPv6 or dual-stack.
func hasIPv6Network(list List) bool {
	return slices.ContainsFunc(list, func(item Item) bool {
		return item.Entry.Prefix.Addr().Is6() && item.Entry.Port == 0 && (item.from(LayerServiceCIDR) || item.from(LayerPodCIDR))
	})
}

func (i Item) from(layers ...Layer) bool {
	return slices.ContainsFunc(i.Sources, func(s Source) bool { return slices.Contains(layers, s.Layer) })
}

type writer struct {
	audience         Audience
	ipv6             bool            // the cluster has such networks
	networks         bool            // of IPv6 are written
	lean             bool            // the list is over the budget: add nothing
	kept             map[string]bool // but for these entries
	written, omitted List
}

func (w *writer) all(list List) {
	w.written = make(List, 0, 2*len(list)) // most entries are written in two ways
	for _, item := range list {
		w.write(item)
	}
	w.written = Merge(w.written)
	slices.SortFunc(w.written, func(a, b Item) int { return compareEntries(a.Entry, b.Entry) })
}

func (w *writer) add(item Item, entry Entry) {
	w.written = append(w.written, Item{entry, item.Sources})
}

func (w *writer) write(item Item) {
	switch e := item.Entry; e.Kind {
	case Domain:
		w.domain(item)
	case Subdomains:
		w.below(item, isClusterSuffix(item))
	case Addr:
		// Brackets, which a port needs, break some clients for every URL.
		if w.audience == AudienceAny && e.Port != 0 && e.Prefix.Addr().Is6() {
			w.omitted = append(w.omitted, item)
			return
		}
		w.add(item, e)
	case CIDR:
		w.network(item)
	default: // Host, All
		w.add(item, e)
	}
}

// domain writes "d" for the name and ".d" for those below it: no spelling means
// both to every client. Nobody is called svc or cluster.local itself, and the
// bare names would match the ends of others in some clients.
func (w *writer) domain(item Item) {
	suffix := isClusterSuffix(item)
	if !suffix || item.from(LayerInstallation, LayerCluster, LayerProvider) {
		w.add(item, item.Entry)
	}
	if suffix {
		w.below(item, suffix)
	}
	w.afford(item)
}

// below writes ".d", and ".d." where names with a final dot are in use: Flux
// spells its artifact URLs so, and Go does not strip the dot.
func (w *writer) below(item Item, rootedToo bool) {
	e := item.Entry
	e.Kind = Subdomains
	w.add(item, e)
	if rootedToo {
		e.Rooted = true
		w.add(item, e)
	}
}

// isClusterSuffix reports whether the entry covers the names of a cluster's
// services.
func isClusterSuffix(item Item) bool {
	return item.Entry.Port == 0 && (item.from(LayerServiceDomain) || item.Entry.Name == serviceSuffix && item.from(LayerBuiltin))
}

const serviceSuffix = "svc"

// network writes the network, and beside it the addresses in it that matter to
// every pod: many clients read no networks.
func (w *writer) network(item Item) {
	p := item.Entry.Prefix
	if w.audience == AudienceAny && p.Addr().Is6() && !w.ipv6 {
		w.omitted = append(w.omitted, item)
		return
	}
	if p.Addr().Is4() || w.networks {
		w.add(item, item.Entry)
	} else {
		w.omitted = append(w.omitted, item)
	}
	if item.from(LayerServiceCIDR) {
		w.addr(item, nth(p, apiServerAddress))
		w.addr(item, nth(p, clusterDNSAddress))
	}
	for _, metadata := range metadataAddresses {
		if p.Contains(metadata) {
			w.addr(item, metadata)
		}
	}
	w.afford(item)
}

// Which addresses of a service network are taken: the first is the Service
// kubernetes (kubernetes/kubernetes, pkg/controlplane/services.go), the tenth
// the cluster's DNS (cmd/kubeadm/app/constants/constants.go, GetDNSIP).
const (
	apiServerAddress  = 1
	clusterDNSAddress = 10
)

// listedFrom is the prefix length from which an IPv4 network is small enough to
// list its addresses.
const listedFrom = 28

// metadataAddresses are where clouds serve a machine's metadata.
var metadataAddresses = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"),
	netip.MustParseAddr("fd00:ec2::254"), // AWS
}

func (w *writer) addr(item Item, addr netip.Addr) {
	if item.Entry.Prefix.Contains(addr) {
		w.add(item, addrOf(addr))
	}
}

func addrOf(addr netip.Addr) Entry {
	return Entry{Kind: Addr, Prefix: netip.PrefixFrom(addr, addr.BitLen())}
}

func nth(p netip.Prefix, n int) netip.Addr {
	addr := p.Addr()
	for range n {
		addr = addr.Next()
	}
	return addr
}

// compareEntries sorts "*", then networks and addresses, then names, so that a
// list changes only where its meaning does.
func compareEntries(a, b Entry) int {
	return cmp.Or(
		cmp.Compare(group(a), group(b)),
		cmp.Compare(a.Prefix.Addr().BitLen(), b.Prefix.Addr().BitLen()),
		a.Prefix.Addr().Compare(b.Prefix.Addr()),
		cmp.Compare(a.Prefix.Bits(), b.Prefix.Bits()),
		cmp.Compare(a.Name, b.Name),
		compareBools(a.Rooted, b.Rooted),
		compareBools(a.Kind == Subdomains, b.Kind == Subdomains),
		cmp.Compare(a.Port, b.Port),
	)
}

// compareBools sorts false first.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func group(e Entry) int {
	switch e.Kind {
	case All:
		return 0
	case Addr, CIDR:
		return 1
	}
	return 2
}
