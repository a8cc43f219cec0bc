package forward

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"os"

	"github.com/coreos/go-systemd/v22/activation"

	"github.com/fairlead-io/fairlead/internal/version"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// Config is what the command line says.
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
		Exists: newServices().exists,
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
