package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// Conn is a connection that can end one direction: *net.TCPConn, *tls.Conn.
type Conn interface {
	net.Conn
	CloseWrite() error
}

// Tunnel is an open way to a target through the proxy.
type Tunnel struct {
	Conn
	Early []byte // what came right behind the proxy's answer

	by *attempt // nil: the tunnel is direct
}

// Dialer reaches destinations through proxies, and remembers which credentials they refuse.
type Dialer struct {
	dial     func(ctx context.Context, address string) (Conn, error) // to the proxy
	attempts attempts
}

// NewDialer returns one that connects to a proxy by this function.
func NewDialer(dial func(ctx context.Context, address string) (Conn, error)) *Dialer {
	return &Dialer{dial: dial}
}

// Timeout is a time for an answer, and the error when it is over.
type Timeout time.Duration

// ConnectTimeout is for everything until there is a way: names, TCP, TLS, and the proxy's answer.
const ConnectTimeout = Timeout(30 * time.Second)

func (t Timeout) Error() string { return fmt.Sprintf("no answer within %s", time.Duration(t)) }

// Bound returns a context that ends after the time, with the error as its cause.
func (t Timeout) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, time.Duration(t), t)
}

// Open opens a tunnel to host:port with CONNECT (RFC 9110, section 9.3.6). If the proxy refuses a credential, the next one is
// tried. Via is that header's value, or empty. The error may be a *Refusal, and has no password.
func (d *Dialer) Open(ctx context.Context, proxy Proxy, authorities func() (*x509.CertPool, error), target, via string) (Tunnel, error) {
	var tunnel Tunnel
	waiting := func() (context.Context, context.CancelFunc) { return ctx, func() {} }
	err := d.attempts.each(waiting, proxy, false, func(one *asking) (answer, error) {
		longer, heard := untilAnswered(ctx, 0) // it has a deadline
		defer heard()
		var err error
		tunnel, err = d.ask(longer, proxy, authorities, target, via, one.index)
		return answerTo(err), err
	})
	if err != nil {
		return Tunnel{}, fmt.Errorf("the proxy %s: %w", proxy.URL, err)
	}
	return tunnel, nil
}

// answerTo returns what the error of a CONNECT says of its credential.
func answerTo(err error) answer {
	var refusal *Refusal
	switch {
	case err == nil:
		return accepted
	case errors.As(err, &refusal) && refusal.Status == http.StatusProxyAuthRequired:
		return refused
	}
	return unknown
}

func (d *Dialer) ask(ctx context.Context, proxy Proxy, authorities func() (*x509.CertPool, error), target, via string, index int) (Tunnel, error) {
	conn, err := d.connect(ctx, proxy, authorities)
	if err != nil {
		return Tunnel{}, err
	}
	early, err := connect(ctx, conn, target, proxy.Credentials[index].Header(), via)
	if err != nil {
		_ = conn.Close()
		return Tunnel{}, err
	}
	d.attempts.mutex.Lock()
	defer d.attempts.mutex.Unlock()
	return Tunnel{conn, early, d.attempts.state(proxy, index)}, nil
}

// connect connects to the proxy, with TLS if its URL says so.
func (d *Dialer) connect(ctx context.Context, proxy Proxy, authorities func() (*x509.CertPool, error)) (Conn, error) {
	conn, err := d.dial(ctx, proxy.Address)
	if err != nil || proxy.URL.Scheme() != "https" {
		return conn, err
	}
	roots, err := authorities()
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	secured := tls.Client(conn, &tls.Config{
		ServerName: proxy.URL.Host(), RootCAs: roots, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
	})
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, contextCauseOr(ctx, &TLSError{inTLS(err)})
	}
	return secured, nil
}

// TLSError is why there is no TLS with a proxy.
type TLSError struct{ why error }

func (e *TLSError) Error() string { return e.why.Error() }

// Unwrap returns the reason.
func (e *TLSError) Unwrap() error { return e.why }

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

// contextCauseOr returns why the context ended, if it did: then err is only a consequence, such as a closed connection. Else it
// returns err.
func contextCauseOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
