package probe

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/version"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// Prober makes attempts, and remembers from one to the next which credentials a proxy refuses: no account is locked for being
// tried.
type Prober struct {
	// Stage is how long each stage may take.
	Stage time.Duration
	// Cluster are the authorities of the cluster's API server, by each of its addresses. They count as the system's for
	// targets that are reached directly. Nil: there are none.
	// reached directly. Nil: there are none.
	Cluster *x509.CertPool

	system *x509.CertPool
	dialer *upstream.Dialer
}

// NewProber returns one with the system's authorities.
func NewProber(stage time.Duration) *Prober {
	system, _ := upstream.AuthoritiesWith("")
	p := &Prober{Stage: stage, system: system}
	return p.fresh()
}

// fresh returns a copy without the memory of credentials that a proxy refused.
func (p *Prober) fresh() *Prober {
	next := *p
	next.dialer = upstream.NewDialer(next.connect)
	return &next
}

// Try makes one attempt at a destination by a way of the settings.
func (p *Prober) Try(ctx context.Context, settings *upstream.Settings, to probe.Destination, by probe.Route) probe.Seen {
	ctx, cancel := context.WithTimeout(ctx, 5*p.Stage)
	defer cancel()
	found := &trace{}
	a := attempt{p, context.WithValue(ctx, traceKey{}, found), settings, to, found, probe.Seen{Route: by}}
	switch {
	case by == probe.Direct:
		conn, err := p.connect(a.ctx, to.Address())
		if err != nil {
			a.notConnected(err)
			break
		}
		a.speak(conn)
	case to.Scheme == "http":
		a.request()
	default:
		a.tunnel()
	}
	a.seen.Peer = found.peer
	return a.seen
}

type attempt struct {
	*Prober

	ctx      context.Context //nolint:containedctx // of one call
	settings *upstream.Settings
	to       probe.Destination
	trace    *trace
	seen     probe.Seen
}

func (a *attempt) end(stage probe.Stage, fault probe.Fault, detail string) {
	a.seen.Stage, a.seen.Fault, a.seen.Detail = stage, fault, detail
}

func (a *attempt) notConnected(err error) {
	fault := probe.NoAddress
	if a.trace.stage == probe.Connect {
		if fault = faultOf(err); fault == probe.Malformed {
			fault = probe.NoRoute
		}
	}
	detail := err.Error()
	switch {
	case fault == probe.Timeout && errors.Is(err, syscall.EHOSTUNREACH):
		detail = "no connection: nobody has the address"
	case fault == probe.Timeout:
		detail = fmt.Sprintf("no connection within %s", a.Stage)
	}
	a.end(a.trace.stage, fault, detail)
}

// tunnel asks the proxy for a way to the target.
func (a *attempt) tunnel() {
	ctx, cancel := upstream.Timeout(2 * a.Stage).Bound(a.ctx) // to connect, and for the answer
	defer cancel()
	conn, err := a.dialer.Open(ctx, a.settings.Proxy(a.to.Scheme), a.settings.Authorities, a.to.Address(), "")
	if err != nil {
		a.refused(err)
		return
	}
	a.speak(early{conn.Conn, io.MultiReader(bytes.NewReader(conn.Early), conn.Conn)})
}

// early is a connection of which something was read already.
type early struct {
	net.Conn

	reader io.Reader
}

func (e early) Read(into []byte) (int, error) { return e.reader.Read(into) }

// refused says why there is no way through the proxy.
func (a *attempt) refused(err error) {
	var refusal *upstream.Refusal
	var secured *upstream.TLSError
	switch {
	case a.trace.dialled && a.trace.stage != "":
		a.notConnected(err)
	case errors.As(err, &refusal):
		a.seen.Status, a.seen.Cause = refusal.Status, refusal.Cause
		detail := err.Error()
		if refusal.Cause != "" {
			detail += " (" + refusal.Cause + ")"
		}
		a.end(probe.ProxyAnswer, probe.Answered, detail)
	case errors.Is(err, upstream.ErrBackoff):
		a.end(probe.ProxyAnswer, probe.Resting, err.Error())
	case errors.As(err, &secured):
		fault := certificateFault(err)
		a.end(probe.ProxyTLS, fault, err.Error())
	case faultOf(err) == probe.Timeout:
		a.end(probe.ProxyAnswer, probe.Timeout, fmt.Sprintf("the proxy %s takes the connection, and gives no answer in time", a.settings.Proxy(a.to.Scheme).URL))
	default:
		a.end(probe.ProxyAnswer, probe.Malformed, err.Error())
	}
}

// request sends an http URL to the proxy.
func (a *attempt) request() {
	transport := a.dialer.NewTransport(a.settings.HTTP, a.settings.Authorities, upstream.Timeout(a.Stage))
	defer transport.Close()
	a.ask(transport, a.refused)
}

// speak goes on over a connection that leads to the target.
func (a *attempt) speak(conn net.Conn) {
	defer conn.Close() //nolint:errcheck // nothing more is to come
	switch a.to.Scheme {
	case "tcp":
		a.end(probe.Done, "", "")
		return
	case "https":
		secured := a.handshake(conn)
		if secured == nil {
			return
		}
		conn = secured
	}
	a.askOver(conn, func(err error) {
		a.end(probe.HTTP, faultOf(err), "it does not answer in HTTP: "+err.Error())
	})
}

// askOver asks over one connection.
func (a *attempt) askOver(conn net.Conn, failed func(error)) {
	base := &http.Transport{
		DialContext:    func(context.Context, string, string) (net.Conn, error) { return conn, nil },
		DialTLSContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil },
		// A request has no body, and is not sent again: there is one connection.
		DisableKeepAlives: true, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10, DisableCompression: true,
	}
	defer base.CloseIdleConnections()
	a.ask(base, failed)
}

// ask sends one request without a body. Any status is the target's answer, unless a proxy says that it is its own.
func (a *attempt) ask(by http.RoundTripper, failed func(error)) {
	ctx, cancel := upstream.Timeout(2 * a.Stage).Bound(a.ctx)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, a.to.Scheme+"://"+a.to.Address()+a.to.Path, http.NoBody)
	if err != nil {
		a.end(probe.HTTP, probe.Malformed, "it is no URL for a request")
		return
	}
	request.Header.Set("User-Agent", "fairlead-probe/"+version.Version)
	response, err := by.RoundTrip(request)
	if err != nil {
		failed(err)
		return
	}
	_ = response.Body.Close()
	cause := upstream.Cause(response.Header)
	inside := a.seen.Route == probe.Proxied && a.to.Scheme == "https" && a.seen.Trust != probe.BySystem
	a.seen.Gateway = inside && (cause != "" || response.Header.Get("Via") != "")
	if a.seen.Route == probe.Proxied && cause != "" && response.StatusCode >= http.StatusBadRequest && (a.to.Scheme == "http" || a.seen.Gateway) {
		a.seen.Status, a.seen.Cause = response.StatusCode, cause
		a.end(probe.ProxyAnswer, probe.Answered, fmt.Sprintf("the proxy answers %d, %s", response.StatusCode, cause))
		return
	}
	a.seen.HTTP = response.StatusCode
	a.end(probe.Done, "", "")
}
