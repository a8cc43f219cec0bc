package egress_test

import (
	"fmt"
	"net/netip"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
)

// ruleset returns a NetworkPolicy's egress as nftables rules, for one pod that it selects. No network plugin runs here.
// sigs.k8s.io/kube-network-policies would need no plugin, but cannot be had as a Go module. So ruleset covers the part
// of the specification that Fairlead writes, and refuses the rest.
func ruleset(policy networkingv1.NetworkPolicy, pods string) (string, error) {
	var rules []string
	for _, rule := range policy.Spec.Egress {
		ports, err := portsOf(rule)
		if err != nil {
			return "", err
		}
		to := []string{""} // everything
		if len(rule.To) > 0 {
			to = nil
		}
		for _, peer := range rule.To {
			match, err := peerOf(peer, pods)
			if err != nil {
				return "", err
			}
			to = append(to, match)
		}
		for _, match := range to {
			for _, port := range ports {
				rules = append(rules, strings.Join(strings.Fields(match+" "+port+" accept"), " "))
			}
		}
	}
	// Refused, so that a client need not wait; answers to what came in pass, as NetworkPolicies have it.
	return "flush ruleset\ntable inet fairlead {\n chain leaving {\n  type filter hook output priority 0; policy accept;\n  oif lo accept\n  ct state established,related accept\n  " +
		strings.Join(rules, "\n  ") + "\n  meta l4proto tcp reject with tcp reset\n  reject\n }\n}\n", nil
}

func portsOf(rule networkingv1.NetworkPolicyEgressRule) ([]string, error) {
	if len(rule.Ports) == 0 {
		return []string{""}, nil
	}
	var ports []string
	for _, p := range rule.Ports {
		if p.Port == nil || p.Port.StrVal != "" || p.EndPort != nil || p.Protocol == nil {
			return nil, fmt.Errorf("a port is more than a number: %+v", p)
		}
		ports = append(ports, fmt.Sprintf("%s dport %d", strings.ToLower(string(*p.Protocol)), p.Port.IntVal))
	}
	return ports, nil
}

func peerOf(peer networkingv1.NetworkPolicyPeer, pods string) (string, error) {
	everyPod := peer.NamespaceSelector != nil && peer.PodSelector == nil &&
		len(peer.NamespaceSelector.MatchLabels)+len(peer.NamespaceSelector.MatchExpressions) == 0
	switch {
	case everyPod:
		return "ip daddr " + pods, nil
	case peer.IPBlock == nil || len(peer.IPBlock.Except) > 0:
		return "", fmt.Errorf("a peer is more than a network: %+v", peer)
	}
	prefix, err := netip.ParsePrefix(peer.IPBlock.CIDR)
	if err == nil && prefix.Addr().Is6() {
		return "ip6 daddr " + prefix.String(), nil
	}
	return "ip daddr " + prefix.String(), err
}
