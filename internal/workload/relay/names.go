package relay

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// hostsFile is what the kubelet writes: the pod's hostAliases, or the node's own file with hostNetwork.
const hostsFile = "/etc/hosts"

// dial connects to host:port. The pod's host aliases are the relay's too, and those of a target lead here: they do not
// count, so that a hub is found where DNS has it. The image tells Go's resolver the same (hosts: dns); where
// it does not, the connection that would lead back is refused.
func (r *relay) dial(ctx context.Context, address, reason string) (upstream.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{
		KeepAliveConfig: keepAlive, Resolver: r.resolver,
		ControlContext: func(_ context.Context, _, found string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(found)
			if err == nil && isHere(at.Addr().Unmap()) && r.leadsBack(host, at.Port()) {
				return fmt.Errorf("%s, and %s leads back to this relay (%s)%s", reason, host, found, advice(host))
			}
			return err
		},
	}
	addresses := []string{address}
	if aliases := r.aliases(host); len(aliases) > 0 {
		addresses = aliases
		for i := range addresses {
			addresses[i] = net.JoinHostPort(addresses[i], port)
		}
	}
	var failed []error
	for _, one := range addresses {
		conn, err := dialer.DialContext(ctx, "tcp", one)
		if err == nil {
			return conn.(*net.TCPConn), nil
		}
		failed = append(failed, err)
	}
	return nil, upstream.InTime(ctx, errors.Join(failed...))
}

// aliases are the addresses that the hosts file has for a name, without those that lead a target here.
func (r *relay) aliases(name string) []string {
	content, err := os.ReadFile(r.hosts)
	if err != nil {
		return nil
	}
	var found []string
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(line)
		if len(words) < 2 || !slices.ContainsFunc(words[1:], func(word string) bool { return strings.EqualFold(word, name) }) {
			continue
		}
		address, err := netip.ParseAddr(words[0])
		if err == nil && (!isHere(address.Unmap()) || !r.isTarget(name)) {
			found = append(found, words[0])
		}
	}
	return found
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
