package forward

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// probes are answered so many at a time: of the kubelet, and of who reads metrics. No pod takes all places.
var probes = Limits{Connections: 64, PerSource: 16}

// serveHealth serves probes and metrics until the end. Where another program has the address, as may be in a host's network,
// requests of clients are answered all the same.
func (p *Proxy) serveHealth(ctx context.Context, address string, registry *prometheus.Registry) (end func()) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		p.Log.Error("no probes and no metrics", "reason", err)
		return func() {}
	}
	server := healthServer(p, registry, ctx)
	go func() { _ = server.Serve(listener) }() // until it is closed
	return func() { _ = server.Close() }
}

// healthServer has no patience: a probe is one short request. It is ready while it takes new connections and its settings
// can be read.
func healthServer(p *Proxy, registry *prometheus.Registry, ctx context.Context) *http.Server {
	const patience = 5 * time.Second
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "it listens") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		settings, err := p.Folder.Read()
		if err == nil && settings.Revision != "" {
			w.Header().Set(upstream.RevisionHeader, settings.Revision)
		}
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
	var open connections
	server := &http.Server{ConnState: open.state(probes), Handler: mux, ReadTimeout: patience, WriteTimeout: patience, MaxHeaderBytes: 4 << 10}
	server.SetKeepAlivesEnabled(false)
	return server
}
