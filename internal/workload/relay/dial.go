package relay

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// connectTimeout is for everything until the tunnel stands: names, TCP, TLS, and the proxy's answer.
const connectTimeout = 30 * time.Second

// keepAlive finds out about peers that are gone without a word. To a proxy that counts silence it is no traffic.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 3}

// tunnel is an open way to a target.
type tunnel struct {
	upstream.Tunnel
	way string // for people
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
	settings, err := r.folder.Read()
	if err != nil {
		return tunnel{}, err
	}
	way := wayTo(target, settings)
	if way != throughProxy {
		conn, err := r.dial(ctx, target.String(), strings.TrimPrefix(way, "direct: "))
		return tunnel{upstream.Tunnel{Conn: conn}, way}, err
	}
	opened, err := r.upstream.Open(ctx, settings.HTTPS, settings.Authorities, target.String(), "")
	return tunnel{opened, way}, err
}

// Ask opens a tunnel, as a relay would with this proxy, and with no more authorities than these. The error may be a
// *upstream.Refusal, and has no password.
func Ask(ctx context.Context, proxy proxyurl.URL, authorities *x509.CertPool, target Target) (net.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, connectTimeout, fmt.Errorf("no answer within %s", connectTimeout))
	defer cancel()
	asked, err := upstream.NewProxy(proxy)
	if err != nil {
		return nil, err
	}
	return newRelay("", nil, nil).upstream.Open(ctx, asked, func() (*x509.CertPool, error) { return authorities, nil }, target.String(), "")
}

// wayTo decides as the agent's own client would, if it had the variables: in Go's way.
func wayTo(target Target, settings *upstream.Settings) string {
	switch {
	case settings.HTTPS.URL.IsZero():
		return withoutProxy
	case settings.Bypasses("https", target.String()):
		return listed
	}
	return throughProxy
}
