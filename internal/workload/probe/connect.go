package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// trace collects what happens below a dialer.
type trace struct {
	dialled bool
	peer    string
	stage   probe.Stage // that failed; empty if it is connected
}

type traceKey struct{}

// connect resolves a name and connects, each in one stage's time. The context may have a trace.
func (p *Prober) connect(ctx context.Context, address string) (upstream.Conn, error) {
	seen, _ := ctx.Value(traceKey{}).(*trace)
	if seen == nil {
		seen = &trace{}
	}
	seen.dialled, seen.stage = true, probe.Lookup
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addresses, err := p.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	seen.stage = probe.Connect
	conn, err := p.dial(ctx, addresses, port)
	if err != nil {
		return nil, err
	}
	seen.stage, seen.peer = "", conn.RemoteAddr().String()
	return conn, nil
}

func (p *Prober) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if address, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{address}, nil
	}
	if found := upstream.Hosts.Addresses(host); len(found) > 0 {
		return found, nil
	}
	ctx, cancel := upstream.Timeout(p.Stage).Bound(ctx)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	var dns *net.DNSError
	switch {
	case err == nil:
		return found, nil
	case ctx.Err() != nil, errors.As(err, &dns) && dns.IsTimeout:
		return nil, fmt.Errorf("DNS does not answer about %s", host)
	case errors.As(err, &dns) && dns.IsNotFound:
		return nil, fmt.Errorf("DNS has no address of %s", host)
	}
	return nil, fmt.Errorf("DNS has no answer about %s: %w", host, err)
}

// dial tries one address after the other: one that does not answer leaves time for the rest.
func (p *Prober) dial(ctx context.Context, addresses []netip.Addr, port string) (conn *net.TCPConn, err error) {
	ctx, cancel := upstream.Timeout(p.Stage).Bound(ctx)
	defer cancel()
	for i, address := range addresses {
		deadline, _ := ctx.Deadline()
		share, cancel := context.WithTimeout(ctx, time.Until(deadline)/time.Duration(len(addresses)-i))
		var found net.Conn
		found, err = (&net.Dialer{}).DialContext(share, "tcp", net.JoinHostPort(address.Unmap().String(), port))
		cancel()
		if err == nil {
			return found.(*net.TCPConn), nil
		}
	}
	return nil, err
}

// faultOf says of an error of a connection what it is.
func faultOf(err error) probe.Fault {
	var network net.Error
	var late upstream.Timeout
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return probe.Refused
	case errors.Is(err, syscall.EHOSTUNREACH): // nobody has the address: the kernel has waited
		return probe.Timeout
	case errors.As(err, &late), errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return probe.Timeout
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		return probe.NoRoute
	}
	return probe.Malformed
}
