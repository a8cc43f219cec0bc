package deliver

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// secretContent describes what a Secret of ours holds for Cluster API.
type secretContent struct {
	hmac   string // of the operator's Secret that it was made from
	hash   string // of the payload
	sealed time.Time
	looked time.Time // when the Secrets were last read
}

// memory holds the content of each cluster's Secret and what came of it. All of it can be read again after a restart.
type memory struct {
	mu       sync.Mutex
	contents map[types.NamespacedName]secretContent
	states   map[types.NamespacedName]string
}

func newMemory() *memory {
	return &memory{contents: map[types.NamespacedName]secretContent{}, states: map[types.NamespacedName]string{}}
}

func (m *memory) lastContent(cluster types.NamespacedName) (secretContent, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g, ok := m.contents[cluster]
	return g, ok
}

func (m *memory) setContent(cluster types.NamespacedName, g secretContent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.contents[cluster] = g
}

// doubt forgets the content of a cluster's Secret, so that it is read again before it counts.
func (m *memory) doubt(cluster types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.contents, cluster)
}

func (m *memory) forget(cluster types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.contents, cluster)
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
