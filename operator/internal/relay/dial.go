package relay

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"github.com/fairlead-io/fairlead/operator/proxyurl"
)

// connectTimeout is for everything until the tunnel stands: names, TCP, TLS, and the proxy's answer.
const connectTimeout = 30 * time.Second

// keepAlive finds out about peers that are gone without a word. To a proxy that counts silence it is no traffic.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 3}

// halfCloser is a connection that can end one direction: *net.TCPConn, *tls.Conn.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// tunnel is an open way to a target.
type tunnel struct {
	halfCloser
	early []byte // what came right behind the proxy's answer
}

// openTunnel opens a tunnel to the target as the folder's settings are now. The error says in words what is wrong, and has no
// password.
func (r *relay) openTunnel(ctx context.Context, target Target) (tunnel, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.timeout, fmt.Errorf("no answer within %s", r.timeout))
	defer cancel()
	proxy, err := readProxy(r.folder)
	if err != nil {
		return tunnel{}, err
	}
	if proxy.IsZero() {
		conn, err := r.dial(ctx, target.String(), "no proxy is set")
		return tunnel{halfCloser: conn}, err
	}
	address, authorization, err := secrets(proxy)
	if err != nil {
		return tunnel{}, err
	}
	conn, err := r.dialProxy(ctx, proxy, address)
	if err != nil {
		return tunnel{}, fmt.Errorf("the proxy %s: %w", proxy, err)
	}
	early, err := connect(ctx, conn, target, authorization)
	if err != nil {
		_ = conn.Close()
		return tunnel{}, fmt.Errorf("the proxy %s: %w", proxy, err)
	}
	return tunnel{conn, early}, nil
}

// dialProxy connects to the proxy, with TLS if its URL says so.
func (r *relay) dialProxy(ctx context.Context, proxy proxyurl.URL, address string) (halfCloser, error) {
	conn, err := r.dial(ctx, address, "it is the proxy")
	if err != nil || proxy.Scheme() != "https" {
		return conn, err
	}
	roots, err := r.roots.read(r.folder)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	secured := tls.Client(conn, &tls.Config{
		ServerName: proxy.Host(), RootCAs: roots, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
	})
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, inTime(ctx, inTLS(err))
	}
	return secured, nil
}

func inTLS(err error) error {
	var header tls.RecordHeaderError
	if errors.As(err, &header) {
		return errors.New("it does not speak TLS: if it is a plain proxy, its URL begins with http://")
	}
	if !strings.Contains(err.Error(), "tls: ") {
		return fmt.Errorf("TLS: %w", err)
	}
	return err
}

// dial connects to host:port, unless that leads back here: the pod's host aliases are the relay's too.
func (r *relay) dial(ctx context.Context, address, reason string) (halfCloser, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{KeepAliveConfig: keepAlive, ControlContext: func(_ context.Context, _, found string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(found)
		if err == nil && isHere(at.Addr().Unmap()) && r.leadsBack(host, at.Port()) {
			return fmt.Errorf("%s, and %s leads back to this relay (%s)%s", reason, host, found, advice(host))
		}
		return err
	}}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, inTime(ctx, err)
	}
	return conn.(*net.TCPConn), nil
}

// isHere tells whether an address is the loopback interface's. Linux takes 0.0.0.0 and :: for it, and some filters of DNS
// answer so.
func isHere(address netip.Addr) bool { return address.IsLoopback() || address.IsUnspecified() }

// leadsBack tells whether a host that was found at the loopback interface is one whose name leads here, or a port where
// this relay listens.
func (r *relay) leadsBack(host string, port uint16) bool {
	for _, target := range r.targets {
		if target.Port == port || target.Host == strings.ToLower(host) {
			return true
		}
	}
	return port == healthPort
}

func advice(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return ""
	}
	return ": hostAliases of the pod say so; name it by its IP address, or leave the relay out"
}

// inTime names the reason if it is that of the context.
func inTime(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
