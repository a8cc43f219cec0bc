package observe

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

var (
	clustersDesc = prometheus.NewDesc("fairlead_observe_clusters",
		"Clusters by the result of the last look at them.", []string{"result"}, nil)
	secondsDesc = prometheus.NewDesc("fairlead_observe_sweep_seconds",
		"How long the last round over all clusters took. Absent before the first.", nil, nil)
)

// meter remembers the last result of each cluster.
type meter struct {
	mu      sync.Mutex
	by      map[types.NamespacedName]string
	seconds float64
}

// saw notes a result; empty: nothing is known of the cluster.
func (m *meter) saw(cluster types.NamespacedName, result string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.by == nil {
		m.by = map[types.NamespacedName]string{}
	}
	if m.by[cluster] = result; result == "" {
		delete(m.by, cluster)
	}
}

// swept notes that a sweep is done, and forgets clusters that were not in it.
func (m *meter) swept(turns []turn, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.by
	m.by, m.seconds = make(map[types.NamespacedName]string, len(turns)), took.Seconds()
	for _, t := range turns {
		if result, ok := before[t.key]; ok {
			m.by[t.key] = result
		}
	}
}

// Describe implements prometheus.Collector.
func (m *meter) Describe(ch chan<- *prometheus.Desc) {
	ch <- clustersDesc
	ch <- secondsDesc
}

// Collect implements prometheus.Collector.
func (m *meter) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	counts := make(map[string]int, len(results))
	for _, result := range m.by {
		counts[result]++
	}
	for _, result := range results {
		ch <- prometheus.MustNewConstMetric(clustersDesc, prometheus.GaugeValue, float64(counts[result]), result)
	}
	if m.seconds > 0 {
		ch <- prometheus.MustNewConstMetric(secondsDesc, prometheus.GaugeValue, m.seconds)
	}
}

// Collectors are this program's own metrics, for who asks what there is.
func Collectors() []prometheus.Collector { return []prometheus.Collector{&meter{}} }
