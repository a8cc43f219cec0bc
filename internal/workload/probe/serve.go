package probe

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/net/netutil"
)

const (
	patience  = 5 * time.Second
	maxProbes = 64 // that are answered at a time
)

// serve answers Prometheus and the kubelet until it is stopped. It is ready once it has settings: a proxy that is down makes no
// pod unready.
func (a *agent) serve() (stop func(), err error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(&a.metrics)
	metrics := http.NewServeMux()
	metrics.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	health := http.NewServeMux()
	health.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "it runs") })
	health.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if _, err := a.folder.Read(); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, err)
			return
		}
		fmt.Fprintln(w, "there are settings")
	})
	var servers []*http.Server
	stop = func() {
		for _, server := range servers {
			_ = server.Close()
		}
	}
	for address, handler := range map[string]http.Handler{a.MetricsAddress: metrics, a.HealthAddress: health} {
		if address == "0" {
			continue
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			stop()
			return nil, err
		}
		server := &http.Server{Handler: handler, ReadTimeout: patience, WriteTimeout: patience, MaxHeaderBytes: 4 << 10}
		server.SetKeepAlivesEnabled(false)
		servers = append(servers, server)
		go func() { _ = server.Serve(netutil.LimitListener(listener, maxProbes)) }()
	}
	return stop, nil
}
