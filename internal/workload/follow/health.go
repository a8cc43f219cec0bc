package follow

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-io/fairlead/internal/workload/healthz"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

var (
	writes = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "fairlead_follow_writes_total", Help: "How often the settings of a relay were written.",
	})
	rejected = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "fairlead_follow_rejected_total", Help: "How often a source was not written, because it is malformed or gone, would take its proxy from a machine, or the folder cannot be written.",
	})
	ignored = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "fairlead_follow_ignored_keys", Help: "Keys of the source that are ignored: credentials of before that are malformed, or of another proxy.",
	})
	lastWrite = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "fairlead_follow_last_write_timestamp_seconds", Help: "When the settings of a relay were written last.",
	})
)

// Metrics are the metrics of this program.
var Metrics = []prometheus.Collector{writes, rejected, ignored, lastWrite}

// read returns what a relay reads in the folder.
func (f *follower) read() (*upstream.Settings, error) {
	return upstream.NewFolder(f.Folder, slog.New(slog.DiscardHandler)).Read()
}

// isReady reports whether a relay can read the folder: a machine that boots while the API server is away has the previous settings.
func (f *follower) isReady() error {
	_, err := f.read()
	return err
}

// serve answers probes until it is stopped.
func (f *follower) serve() (stop func(), err error) {
	mux := healthz.Mux("it runs", func(http.Header) (string, error) { return "there are settings", f.isReady() })
	healthz.Metrics(mux, Metrics...)
	return healthz.ListenAndServe(f.Health, mux)
}
