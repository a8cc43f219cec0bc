package relay

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// dial connects to host:port. The pod's host aliases are the relay's too, and those of a target lead here: they do not
// count, so that a hub is found where DNS has it. The image tells Go's resolver the same (hosts: dns); where
// it does not, the connection that would lead back is refused.
func (r *relay) dial(ctx context.Context, address, reason string) (upstream.Conn, error) {
	return upstream.TCP{Hosts: r.aliases, Resolver: r.resolver, Check: func(host string, found netip.AddrPort) error {
		if isHere(found.Addr().Unmap()) && r.leadsBack(host, found.Port()) {
			return fmt.Errorf("%s, and %s leads back to this relay (%s)%s", reason, host, found, advice(host))
		}
		return nil
	}}.Dial(ctx, address)
}

// aliases returns the addresses that the hosts file has for a name, without those that lead a target here.
func (r *relay) aliases(name string) []netip.Addr {
	return slices.DeleteFunc(r.hosts.Addresses(name), func(a netip.Addr) bool { return isHere(a.Unmap()) && r.isTarget(name) })
}

func (r *relay) isTarget(name string) bool {
	return slices.ContainsFunc(r.targets, func(t Target) bool { return strings.EqualFold(t.Host, name) })
}

// isHere tells whether an address is the loopback interface's. Linux takes 0.0.0.0 and :: for it, and some filters of DNS
// answer so.
func isHere(address netip.Addr) bool { return address.IsLoopback() || address.IsUnspecified() }

// leadsBack tells whether a host that was found at the loopback interface is one whose name leads here, or a port where
// this relay listens.
func (r *relay) leadsBack(host string, port uint16) bool {
	return r.isTarget(host) || port == healthPort || slices.ContainsFunc(r.targets, func(t Target) bool { return t.Port == port })
}

func advice(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return ""
	}
	return ": DNS says so, or hostAliases of the pod, where the relay's image has no /etc/nsswitch.conf with hosts: dns; name it by its IP address"
}
