package deliver

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// given is what a Secret of ours holds for Cluster API.
type given struct {
	hmac   string // of the operator's Secret that it was made from
	hash   string // of the payload
	sealed time.Time
	looked time.Time // when the Secrets were last read
}

// memory is what was given for each cluster, and what came of it. Everything in it can be read again.
type memory struct {
	mu     sync.Mutex
	given  map[types.NamespacedName]given
	states map[types.NamespacedName]string
}

func newMemory() *memory {
	return &memory{given: map[types.NamespacedName]given{}, states: map[types.NamespacedName]string{}}
}

func (m *memory) last(cluster types.NamespacedName) (given, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g, ok := m.given[cluster]
	return g, ok
}

func (m *memory) gave(cluster types.NamespacedName, g given) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.given[cluster] = g
}

// doubt forgets what was given, until it is known again that all of it is there.
func (m *memory) doubt(cluster types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.given, cluster)
}

func (m *memory) forget(cluster types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.given, cluster)
	delete(m.states, cluster)
}

func (m *memory) saw(cluster types.NamespacedName, d *v1alpha1.Delivered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d == nil {
		delete(m.states, cluster)
		return
	}
	m.states[cluster] = d.State
}

var clustersDesc = prometheus.NewDesc("fairlead_deliver_clusters",
	"Clusters by the state of status.delivered of their ProxyReport.", []string{"state"}, nil)

// Describe implements prometheus.Collector.
func (m *memory) Describe(ch chan<- *prometheus.Desc) { ch <- clustersDesc }

// Collect implements prometheus.Collector.
func (m *memory) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	counts := map[string]int{}
	for _, state := range m.states {
		counts[state]++
	}
	for _, state := range []string{v1alpha1.DeliveryApplied, v1alpha1.DeliveryNotApplied, v1alpha1.DeliveryBlocked} {
		ch <- prometheus.MustNewConstMetric(clustersDesc, prometheus.GaugeValue, float64(counts[state]), state)
	}
}

// Collectors are this program's own metrics, for who asks what there is.
func Collectors() []prometheus.Collector { return []prometheus.Collector{newMemory()} }
