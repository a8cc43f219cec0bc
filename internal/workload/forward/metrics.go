package forward

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// metrics are the metrics of a proxy.
type metrics struct {
	requests *prometheus.CounterVec
	proxy    *Proxy
}

var (
	connectionsDesc  = prometheus.NewDesc("fairlead_relay_connections", "Open connections of clients, tunnels among them.", nil, nil)
	beyondDesc       = prometheus.NewDesc("fairlead_relay_connections_refused_total", "Connections closed at once, because there were too many, in all or of one address.", nil, nil)
	staleDesc        = prometheus.NewDesc("fairlead_relay_settings_stale", "1 while the settings cannot be read, and the earlier ones stay in use.", nil, nil)
	credentialDesc   = prometheus.NewDesc("fairlead_relay_credential_configured", "1 for each credential in the settings, by its place (current, previous) and keyed fingerprint.", []string{"credential", "fingerprint"}, nil)
	lastAcceptedDesc = prometheus.NewDesc("fairlead_relay_credential_last_accepted_timestamp_seconds", "When the proxy accepted a credential last, by fingerprint.", []string{"fingerprint"}, nil)
	lastRefusedDesc  = prometheus.NewDesc("fairlead_relay_credential_last_refused_timestamp_seconds", "When the proxy refused a credential last (407 to CONNECT), by fingerprint.", []string{"fingerprint"}, nil)
	underwayDesc     = prometheus.NewDesc("fairlead_relay_credential_requests", "Requests under way that began with a credential in the settings, by fingerprint.", []string{"fingerprint"}, nil)
	tunnelsDesc      = prometheus.NewDesc("fairlead_relay_credential_tunnels", "Open tunnels that a credential was accepted for, by fingerprint.", []string{"fingerprint"}, nil)
)

// Collectors are for their descriptions.
func Collectors() []prometheus.Collector { return []prometheus.Collector{newMetrics(nil)} }

func newMetrics(proxy *Proxy) *metrics {
	return &metrics{proxy: proxy, requests: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "fairlead_relay_requests_total",
		Help: "Requests by decision (proxy, direct, refused) and result: ok, the reason of a refusal, the proxy's status, backoff, tls, timeout, failed.",
	}, []string{"decision", "result"})}
}

func (m *metrics) observe(decision, result string) {
	m.requests.WithLabelValues(decision, result).Inc()
}

// Describe sends the descriptions of all metrics.
func (m *metrics) Describe(to chan<- *prometheus.Desc) {
	m.requests.Describe(to)
	for _, desc := range []*prometheus.Desc{connectionsDesc, beyondDesc, staleDesc, credentialDesc, lastAcceptedDesc, lastRefusedDesc, underwayDesc, tunnelsDesc} {
		to <- desc
	}
}

// Collect sends them as they are now. No label has a credential, or what a client can choose.
func (m *metrics) Collect(to chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	m.requests.Collect(to)
	gauge(connectionsDesc, float64(m.proxy.connections.count()))
	to <- prometheus.MustNewConstMetric(beyondDesc, prometheus.CounterValue, float64(m.proxy.connections.beyond()))
	settings, err := m.proxy.Folder.Read()
	stale := 0.
	if err != nil || m.proxy.Folder.Problem() != nil {
		stale = 1
	}
	gauge(staleDesc, stale)
	if settings != nil {
		for _, c := range settings.Configured(settings) {
			gauge(credentialDesc, 1, c.Credential, c.Fingerprint)
		}
		for mark, count := range m.proxy.underway.by(settings) {
			gauge(underwayDesc, float64(count), mark)
		}
	}
	for _, usage := range m.proxy.dialer.Usage(settings) {
		if usage.Tunnels > 0 || !usage.LastAccepted.IsZero() {
			gauge(tunnelsDesc, float64(usage.Tunnels), usage.Fingerprint)
		}
		if !usage.LastAccepted.IsZero() {
			gauge(lastAcceptedDesc, seconds(usage.LastAccepted), usage.Fingerprint)
		}
		if !usage.LastRefused.IsZero() {
			gauge(lastRefusedDesc, seconds(usage.LastRefused), usage.Fingerprint)
		}
	}
}

func seconds(at time.Time) float64 { return float64(at.UnixMilli()) / 1000 }

// underway counts requests by the settings that they began with: one that waits for the proxy's answer may still send a
// credential that is in no settings any more.
type underway struct {
	mutex sync.Mutex
	of    map[*upstream.Settings]int
}

// begin counts a request until the end.
func (u *underway) begin(settings *upstream.Settings) (end func()) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.of == nil {
		u.of = map[*upstream.Settings]int{}
	}
	u.of[settings]++
	return func() {
		u.mutex.Lock()
		defer u.mutex.Unlock()
		if u.of[settings]--; u.of[settings] == 0 {
			delete(u.of, settings)
		}
	}
}

// by returns the number for each fingerprint, as the current settings name them.
func (u *underway) by(current *upstream.Settings) map[string]int {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	counts := map[string]int{}
	for settings, n := range u.of {
		marks := map[string]bool{}
		for _, c := range current.Configured(settings) {
			marks[c.Fingerprint] = true
		}
		for mark := range marks {
			counts[mark] += n
		}
	}
	return counts
}
