package forward

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/coreos/go-systemd/v22/activation"

	"github.com/fairlead-io/fairlead/internal/version"
	"github.com/fairlead-io/fairlead/internal/workload/healthz"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// Config has the options of the command line.
type Config struct {
	Listen []string // addresses; "systemd" for the sockets that systemd hands over (systemd.socket(5))
	Folder string   // of the settings
	Policy string   // a file; empty: nothing is opened
	Direct bool     // see Options
	Health string   // address of /healthz, /readyz and /metrics
	Drain  Drain
	// AccessLog has a line for each request.
	AccessLog bool
}

// Run serves until the context is done and the server is drained. The error says what of the configuration is wrong, or why
// it cannot listen.
func Run(ctx context.Context, config Config, log *slog.Logger) error {
	rules := &policyFile{path: config.Policy, getenv: os.Getenv}
	policy, err := rules.read()
	if err != nil {
		return err
	}
	listeners, err := listen(ctx, config.Listen)
	defer func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}()
	if err != nil {
		return err
	}
	options := Options{
		Folder: upstream.NewFolder(config.Folder, log), Policy: policy, Direct: config.Direct, Log: log, Name: pseudonym + rand.Text(),
		Exists: (&services{resolve: resolves, now: time.Now}).exists,
	}
	if config.AccessLog {
		options.Access = log
	}
	proxy := New(options)
	metrics := newMetrics(proxy)
	proxy.Observe = metrics.observe
	defer proxy.serveHealth(ctx, config.Health, metrics)()
	go rules.follow(ctx, proxy)
	limits := fit(DefaultLimits)
	log.Info("listening", "version", version.Version, "addresses", config.Listen, "connections", limits.Connections)
	return proxy.Serve(ctx, listeners, limits, config.Drain)
}

// listen returns those listeners that there are, also with an error.
func listen(ctx context.Context, addresses []string) ([]net.Listener, error) {
	var listeners []net.Listener
	config := net.ListenConfig{KeepAliveConfig: upstream.KeepAlive}
	config.SetMultipathTCP(false) // it costs each connection time, and clients are near
	for _, address := range addresses {
		if address == "systemd" {
			handed, err := activation.Listeners()
			if err == nil && len(handed) == 0 {
				err = errors.New("systemd has handed over no socket")
			}
			if err != nil {
				return listeners, err
			}
			listeners = append(listeners, handed...)
			continue
		}
		l, err := config.Listen(ctx, "tcp", address)
		if err != nil {
			return listeners, err
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

// serveHealth serves probes and metrics until the end. Where another program has the address, as may be in a host's network,
// requests of clients are answered all the same.
func (p *Proxy) serveHealth(ctx context.Context, address string, metrics *metrics) (end func()) {
	mux := p.health(ctx)
	healthz.Metrics(mux, metrics)
	end, err := healthz.ListenAndServe(address, mux)
	if err != nil {
		p.Log.Error("no probes and no metrics", "reason", err)
		return func() {}
	}
	return end
}

// health is ready while it takes new connections and its settings can be read.
func (p *Proxy) health(ctx context.Context) *http.ServeMux {
	return healthz.Mux("it listens", func(header http.Header) (string, error) {
		settings, err := p.Folder.Read()
		if err == nil && settings.Revision != "" {
			header.Set(upstream.RevisionHeader, settings.Revision)
		}
		if ctx.Err() != nil {
			err = errors.New("it ends")
		}
		if problem := p.Folder.Problem(); problem != nil && err == nil {
			return "it listens with the settings of before: " + problem.Error(), nil
		}
		return "it listens, and its settings can be read", err
	})
}

// perConnection is what a request or a tunnel may take, with the largest headers and a body on both ways. Most take
// far less: docs/reference/scale.md.
const perConnection = 192 << 10 // bytes

// gcPercent is for a heap of a few MiB that is mostly garbage: a tenth more requests.
const gcPercent = 400

// fit has the collector keep within the memory that the process's cgroup has, and returns limits that fit into it: a relay
// that is killed for its memory ends every tunnel. Without a limit of memory they are as given.
func fit(limits Limits) Limits {
	debug.SetGCPercent(gcPercent)
	memory, err := memlimit.FromCgroup()
	if err != nil || memory == 0 {
		return limits
	}
	debug.SetMemoryLimit(int64(memory / 10 * 9))
	return limits.in(memory)
}

// in returns the limits that fit into so many bytes. A quarter of them is the process's own, and garbage.
func (l Limits) in(memory uint64) Limits {
	return l.within(int(min(memory/4*3/perConnection, uint64(l.Connections))))
}

// within returns limits of so many connections, of which one address has the same share as before.
func (l Limits) within(connections int) Limits {
	l.PerSource = max(1, l.PerSource*connections/l.Connections)
	l.Connections = connections
	return l
}
