package relay

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
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
	way   string // for people
}

// The ways. Where it is direct, the hub's name has to lead elsewhere than to this relay.
const (
	throughProxy = "CONNECT"
	withoutProxy = "direct: no proxy is set"
	listed       = "direct: NO_PROXY covers it"
)

// openTunnel opens a tunnel to the target as the folder's settings are now. The error says in words what is wrong, and has no
// password.
func (r *relay) openTunnel(ctx context.Context, target Target) (tunnel, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.timeout, fmt.Errorf("no answer within %s", r.timeout))
	defer cancel()
	proxy, err := readProxy(r.folder)
	if err != nil {
		return tunnel{}, err
	}
	way, err := wayTo(target, proxy, r.folder)
	if err != nil {
		return tunnel{}, err
	}
	if way != throughProxy {
		conn, err := r.dial(ctx, target.String(), strings.TrimPrefix(way, "direct: "))
		return tunnel{halfCloser: conn, way: way}, err
	}
	return r.ask(ctx, proxy, target, func() (*x509.CertPool, error) { return r.roots.read(r.folder) })
}

// Ask opens a tunnel, as a relay would with this proxy, and with no more authorities than these. The error may be a
// Refusal, and has no password.
func Ask(ctx context.Context, proxy proxyurl.URL, authorities *x509.CertPool, target Target) (net.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, connectTimeout, fmt.Errorf("no answer within %s", connectTimeout))
	defer cancel()
	r := newRelay("", nil, nil)
	return r.ask(ctx, proxy, target, func() (*x509.CertPool, error) { return authorities, nil })
}

func (r *relay) ask(ctx context.Context, proxy proxyurl.URL, target Target, authorities func() (*x509.CertPool, error)) (tunnel, error) {
	address, authorization, err := secrets(proxy)
	if err != nil {
		return tunnel{}, err
	}
	conn, err := r.dialProxy(ctx, proxy, address, authorities)
	if err != nil {
		return tunnel{}, fmt.Errorf("the proxy %s: %w", proxy, err)
	}
	early, err := connect(ctx, conn, target, authorization)
	if err != nil {
		_ = conn.Close()
		return tunnel{}, fmt.Errorf("the proxy %s: %w", proxy, err)
	}
	return tunnel{conn, early, throughProxy}, nil
}

// wayTo decides as the agent's own client would, if it had the variables: in Go's way.
func wayTo(target Target, proxy proxyurl.URL, folder string) (string, error) {
	if proxy.IsZero() {
		return withoutProxy, nil
	}
	list, err := readNoProxy(folder)
	if err != nil || list == "" { // without a list, not even localhost is direct
		return throughProxy, err
	}
	config := httpproxy.Config{HTTPSProxy: "http://proxy.invalid:3128", NoProxy: list} // any: it is about the list
	found, err := config.ProxyFunc()(&url.URL{Scheme: "https", Host: target.String()})
	if err == nil && found == nil {
		return listed, nil
	}
	return throughProxy, err
}

// dialProxy connects to the proxy, with TLS if its URL says so.
func (r *relay) dialProxy(ctx context.Context, proxy proxyurl.URL, address string, authorities func() (*x509.CertPool, error)) (halfCloser, error) {
	conn, err := r.dial(ctx, address, "it is the proxy")
	if err != nil || proxy.Scheme() != "https" {
		return conn, err
	}
	roots, err := authorities()
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

// inTime names the reason if it is that of the context.
func inTime(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
