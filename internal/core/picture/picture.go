// Package picture sums up the state of a whole fleet: the problems, where and for how long, the progress of changes,
// older settings that remain, and ends that come. It judges objects that were read, by the sentences of package
// diagnosis, and reads nothing itself.
package picture

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/diagnosis"
)

// State is how a cluster or a fleet stands, in a word: the worst that is to be said of it.
type State string

// The states, the worst first.
const (
	Error   State = State(diagnosis.Error)
	Warning State = State(diagnosis.Warning)
	Unknown State = State(diagnosis.Unknown)
	Waiting State = "Waiting" // nobody must do anything: it continues by itself
	Fine    State = "Fine"
)

// States has all of them, the worst first.
var States = []State{Error, Warning, Unknown, Waiting, Fine}

// Input holds the objects that were read.
type Input struct {
	Now               time.Time
	OperatorNamespace string
	Reports           []v1alpha1.ProxyReport
	Proxies           []v1alpha1.CorporateProxy
	Clusters          []metav1.ObjectMeta         // of Cluster API
	Lease             *diagnosis.Lease            // nil: there is none
	Unread            map[diagnosis.Source]string // what could not be read, or is not in the files: why
}

// Picture is how a fleet stands.
type Picture struct {
	Time     metav1.Time `json:"time"`
	States   []Count     `json:"states"`   // all of them, the worst first
	Problems []Problem   `json:"problems"` // the worst first
	Proxies  []Proxy     `json:"proxies"`
	Behind   []Behind    `json:"behind"`
	Expires  []Expiry    `json:"expires"`  // the soonest first
	Clusters []Cluster   `json:"clusters"` // by name
	Unread   []string    `json:"notLookedAt,omitempty"`
}

// Count is how many clusters are in a state.
type Count struct {
	State    State `json:"state"`
	Clusters int   `json:"clusters"`
}

// Cluster is one of the fleet.
type Cluster struct {
	Namespace string       `json:"namespace"`
	Name      string       `json:"name"`
	State     State        `json:"state"`
	Since     *metav1.Time `json:"since,omitempty"` // of the worst that is said of it
	Codes     []string     `json:"codes,omitempty"` // of all that is said of it, the worst first
	Mode      string       `json:"mode,omitempty"`
	Proxy     string       `json:"proxy,omitempty"`
	Revision  int64        `json:"revision,omitempty"`
	Provider  string       `json:"provider,omitempty"` // the kind of its infrastructure object, if its facts are read
	Machines  int32        `json:"machines"`
	Outdated  int32        `json:"outdated"`

	Said   []diagnosis.Sentence  `json:"-"`
	Report *v1alpha1.ProxyReport `json:"-"` // nil: it has none
}

// Of says how the fleet stands.
func Of(in Input) Picture {
	p := Picture{Time: metav1.NewTime(in.Now.UTC().Truncate(time.Second)), Clusters: clusters(in), Proxies: proxies(in.Proxies)}
	for _, state := range States {
		n := 0
		for _, c := range p.Clusters {
			if c.State == state {
				n++
			}
		}
		p.States = append(p.States, Count{state, n})
	}
	p.Problems = problems(in, p.Clusters)
	p.Behind = behind(in, p.Clusters)
	p.Expires = expires(in)
	for _, source := range []diagnosis.Source{diagnosis.SourceOperator, diagnosis.SourceCluster, diagnosis.SourceProxy} {
		if why, ok := in.Unread[source]; ok {
			p.Unread = append(p.Unread, string(source)+": "+why)
		}
	}
	return p
}

// Stopped reports whether the operator does not run, so that all states are from before.
func (p Picture) Stopped() bool {
	return slices.ContainsFunc(p.Problems, func(problem Problem) bool { return problem.Code == diagnosis.OperatorStopped })
}

// clusters returns the clusters with a report, and the Clusters of Cluster API without one, by name.
func clusters(in Input) []Cluster {
	type key struct{ namespace, name string }
	there := make(map[key]*metav1.ObjectMeta, len(in.Clusters))
	for i := range in.Clusters {
		there[key{in.Clusters[i].Namespace, in.Clusters[i].Name}] = &in.Clusters[i]
	}
	rolling := map[string]*v1alpha1.CorporateProxy{}
	for i := range in.Proxies {
		rolling[in.Proxies[i].Name] = &in.Proxies[i]
	}
	all := make([]Cluster, 0, max(len(in.Reports), len(in.Clusters)))
	for i := range in.Reports {
		report := &in.Reports[i]
		at := key{report.Namespace, report.Name}
		all = append(all, judged(in, there[at], report, rolling[report.Status.ProxyName]))
		delete(there, at)
	}
	for _, cluster := range there {
		all = append(all, judged(in, cluster, nil, nil))
	}
	slices.SortFunc(all, func(a, b Cluster) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all
}

func judged(in Input, cluster *metav1.ObjectMeta, report *v1alpha1.ProxyReport, proxy *v1alpha1.CorporateProxy) Cluster {
	c := Cluster{State: Fine, Report: report}
	if report != nil {
		c.Namespace, c.Name = report.Namespace, report.Name
		c.describe(report.Status)
	} else {
		c.Namespace, c.Name = cluster.Namespace, cluster.Name
	}
	c.Said = diagnosis.OfMany(diagnosis.Input{
		Now: in.Now, Namespace: c.Namespace, Name: c.Name, OperatorNamespace: in.OperatorNamespace,
		Cluster: cluster, Report: report, Proxy: proxy, Unread: in.Unread,
	})
	if len(c.Said) > 0 {
		c.State, c.Since = stateOf(c.Said[0].Severity), c.Said[0].Since
	}
	for _, s := range c.Said {
		c.Codes = append(c.Codes, s.Code)
	}
	return c
}

func (c *Cluster) describe(status v1alpha1.ProxyReportStatus) {
	c.Mode, c.Proxy = status.Mode, status.ProxyName
	if status.Revision != nil {
		c.Revision = status.Revision.Number
	}
	if status.Facts != nil {
		c.Provider = status.Facts.Kind
	}
	if status.Nodes != nil {
		c.Machines, c.Outdated = status.Nodes.Machines, status.Nodes.Outdated
	}
}

// stateOf returns the state of a cluster by the worst that is said of it.
func stateOf(severity diagnosis.Severity) State {
	if severity == diagnosis.Info {
		return Waiting
	}
	return State(severity)
}
