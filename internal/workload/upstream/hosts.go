package upstream

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// HostsFile is the path of a file as /etc/hosts.
type HostsFile string

// Hosts is the file that the kubelet writes: the pod's hostAliases, or the node's own file with hostNetwork. Go's
// resolver does not read it in the relay's image, which says hosts: dns.
const Hosts HostsFile = "/etc/hosts"

// Addresses returns the addresses that the file has for a name.
func (f HostsFile) Addresses(name string) []netip.Addr {
	if _, err := netip.ParseAddr(name); err == nil {
		return nil
	}
	content, err := os.ReadFile(string(f))
	if err != nil {
		return nil
	}
	var found []netip.Addr
	for line := range strings.Lines(string(content)) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) < 2 || !slices.ContainsFunc(words[1:], func(word string) bool { return strings.EqualFold(word, name) }) {
			continue
		}
		if address, err := netip.ParseAddr(words[0]); err == nil {
			found = append(found, address)
		}
	}
	return found
}

// KeepAlive finds out about peers that are gone without a word. To a proxy that counts silence it is no traffic.
var KeepAlive = net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 3}

// TCP is how a host is connected to.
type TCP struct {
	Hosts    func(name string) []netip.Addr                // addresses of a name that DNS is not asked for; nil: none
	Check    func(host string, found netip.AddrPort) error // is asked right before a connection; nil: all may be made
	Resolver *net.Resolver                                 // nil: Go's own, by what the system says of it
}

// Dial connects to host:port.
func (t TCP) Dial(ctx context.Context, address string) (Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{KeepAliveConfig: KeepAlive, Resolver: t.Resolver, ControlContext: func(_ context.Context, _, found string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(found)
		if err == nil && t.Check != nil {
			err = t.Check(host, at)
		}
		return err
	}}
	hosts := []string{host}
	if t.Hosts != nil {
		if at := t.Hosts(host); len(at) > 0 {
			hosts = nil
			for _, address := range at {
				hosts = append(hosts, address.String())
			}
		}
	}
	var failed []error
	for _, one := range hosts {
		conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(one, port))
		if err == nil {
			return conn.(*net.TCPConn), nil
		}
		failed = append(failed, err)
	}
	return nil, contextCauseOr(ctx, errors.Join(failed...))
}
