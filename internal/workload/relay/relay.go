// Package relay leads TCP connections of programs that know of no proxy through one. It listens on the loopback
// interface under the port of each target, and asks the company's HTTP proxy for a tunnel there (CONNECT) for each
// connection. What it is told stands in a folder, and counts from the next connection on.
//
// It depends on little (internal/walls_test.go): it is in the pod of somebody else.
package relay

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/workload/healthz"
	"github.com/fairlead-io/fairlead/internal/workload/pipe"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

const (
	healthPort = 8099

	// grace is how long tunnels go on after the relay was told to end; a pod has 30 seconds.
	grace = 25 * time.Second
	// maxTunnels keeps the relay within 64 MiB, also with TLS to the proxy.
	maxTunnels = 256
	// pause is after an Accept that failed: there may be no file descriptors.
	pause = 100 * time.Millisecond
)

var errEnding = errors.New("the relay ends")

// relay is a running one.
type relay struct {
	folder  *upstream.Folder
	targets []Target
	log     *slog.Logger
	hosts   upstream.HostsFile
	// resolver is Go's own, by what the system says of it if nil.
	resolver *net.Resolver
	timeout  upstream.Timeout // of opening a tunnel
	grace    time.Duration
	linger   time.Duration

	upstream  *upstream.Dialer
	readiness readiness
	slots     chan struct{}  // of tunnels that are open or being opened
	running   sync.WaitGroup // what accepts, and tunnels
}

// Run relays until the context is done, and then, no longer than the grace time, until its last tunnel has ended. The
// folder is the mounted Secret fairlead-proxy. The error says why it cannot listen.
func Run(ctx context.Context, folder string, targets []Target, log *slog.Logger) error {
	return newRelay(folder, targets, log).run(ctx, ":"+strconv.Itoa(healthPort))
}

func newRelay(folder string, targets []Target, log *slog.Logger) *relay {
	r := &relay{
		folder: upstream.NewFolder(folder, log), targets: targets, log: log, hosts: upstream.Hosts, timeout: upstream.ConnectTimeout, grace: grace, linger: pipe.Linger,
		readiness: readiness{targets: targets, last: map[Target]error{}}, slots: make(chan struct{}, maxTunnels),
	}
	r.upstream = upstream.NewDialer(func(ctx context.Context, address string) (upstream.Conn, error) {
		return r.dial(ctx, address, "it is the proxy")
	})
	return r
}

func (r *relay) run(ctx context.Context, health string) error {
	var listeners []net.Listener
	stop := func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}
	defer stop()
	for _, target := range r.targets {
		l, err := listen(ctx, net.JoinHostPort("127.0.0.1", strconv.Itoa(int(target.Port))))
		if err != nil {
			return fmt.Errorf("target %s: %w", target, err)
		}
		listeners = append(listeners, l)
	}
	healthListener, err := listen(ctx, health)
	if err != nil {
		return fmt.Errorf("health: %w", err)
	}
	defer healthz.Serve(healthListener, r.readiness.handler())()

	life, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(errEnding)
	for i, l := range listeners {
		r.running.Go(func() { r.accept(life, l, r.targets[i]) })
		r.log.Info("listening", "address", l.Addr().String(), "target", r.targets[i].String())
	}
	<-ctx.Done()
	stop()
	r.log.Info("stopped listening", "tunnels", len(r.slots), "grace", r.grace)
	timer := time.AfterFunc(r.grace, func() { cut(errEnding) })
	defer timer.Stop()
	r.running.Wait()
	return nil
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	config := net.ListenConfig{KeepAliveConfig: upstream.KeepAlive}
	l, err := config.Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, fs.ErrPermission):
		err = fmt.Errorf("%w: below 1024 a pod needs the sysctl net.ipv4.ip_unprivileged_port_start=0", err)
	case errors.Is(err, syscall.EADDRINUSE):
		err = fmt.Errorf("%w: on the host's network it may be another pod's", err)
	}
	return l, err
}

func (r *relay) accept(life context.Context, listener net.Listener, target Target) {
	log := r.log.With("target", target.String())
	for {
		agent, err := listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			log.Error("cannot accept", "reason", err)
			time.Sleep(pause)
			continue
		}
		select {
		case r.slots <- struct{}{}:
			r.running.Go(func() {
				defer func() { <-r.slots }()
				r.relay(life, log, agent.(*net.TCPConn), target)
			})
		default:
			log.Error("refused", "agent", agent.RemoteAddr().String(), "reason", fmt.Sprintf("there are %d tunnels", cap(r.slots)))
			_ = agent.Close()
		}
	}
}

// relay carries one connection.
func (r *relay) relay(life context.Context, log *slog.Logger, agent *net.TCPConn, target Target) {
	defer agent.Close() //nolint:errcheck // it has ended, one way or the other
	log = log.With("agent", agent.RemoteAddr().String())
	began := time.Now()
	hub, way, err := r.openTunnel(life, target)
	r.readiness.note(target, err)
	if err != nil {
		log.Error("no tunnel", "reason", err, "after", time.Since(began))
		return
	}
	log.Info("tunnel opened", "through", hub.RemoteAddr().String(), "way", way, "after", time.Since(began))
	done := pipe.Both(life, pipe.End{Name: "agent", Conn: agent}, pipe.End{Name: "proxy", Conn: hub.Conn, Early: hub.Early}, r.linger)
	log.Info("tunnel ended", "reason", done.Reason, "sent", done.FromFirst, "received", done.FromSecond, "after", time.Since(began))
}

// openTunnel opens a tunnel to the target as the folder's settings are now, and says by which way. It decides as the agent's own client
// would, if it had the variables: in Go's way. The error says in words what is wrong, and has no password.
func (r *relay) openTunnel(ctx context.Context, target Target) (hub upstream.Tunnel, way string, err error) {
	ctx, cancel := r.timeout.Bound(ctx)
	defer cancel()
	settings, err := r.folder.Read()
	if err != nil {
		return hub, "", err
	}
	if why := settings.Direct("https", target.String()); why != "" { // the hub's name has to lead elsewhere than to this relay
		hub.Conn, err = r.dial(ctx, target.String(), why)
		return hub, "direct: " + why, err
	}
	hub, err = r.upstream.Open(ctx, settings.HTTPS, settings.Authorities, target.String(), "")
	return hub, "CONNECT", err
}

// Ask opens a tunnel, as a relay would with this proxy, and with no more authorities than these. The error may be a
// *upstream.Refusal, and has no password.
func Ask(ctx context.Context, proxy proxyurl.URL, authorities *x509.CertPool, target Target) (net.Conn, error) {
	ctx, cancel := upstream.ConnectTimeout.Bound(ctx)
	defer cancel()
	asked, err := upstream.NewProxy(proxy)
	if err != nil {
		return nil, err
	}
	dialer := upstream.NewDialer(upstream.TCP{Hosts: upstream.Hosts.Addresses}.Dial)
	return dialer.Open(ctx, asked, func() (*x509.CertPool, error) { return authorities, nil }, target.String(), "")
}

// readiness is how the last CONNECT to each target went.
type readiness struct {
	targets []Target

	mutex sync.Mutex
	last  map[Target]error // nil: a tunnel was opened
}

func (r *readiness) note(target Target, err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.last[target] = err
}

// report has a line for each target. It is ready if the last CONNECT to each that was asked for has opened a tunnel,
// and there is one: whoever waits for a new pod before he ends the old one must not lose both.
func (r *readiness) report(http.Header) (string, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var lines []string
	ready := len(r.last) > 0
	for _, target := range r.targets {
		err, ok := r.last[target]
		said := "a tunnel was opened"
		switch {
		case !ok:
			said = "nobody has asked for a tunnel yet"
		case err != nil:
			said, ready = err.Error(), false
		}
		lines = append(lines, fmt.Sprintf("%s: %s", target, said))
	}
	text := strings.Join(lines, "\n")
	if !ready {
		return "", errors.New(text)
	}
	return text, nil
}

// handler serves /healthz and /readyz. While it is reached, the relay listens.
func (r *readiness) handler() http.Handler { return healthz.Mux("it listens", r.report) }
