// Package nodes lists which machines of clusters are outdated, by what ProxyReports count.
package nodes

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// Cluster is what a report counts.
type Cluster struct {
	Cluster              string                    `json:"cluster"`
	Since                *metav1.Time              `json:"since,omitempty"`
	Machines             int32                     `json:"machines"`
	Outdated             int32                     `json:"outdated"`
	MachinePools         int32                     `json:"machinePools"`
	OutdatedMachinePools int32                     `json:"outdatedMachinePools"`
	Owners               []Owner                   `json:"owners"`
	Rollout              *v1alpha1.ReportedRollout `json:"rollout,omitempty"`
}

// Owner is who makes machines.
type Owner struct {
	Owner    string `json:"owner"`
	Machines int32  `json:"machines"`
	Outdated int32  `json:"outdated"`
}

// IsOutdated reports whether a machine or a MachinePool is.
func (c Cluster) IsOutdated() bool { return c.Outdated+c.OutdatedMachinePools > 0 }

// Clusters returns what reports count, by name, or only of clusters with something outdated.
func Clusters(reports []v1alpha1.ProxyReport, outdated bool) []Cluster {
	all := []Cluster{} // a list, also when it is empty
	for _, report := range reports {
		if report.Status.Nodes == nil {
			continue
		}
		if c := read(report); !outdated || c.IsOutdated() {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b Cluster) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return all
}

// Uncounted returns a report of a cluster with a proxy whose machines are not counted yet.
func Uncounted(reports []v1alpha1.ProxyReport) (string, bool) {
	for _, report := range reports {
		if report.Status.Nodes == nil && report.Status.Mode != string(resolve.ModeUnproxied) {
			return fmt.Sprintf("%s/%s", report.Namespace, report.Name), true
		}
	}
	return "", false
}

func read(report v1alpha1.ProxyReport) Cluster {
	n := report.Status.Nodes
	c := Cluster{
		Cluster: report.Namespace + "/" + report.Name, Since: n.Since,
		Machines: n.Machines, Outdated: n.Outdated, MachinePools: n.MachinePools, OutdatedMachinePools: n.OutdatedMachinePools,
		Owners: []Owner{},
	}
	rest := Owner{"(others)", n.Machines, n.Outdated}
	for _, o := range n.Owners {
		name := "(none)"
		if o.Kind != "" {
			name = o.Kind + "/" + o.Name
		}
		c.Owners = append(c.Owners, Owner{name, o.Machines, o.Outdated})
		rest.Machines -= o.Machines
		rest.Outdated -= o.Outdated
	}
	if rest.Machines > 0 { // the report lists a bounded number of owners
		c.Owners = append(c.Owners, rest)
	}
	c.Rollout = report.Status.Rollout
	return c
}
