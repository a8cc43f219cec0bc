package lint

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/provider"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// ProviderAddress is the host or URL of the API that makes a cluster's machines, and where it was read.
type ProviderAddress struct {
	Name, Address string
	Object, Field string
}

// nodes says that the machines' network is not listed: their kubelets, and the pods of the host network, are then asked
// through the proxy. No object says it for every provider, so it is found by what somebody has listed.
func nodes(in Input) []Finding {
	if in.Cluster == nil || in.Cluster.Infrastructure.Kind == "" {
		return nil
	}
	if findings, ok := toldNodes(in); ok {
		return findings
	}
	if in.Facts && awaited(*in.Cluster) || listsNodes(in) {
		return nil
	}
	kind := in.Cluster.Infrastructure.Kind
	why := "no network of the list can be that of the nodes: " + kind + " does not say it, and Fairlead adds none"
	if api, ok := provider.APIOf(in.Cluster.Infrastructure.Group, kind); ok {
		why += fmt.Sprintf("; nor is the %s (%s) in it by itself", api.Name, api.Path)
	}
	if !in.Facts {
		why = "no network of the list can be that of the nodes, and this list gets none from " + kind
	}
	severity := Warning
	if in.forAll() && !in.Cluster.HasIPv4() {
		severity, why = Info, "no network of the list can be that of the nodes, and in a list for every client an IPv6 network breaks some"
	}
	if others(in, anonymous) {
		severity, why = Info, "no network of the list contains the endpoint "+in.Cluster.EndpointHost+"; whether one is that of the nodes cannot be told"
	}
	return []Finding{{
		Code: MissingNodes, Severity: severity, Why: why,
		Mend: "list it in spec.noProxy of a CorporateProxy that selects such clusters by label or namespace, or of the cluster's ProxyOverride (docs/how-to/node-network.md)",
	}}
}

// toldNodes is about the networks that the provider tells of, if it is known to: those are the nodes', even where pods have
// addresses of them, too.
func toldNodes(in Input) (findings []Finding, told bool) {
	for _, written := range in.Told {
		entry, err := noproxy.Parse(written.Text)
		if err != nil || entry.Kind != noproxy.CIDR {
			continue
		}
		if slices.ContainsFunc(in.Entries, func(item noproxy.Item) bool { return contains(item.Entry, entry.Prefix) }) {
			return nil, true
		}
		told = true
		if entry.Prefix.Addr().Is6() && in.forAll() {
			continue // such a list has none
		}
		if findings == nil {
			findings = []Finding{{
				Code: MissingNodes, Severity: Warning, Mend: "add " + written.Text,
				Why: fmt.Sprintf("does not cover the network of the nodes %s (%s, %s)", written.Text, written.Source.Object, written.Source.Field),
			}}
		}
	}
	return findings, told
}

// contains reports whether an entry covers a whole network.
func contains(e noproxy.Entry, network netip.Prefix) bool {
	return e.Kind == noproxy.All || e.Kind == noproxy.CIDR && e.Prefix.Bits() <= network.Bits() && e.Prefix.Contains(network.Addr())
}

// awaited reports whether the operator makes no list for the cluster before its provider has told the network.
func awaited(c resolve.Cluster) bool {
	table, err := provider.Builtin("")
	if err != nil {
		return false // a test reads the table
	}
	infrastructure, _ := table.Row(c.Infrastructure.Group, c.Infrastructure.Kind)
	controlPlane, _ := table.Row(c.ControlPlaneGroup, c.ControlPlaneKind)
	return infrastructure.AwaitsNetwork() || controlPlane.AwaitsNetwork()
}

// listsNodes reports whether a network of the list may be the network of the nodes. A network counts that somebody
// wrote for these clusters, or that their provider reports. A network of the installation counts if it contains the
// endpoint: on premises, the endpoint is an address of the nodes' network. If the endpoint is no address, every network
// counts.
func listsNodes(in Input) bool {
	endpoint, err := netip.ParseAddr(strings.Trim(in.Cluster.EndpointHost, "[]"))
	named := err != nil
	return others(in, func(item noproxy.Item) bool {
		return named || item.Entry.Kind == noproxy.All || item.Entry.Prefix.Contains(endpoint) || slices.ContainsFunc(item.Sources, forTheseClusters)
	})
}

// others reports whether is returns true for a network of the list that is neither of pods nor of services.
func others(in Input, is func(noproxy.Item) bool) bool {
	return slices.ContainsFunc(in.Entries, func(item noproxy.Item) bool {
		network := item.Entry.Prefix
		return (item.Entry.Kind == noproxy.All || item.Entry.Kind == noproxy.CIDR && !network.IsSingleIP() && !ofPodsOrServices(*in.Cluster, network)) && is(item)
	})
}

// anonymous reports whether nobody can tell for which clusters an entry was written: it is of a list as it stands.
func anonymous(item noproxy.Item) bool {
	return slices.ContainsFunc(item.Sources, func(s noproxy.Source) bool { return s.Layer == "" })
}

func forTheseClusters(s noproxy.Source) bool {
	return s.Layer == noproxy.LayerCluster || s.Layer == noproxy.LayerProvider ||
		s.Layer == noproxy.LayerInstallation && strings.HasPrefix(s.Field, "spec.noProxy[")
}

// ofPodsOrServices reports whether a network is one of the cluster's networks for pods or services, or a part of one.
func ofPodsOrServices(c resolve.Cluster, network netip.Prefix) bool {
	return slices.ContainsFunc(slices.Concat(c.ServiceCIDRs, c.PodCIDRs), func(cidr string) bool {
		own, err := netip.ParsePrefix(cidr)
		return err == nil && own.Bits() <= network.Bits() && own.Contains(network.Addr())
	})
}

// providerAPI offers what makes the machines as an entry. It is no fault: the proxy may lead there.
func providerAPI(in Input) []Finding {
	host := in.API.host()
	if host == "" || covers(dialect.CompileGo(in.Any), host) {
		return nil
	}
	return []Finding{{
		Code: ProviderAPI, Severity: Info,
		Why: fmt.Sprintf("the %s %s (%s, %s) is asked through the proxy, as by the cloud controller manager and the storage driver in the cluster",
			in.API.Name, host, in.API.Object, in.API.Field),
		Mend: fmt.Sprintf("list %s where the proxy does not lead to it", host),
	}}
}

// host returns the host of the address, as an entry has it; "" where there is none.
func (a ProviderAddress) host() string {
	text := a.Address
	if u, err := url.Parse(text); err == nil && u.Host != "" {
		text = u.Host
	}
	entry, err := noproxy.Parse(text)
	if err != nil || entry.Kind != noproxy.Domain && entry.Kind != noproxy.Addr {
		return ""
	}
	entry.Port = 0
	return entry.String()
}
