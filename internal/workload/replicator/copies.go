package replicator

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
)

// copies are those of one object in all namespaces: how it stands with each, and how often it is written.
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
