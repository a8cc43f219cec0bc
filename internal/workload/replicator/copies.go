package replicator

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
)

const (
	resultWritten = "written"
	resultFailed  = "failed"
)

var writes = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "fairlead_copy_writes_total",
	Help: "Writes of copies of the Secret fairlead-proxy, by verb and result.",
}, []string{"verb", "result"})

var copiesDesc = prometheus.NewDesc("fairlead_copies",
	"Namespaces, by the state of their copy of the Secret fairlead-proxy.", []string{"state"}, nil)

var trustedCACopiesDesc = prometheus.NewDesc("fairlead_trusted_ca_copies",
	"Namespaces that have or need a copy of the ConfigMap fairlead-trusted-ca, by its state.", []string{"state"}, nil)

// latest has the last decision for each namespace: for metrics, and to announce changes only. A standby has none.
type latest[T comparable] struct {
	mu sync.Mutex
	of map[string]T
}

// change reports whether a namespace had another value before. The zero one is none.
func (l *latest[T]) change(namespace string, value T) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[string]T{}
	}
	previous, none := l.of[namespace], *new(T)
	if l.of[namespace] = value; value == none {
		delete(l.of, namespace)
	}
	return previous != value
}

func (l *latest[T]) values() []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.of))
}

// states are the states of the copies of one object.
type states struct {
	latest[string]

	desc *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (s *states) Describe(ch chan<- *prometheus.Desc) { ch <- s.desc }

// Collect implements prometheus.Collector.
func (s *states) Collect(ch chan<- prometheus.Metric) { collectCounts(ch, s.desc, s.values()) }

// collectCounts sends how often each label is there.
func collectCounts(ch chan<- prometheus.Metric, desc *prometheus.Desc, labels []string) {
	counts := map[string]float64{}
	for _, label := range labels {
		counts[label]++
	}
	for label, count := range counts {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, count, label)
	}
}

func (r *Reconciler) collectors() []prometheus.Collector {
	return []prometheus.Collector{writes, &r.secrets.states, &r.trustedCAs.states}
}

// Collectors returns the replicator's own metrics, for who asks what there is.
func Collectors() []prometheus.Collector {
	return append((&Reconciler{secrets: secretCopies(), trustedCAs: trustedCACopies()}).collectors(), &credentials{}, &Exclusions{})
}

// copies are the copies of one object in all namespaces: how it stands with each, and how often it is written.
type copies struct {
	states
	paces

	kind, name string
	present    func(state) client.Object // that of a namespace
	writes     *prometheus.CounterVec    // nil if nobody counts them
}

func secretCopies() copies {
	return copies{
		states: states{desc: copiesDesc}, kind: "Secret", name: proxysecret.Name, writes: writes,
		present: func(s state) client.Object { return s.copy },
	}
}

func trustedCACopies() copies {
	return copies{
		states: states{desc: trustedCACopiesDesc}, kind: "ConfigMap", name: proxysecret.TrustedCAName,
		present: func(s state) client.Object { return s.trustedCA.copy },
	}
}

func (c *copies) forget(namespace string) {
	c.paces.forget(namespace)
	c.change(namespace, "")
}

func (c *copies) count(verb, result string) {
	if c.writes != nil {
		c.writes.WithLabelValues(verb, result).Inc()
	}
}

// So many writes go to one namespace at once; from then on, one in so long. Whoever answers each write of ours with
// one of their own, as a controller does, would keep the API server busy otherwise.
const (
	burst = 10
	pace  = 10 * time.Second
)

// paces bounds the writes of each namespace.
type paces struct {
	mu sync.Mutex
	of map[string]flowcontrol.RateLimiter
}

// allow reports whether a write may be made now, and counts it.
func (p *paces) allow(namespace string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[string]flowcontrol.RateLimiter{}
	}
	if p.of[namespace] == nil {
		p.of[namespace] = flowcontrol.NewTokenBucketRateLimiter(float32(time.Second)/float32(pace), burst)
	}
	return p.of[namespace].TryAccept()
}

func (p *paces) forget(namespace string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.of, namespace)
}
