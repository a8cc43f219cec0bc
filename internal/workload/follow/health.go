package follow

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/net/netutil"

	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

var (
	writes = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "fairlead_follow_writes_total", Help: "How often the settings of a relay were written.",
	})
	rejected = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "fairlead_follow_rejected_total", Help: "How often a source was not written, because it is malformed or gone, would take its proxy from a machine, or because the folder cannot be written.",
	})
	ignored = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "fairlead_follow_ignored_keys", Help: "Keys of the source that are ignored: credentials of before that are malformed, or of another proxy.",
	})
	lastWrite = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "fairlead_follow_last_write_timestamp_seconds", Help: "When the settings of a relay were written last.",
	})
)

// Metrics are those of this program.
var Metrics = []prometheus.Collector{writes, rejected, ignored, lastWrite}

// isReady reports whether a relay can read the folder: a machine that boots while the API server is away has the settings of
// before.
func (f *follower) isReady() error {
	_, err := upstream.NewFolder(f.Folder, slog.New(slog.DiscardHandler)).Read()
	return err
}

const (
	patience  = 5 * time.Second
	maxProbes = 64 // that are answered at a time
)

// serve answers probes until it is stopped.
func (f *follower) serve() (stop func(), err error) {
	listener, err := net.Listen("tcp", f.Health)
	if err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(Metrics...)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "it runs") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := f.isReady(); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, err)
			return
		}
		fmt.Fprintln(w, "there are settings")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadTimeout: patience, WriteTimeout: patience, MaxHeaderBytes: 4 << 10}
	server.SetKeepAlivesEnabled(false)
	go func() { _ = server.Serve(netutil.LimitListener(listener, maxProbes)) }()
	return func() { _ = server.Close() }, nil
}
