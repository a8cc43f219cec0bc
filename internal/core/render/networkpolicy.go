package render

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// Egress has the inputs of a NetworkPolicy, beside the settings of the cluster.
type Egress struct {
	Audience noproxy.Audience // whose list counts
	Proxy    []netip.Prefix   // addresses of the proxy, where its URL has a name
	Allow    []netip.Prefix   // addresses that pods reach, whatever the list says
	// RelayNamespace is where the relay's pods are, which pods reach instead of the proxy; empty: they reach the proxy.
	RelayNamespace string
}

// Allowed has the destinations that pods reach directly: the list's entries, as far as they are addresses.
type Allowed struct {
	Everything bool // the list has *
	Cluster    bool // pods of the cluster: the list has its networks
	Addresses  []AllowedAddress
	Names      []string // entries that are names, and that no NetworkPolicy can express
}

// AllowedAddress is a network or an address; port 0 is every port.
type AllowedAddress struct {
	Prefix netip.Prefix
	Port   uint16
}

// Directly returns what a cluster's list lets pods reach directly.
func Directly(e resolve.Effective, egress Egress) Allowed {
	var a Allowed
	var names []noproxy.Entry
	for _, prefix := range egress.Allow {
		a.Addresses = append(a.Addresses, AllowedAddress{prefix.Masked(), 0})
	}
	for _, item := range e.NoProxy.For(egress.Audience) {
		of := func(layers ...noproxy.Layer) bool {
			return slices.ContainsFunc(item.Sources, func(s noproxy.Source) bool { return slices.Contains(layers, s.Layer) })
		}
		switch entry := item.Entry; {
		case entry.Kind == noproxy.All:
			a.Everything = true
		case entry.Kind == noproxy.Addr || entry.Kind == noproxy.CIDR:
			a.Cluster = a.Cluster || of(noproxy.LayerPodCIDR)
			if !entry.Prefix.Addr().IsLoopback() { // which no policy is about
				a.Addresses = append(a.Addresses, AllowedAddress{entry.Prefix, entry.Port})
			}
		case of(noproxy.LayerServiceDomain, noproxy.LayerBuiltin): // names of the cluster, and localhost
		case !slices.ContainsFunc(names, func(n noproxy.Entry) bool { return n.Name == entry.Name && n.Port == entry.Port }):
			names = append(names, entry) // .example.com beside example.com says nothing new
			a.Names = append(a.Names, entry.String())
		}
	}
	a.Addresses = slices.DeleteFunc(slices.Clone(a.Addresses), func(one AllowedAddress) bool {
		return slices.ContainsFunc(a.Addresses, func(other AllowedAddress) bool { return one != other && other.covers(one) })
	})
	return a
}

func (a AllowedAddress) covers(other AllowedAddress) bool {
	return a.Prefix.Bits() <= other.Prefix.Bits() && a.Prefix.Contains(other.Prefix.Addr()) && (a.Port == 0 || a.Port == other.Port)
}

// Reaches reports whether an address and port are allowed.
func (a Allowed) Reaches(address netip.Addr, port uint16) bool {
	return a.Everything || slices.ContainsFunc(a.Addresses, func(one AllowedAddress) bool {
		return one.covers(AllowedAddress{netip.PrefixFrom(address.Unmap(), address.Unmap().BitLen()), port})
	})
}

// egressPolicyName returns the name of the NetworkPolicy. One for some pods has another name: a second one must not take the place
// of the first.
func egressPolicyName(podSelector any) string {
	const name = "fairlead-egress"
	selector, _ := json.Marshal(podSelector) // strings
	if string(selector) == "{}" {
		return name
	}
	return fmt.Sprintf("%s-%.4x", name, sha256.Sum256(selector))
}

// NetworkPolicy returns one for the egress of pods: DNS, what the list covers, and the proxy or the relay. Metadata has the
// namespace, if any; the selector is a LabelSelector. A cluster without a proxy has none: its pods reach everything directly.
func NetworkPolicy(e resolve.Effective, egress Egress, namespace string, podSelector any) ([]byte, error) {
	if e.Mode != resolve.ModeProxied {
		return nil, problemAt(e, "NetworkPolicy", notCarriable("the mode of the cluster is %s: its pods have no proxy, and would be cut off", e.Mode))
	}
	allowed := Directly(e, egress)
	rules := []any{map[string]any{}} // everything
	if !allowed.Everything {
		way, err := wayOut(e, egress)
		if err != nil {
			return nil, err
		}
		rules = append(directRules(allowed), way...)
	}
	metadata := map[string]any{"name": egressPolicyName(podSelector), "labels": map[string]string{ManagedLabel: Manager}}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata,
		"spec": map[string]any{"podSelector": podSelector, "policyTypes": []string{"Egress"}, "egress": rules},
	})
	var out bytes.Buffer
	for _, name := range allowed.Names {
		fmt.Fprintf(&out, "# not in it, since a NetworkPolicy has addresses alone: %s\n", name)
	}
	out.Write(text)
	return out.Bytes(), err
}

// directRules are DNS, the pods of the cluster, and addresses by their ports.
func directRules(a Allowed) []any {
	rules := []any{map[string]any{"ports": []any{port(53, "UDP"), port(53, "TCP")}}}
	if a.Cluster { // some networks do not count pods among addresses
		rules = append(rules, map[string]any{"to": []any{map[string]any{"namespaceSelector": map[string]any{}}}})
	}
	byPort := map[uint16][]any{}
	var ports []uint16
	for _, one := range a.Addresses {
		if !slices.Contains(ports, one.Port) {
			ports = append(ports, one.Port)
		}
		byPort[one.Port] = append(byPort[one.Port], block(one.Prefix))
	}
	slices.Sort(ports)
	for _, p := range ports {
		rule := map[string]any{"to": byPort[p]}
		if p != 0 {
			rule["ports"] = []any{port(p, "TCP")}
		}
		rules = append(rules, rule)
	}
	return rules
}

func block(prefix netip.Prefix) any {
	return map[string]any{"ipBlock": map[string]any{"cidr": prefix.Masked().String()}}
}

func port(number uint16, protocol string) any {
	return map[string]any{"port": int(number), "protocol": protocol}
}

const relayPort = 3128

// wayOut returns the proxy, or the relay.
func wayOut(e resolve.Effective, egress Egress) ([]any, error) {
	if egress.RelayNamespace != "" {
		return []any{map[string]any{
			"ports": []any{port(relayPort, "TCP")},
			"to": []any{map[string]any{
				"namespaceSelector": map[string]any{"matchLabels": map[string]string{"kubernetes.io/metadata.name": egress.RelayNamespace}},
				"podSelector":       map[string]any{"matchLabels": map[string]string{"app.kubernetes.io/component": "relay"}},
			}},
		}}, nil
	}
	var rules []any
	var seen []string
	for _, u := range []proxyurl.URL{e.HTTP, e.HTTPS} {
		if u.IsZero() || slices.Contains(seen, u.Host()+" "+u.Port()) {
			continue
		}
		seen = append(seen, u.Host()+" "+u.Port())
		to := egress.Proxy
		if addr, err := netip.ParseAddr(u.Host()); err == nil {
			to = []netip.Prefix{netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen())}
		}
		if len(to) == 0 {
			return nil, problemAt(e, "NetworkPolicy", notCarriable(
				"the proxy's URL has the name %s, and a NetworkPolicy has addresses alone: give its addresses or network with --proxy-address", u.Host()))
		}
		var blocks []any
		for _, prefix := range to {
			blocks = append(blocks, block(prefix))
		}
		number, _ := strconv.ParseUint(u.Port(), 10, 16) // checked when it was parsed
		rules = append(rules, map[string]any{"ports": []any{port(uint16(number), "TCP")}, "to": blocks})
	}
	return rules, nil
}

// NetworkPolicyWarnings says what the NetworkPolicy refuses although the settings lead there.
func NetworkPolicyWarnings(e resolve.Effective, egress Egress) []string {
	allowed := Directly(e, egress)
	if allowed.Everything {
		return []string{"NO_PROXY has *: the NetworkPolicy allows everything"}
	}
	var all []string
	for _, name := range allowed.Names {
		all = append(all, fmt.Sprintf("NO_PROXY has the name %s, and a NetworkPolicy has addresses alone: pods go there directly, and are cut off unless its address is listed, too, or given with --allow", name))
	}
	for _, one := range []struct {
		url    proxyurl.URL
		scheme string
	}{{e.HTTP, "http"}, {e.HTTPS, "https"}} {
		if one.url.IsZero() {
			all = append(all, "no proxy is set for "+one.scheme+" URLs: pods go there directly, and are cut off unless an address is listed")
		}
	}
	if len(egress.Allow) == 0 {
		all = append(all, "policies see the address behind a Service: for the API server (kubernetes.default.svc) list the network of its nodes, or give it with --allow")
	}
	return all
}
