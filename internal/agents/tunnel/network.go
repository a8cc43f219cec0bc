package tunnel

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
)

// network judges whether the pod may reach the proxy. Policies that are about the same pod add up: one that lets
// through is enough, and where there is none for egress everything is let through (Kubernetes, NetworkPolicy).
func (j *judge) network(u proxyurl.URL) {
	pod := j.in.Pod
	if pod.Spec.HostNetwork {
		return // such policies are not for it
	}
	text := u.WithoutCredentials().String()
	port, _ := strconv.Atoi(text[strings.LastIndexByte(text, ':')+1:])
	address, err := netip.ParseAddr(u.Host())
	named := err != nil
	var names []string
	forSomebody := false
	for _, policy := range j.in.Policies {
		if !policy.aboutEgress() || !policy.Spec.PodSelector.matches(pod.Metadata.Labels) {
			continue
		}
		names = append(names, policy.Metadata.Name)
		for _, rule := range policy.Spec.Egress {
			allowed := rule.allowsPort(port)
			if allowed && (len(rule.To) == 0 || !named && slices.ContainsFunc(rule.To, func(p Peer) bool { return p.has(address) })) {
				return
			}
			forSomebody = forSomebody || allowed
		}
	}
	switch {
	case len(names) == 0:
	case named && forSomebody:
		j.say(NetworkPolicy, lint.Warning, fmt.Sprintf("whether NetworkPolicy %s lets it reach the proxy %s cannot be told: rules have addresses, and the proxy a name", list(names), u.Host()), "")
	default:
		j.say(NetworkPolicy, lint.Error, fmt.Sprintf("NetworkPolicy %s lets it out, but not to the proxy: %s port %d", list(names), u.Host(), port),
			"a NetworkPolicy with egress to the proxy's address and port")
	}
}

// aboutEgress: without types, a policy with egress rules is.
func (p Policy) aboutEgress() bool {
	return slices.Contains(p.Spec.PolicyTypes, "Egress") || len(p.Spec.PolicyTypes) == 0 && len(p.Spec.Egress) > 0
}

// allowsPort reports whether the policy allows a TCP port. A named port is one of a container, and the proxy has
// none.
func (e Egress) allowsPort(port int) bool {
	return len(e.Ports) == 0 || slices.ContainsFunc(e.Ports, func(p Port) bool {
		if p.Protocol != "" && p.Protocol != "TCP" {
			return false
		}
		number, ok := p.Port.(float64)
		return p.Port == nil || ok && (int(number) == port || port > int(number) && port <= p.EndPort)
	})
}

// has: peers by labels are pods, and the proxy is none.
func (p Peer) has(address netip.Addr) bool {
	if p.IPBlock == nil {
		return false
	}
	block, err := netip.ParsePrefix(p.IPBlock.CIDR)
	return err == nil && block.Contains(address) && !slices.ContainsFunc(p.IPBlock.Except, func(text string) bool {
		except, err := netip.ParsePrefix(text)
		return err == nil && except.Contains(address)
	})
}

func (s Selector) matches(labels map[string]string) bool {
	for key, value := range s.MatchLabels {
		if given, ok := labels[key]; !ok || given != value {
			return false
		}
	}
	for _, e := range s.MatchExpressions {
		value, ok := labels[e.Key]
		in := ok && slices.Contains(e.Values, value)
		if holds := map[string]bool{"In": in, "NotIn": !in, "Exists": ok, "DoesNotExist": !ok}; !holds[e.Operator] {
			return false
		}
	}
	return true
}
