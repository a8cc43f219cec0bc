package forward

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/net/netutil"

	"github.com/fairlead-io/fairlead/internal/core/egress"
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

// maxProbes are answered at a time.
const maxProbes = 64

// Run serves until the context is done and the server is drained. The error says what of the configuration is wrong, or why
// it cannot listen.
func Run(ctx context.Context, config Config, log *slog.Logger) error {
	policy, err := readPolicy(config.Policy)
	if err != nil {
		return err
	}
	if policy.Denied, err = deniedHere(policy.Denied, os.Getenv); err != nil {
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
		Exists: existsIn(policy.Domain),
	}
	if config.AccessLog {
		options.Access = log
	}
	proxy := New(options)
	metrics, registry := newMetrics(proxy), prometheus.NewRegistry()
	proxy.Observe = metrics.observe
	registry.MustRegister(metrics)
	health, err := net.Listen("tcp", config.Health)
	if err != nil {
		return fmt.Errorf("health: %w", err)
	}
	server := healthServer(proxy, registry, ctx)
	go func() { _ = server.Serve(netutil.LimitListener(health, maxProbes)) }() // until it is closed
	defer server.Close()                                                       //nolint:errcheck // nobody waits for an answer any more
	log.Info("listening", "version", version.Version, "addresses", config.Listen)
	return proxy.Serve(ctx, listeners, DefaultLimits, config.Drain)
}

func readPolicy(file string) (egress.Policy, error) {
	if file == "" {
		return egress.Policy{}, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return egress.Policy{}, err
	}
	policy, err := egress.ParsePolicy(text)
	if err != nil {
		return egress.Policy{}, fmt.Errorf("%s: %w", file, err)
	}
	return policy, nil
}

// deniedHere adds what only the pod knows: the addresses of its node, which the chart hands in, and of the API server, which
// every pod has.
func deniedHere(denied []netip.Prefix, getenv func(string) string) ([]netip.Prefix, error) {
	denied = slices.Clone(denied)
	for _, name := range []string{"KUBERNETES_SERVICE_HOST", "HOST_IPS"} {
		for text := range strings.SplitSeq(getenv(name), ",") {
			if text = strings.TrimSpace(text); text == "" {
				continue
			}
			addr, err := netip.ParseAddr(text)
			if err != nil {
				return nil, fmt.Errorf("the variable %s: %q is not an address", name, text)
			}
			denied = append(denied, netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()))
		}
	}
	return denied, nil
}

// listen returns those listeners that there are, also with an error.
func listen(ctx context.Context, addresses []string) ([]net.Listener, error) {
	var listeners []net.Listener
	config := net.ListenConfig{KeepAliveConfig: keepAlive}
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

// healthServer has no patience: a probe is one short request. It is ready while it takes new connections and its settings
// can be read.
func healthServer(p *Proxy, registry *prometheus.Registry, ctx context.Context) *http.Server {
	const patience = 5 * time.Second
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "it listens") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		_, err := p.Folder.Read()
		if ctx.Err() != nil {
			err = errors.New("it ends")
		}
		switch {
		case err != nil:
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, err)
		case p.Folder.Problem() != nil:
			fmt.Fprintln(w, "it listens with the settings of before:", p.Folder.Problem())
		default:
			fmt.Fprintln(w, "it listens, and its settings can be read")
		}
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadTimeout: patience, WriteTimeout: patience, MaxHeaderBytes: 4 << 10}
	server.SetKeepAlivesEnabled(false)
	return server
}
