package forward

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/fairlead-io/fairlead/internal/workload/headers"
)

// Limits of a server. A machine has so many file descriptors, of which each tunnel takes two.
type Limits struct {
	Connections int           // in all, tunnels among them
	PerSource   int           // of one address
	Header      time.Duration // for a request's header
}

// DefaultLimits are within 20,000 file descriptors, with the pipes of package pipe.
var DefaultLimits = Limits{Connections: 9000, PerSource: 2000, Header: 10 * time.Second}

const idleTimeout = time.Minute // between requests; tunnels have none

// Drain is how a server ends.
type Drain struct {
	Delay time.Duration // it goes on accepting for so long: who sends new connections here has not heard of the end yet
	Grace time.Duration // after that, tunnels go on for so long
}

// Serve answers on the listeners until the context is done and the server is drained. The error says why a listener failed.
func (p *Proxy) Serve(ctx context.Context, listeners []net.Listener, limits Limits, drain Drain) error {
	count := p.connections.state(limits)
	server := &http.Server{
		Handler: p, ReadHeaderTimeout: limits.Header, IdleTimeout: idleTimeout, MaxHeaderBytes: headers.MaxBytes,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // it shows what strangers send
		ConnState: func(conn net.Conn, state http.ConnState) {
			headers.Follow(conn, state)
			count(conn, state)
		},
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, conn)
		},
	}
	failed := make(chan error, len(listeners))
	for _, listener := range listeners {
		go func() { failed <- server.Serve(headers.Listener{Listener: listener}) }()
	}
	select {
	case err := <-failed:
		_ = server.Close()
		return err
	case <-ctx.Done():
	}
	time.Sleep(drain.Delay)
	p.Log.Info("draining", "connections", p.connections.count(), "grace", drain.Grace)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain.Grace)
	defer cancel()
	err := server.Shutdown(ending)
	if err == nil {
		err = p.connections.awaitNone(ending)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		p.Log.Info("ended with open connections", "connections", p.connections.count())
		err = nil
	}
	return err
}

type connKey struct{}
