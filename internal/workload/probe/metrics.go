package probe

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-io/fairlead/internal/core/probe"
)

var (
	targetLabels = []string{"url", "expect", "route"}
	upDesc       = prometheus.NewDesc("fairlead_probe_target_up",
		"1 if a target meets its expectation, 0 if not; absent if unknown.", targetLabels, nil)
	reasonDesc = prometheus.NewDesc("fairlead_probe_target_reason",
		"1 for the reason why a target fails its expectation, or why that is unknown.", append(targetLabels, "reason"), nil)
	nodesDesc  = prometheus.NewDesc("fairlead_probe_nodes", "Nodes with a relay: verified, failed, or unknown.", []string{"state"}, nil)
	timeDesc   = prometheus.NewDesc("fairlead_probe_last_round_timestamp_seconds", "When the latest round ended.", nil, nil)
	periodDesc = prometheus.NewDesc("fairlead_probe_period_seconds", "Time between two rounds.", nil, nil)
	tookDesc   = prometheus.NewDesc("fairlead_probe_last_round_duration_seconds", "How long the latest round took.", nil, nil)
	staleDesc  = prometheus.NewDesc("fairlead_probe_inputs_stale", "1 while the settings or the list of targets cannot be read, and the earlier ones stay in use.", nil, nil)
	writesDesc = prometheus.NewDesc("fairlead_probe_result_writes_total", "Writes of the ConfigMap with the result: written, failed.", []string{"result"}, nil)
)

// metrics have the labels of configured targets alone: no node, and no address.
type metrics struct {
	mutex           sync.Mutex
	result          probe.Result
	took            time.Duration
	stale           bool
	written, failed int
}

// Collectors are for their descriptions.
func Collectors() []prometheus.Collector { return []prometheus.Collector{&metrics{}} }

// Describe sends the descriptions of all metrics.
func (m *metrics) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{upDesc, reasonDesc, nodesDesc, timeDesc, periodDesc, tookDesc, staleDesc, writesDesc} {
		to <- desc
	}
}

// Collect sends the metrics as they are now.
func (m *metrics) Collect(to chan<- prometheus.Metric) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	for _, t := range m.result.Targets {
		labels := []string{t.URL, string(t.Expect), string(t.Route)}
		if t.State != probe.Unknown {
			gauge(upDesc, truth(t.State == probe.Held), labels...)
		}
		if t.Reason != "" {
			gauge(reasonDesc, 1, append(labels, string(t.Reason))...)
		}
	}
	if n := m.result.Nodes; n != nil {
		gauge(nodesDesc, float64(n.Verified), "verified")
		gauge(nodesDesc, float64(n.Failed), "failed")
		gauge(nodesDesc, float64(n.Total-n.Verified-n.Failed), "unknown")
	}
	if !m.result.Time.IsZero() {
		gauge(timeDesc, float64(m.result.Time.Unix()))
		gauge(tookDesc, m.took.Seconds())
		period, _ := time.ParseDuration(m.result.Period) // which we wrote
		gauge(periodDesc, period.Seconds())
	}
	gauge(staleDesc, truth(m.stale))
	to <- prometheus.MustNewConstMetric(writesDesc, prometheus.CounterValue, float64(m.written), "written")
	to <- prometheus.MustNewConstMetric(writesDesc, prometheus.CounterValue, float64(m.failed), "failed")
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// set takes a result. It counts how it was written.
func (m *metrics) set(result probe.Result, took time.Duration, stale bool, err error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.result, m.took, m.stale = result, took, stale
	if err != nil {
		m.failed++
		return
	}
	m.written++
}
