// Package delivery decides what Cluster API applies in a workload cluster, and what its answer means.
//
//	document.go  the fixed text of what is applied
//	source.go    the Helm values of a cluster → the Secret fairlead-source
//	payload.go   a document → what a resource-set Secret holds, and back
//	decide.go    whether a Cluster is delivered to
//	answer.go    what Cluster API says → status.delivered of a ProxyReport
//	condition.go  that → the condition Delivered
package delivery

// Part is one of the two things that a workload cluster gets: each is a ClusterResourceSet and a Secret of the same name.
type Part string

// The parts. The Namespace is applied once, since Cluster API takes away labels and annotations of others from what it applies again.
const (
	Source    Part = "source"
	Namespace Part = "namespace"
)

// Label marks what is made in the management cluster. Its value is the part.
const Label = "fairlead.io/delivery"

// Key is the only one of a Secret that Cluster API applies.
const Key = "objects"

// Name returns the name of the objects of a part.
func (p Part) Name(cluster string) string { return cluster + "-fairlead-" + string(p) }

// Strategy returns what Cluster API calls it.
func (p Part) Strategy() string {
	if p == Namespace {
		return "ApplyOnce"
	}
	return "Reconcile"
}
