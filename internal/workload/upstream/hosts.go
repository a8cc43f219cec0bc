package upstream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// HostsFile is what the kubelet writes: the pod's hostAliases, or the node's own file with hostNetwork. Go's resolver does not
// read it in the relay's image, which says hosts: dns.
const HostsFile = "/etc/hosts"

// Hosted are the addresses that a hosts file has for a name.
func Hosted(file, name string) []netip.Addr {
	if _, err := netip.ParseAddr(name); err == nil {
		return nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var found []netip.Addr
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), "#")
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

// DialTCP connects to host:port, at these addresses if there are any.
func DialTCP(ctx context.Context, dialer *net.Dialer, host, port string, at []netip.Addr) (Conn, error) {
	hosts := []string{host}
	if len(at) > 0 {
		hosts = nil
		for _, address := range at {
			hosts = append(hosts, address.String())
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
	return nil, InTime(ctx, errors.Join(failed...))
}
