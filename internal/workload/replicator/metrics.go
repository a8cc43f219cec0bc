package replicator

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
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

// states remembers what was last decided for each namespace: for the metric, and to announce changes only. A
// standby has decided nothing.
type states struct {
	desc *prometheus.Desc
	mu   sync.Mutex
	of   map[string]string
}

// change reports whether the state is another than before. One that is empty is none.
func (s *states) change(namespace, state string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[string]string{}
	}
	before := s.of[namespace]
	if s.of[namespace] = state; state == "" {
		delete(s.of, namespace)
	}
	return before != state
}

func (s *states) forget(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, namespace)
}

// Describe implements prometheus.Collector.
func (s *states) Describe(ch chan<- *prometheus.Desc) { ch <- s.desc }

// Collect implements prometheus.Collector.
func (s *states) Collect(ch chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[string]float64{}
	for _, state := range s.of {
		counts[state]++
	}
	for state, count := range counts {
		ch <- prometheus.MustNewConstMetric(s.desc, prometheus.GaugeValue, count, state)
	}
}

func (r *Reconciler) collectors() []prometheus.Collector {
	return []prometheus.Collector{writes, &r.secrets.states, &r.trustedCAs.states}
}

// Collectors are the replicator's own metrics, for who asks what there is.
func Collectors() []prometheus.Collector {
	return append((&Reconciler{secrets: secretCopies(), trustedCAs: trustedCACopies()}).collectors(), &credentials{}, &Exclusions{})
}
