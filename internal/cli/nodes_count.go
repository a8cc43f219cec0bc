package cli

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// clusterNodes has the counts of a report.
type clusterNodes struct {
	Cluster              string                    `json:"cluster"`
	Since                *metav1.Time              `json:"since,omitempty"`
	Machines             int32                     `json:"machines"`
	Outdated             int32                     `json:"outdated"`
	MachinePools         int32                     `json:"machinePools"`
	OutdatedMachinePools int32                     `json:"outdatedMachinePools"`
	Owners               []nodesOwner              `json:"owners"`
	Rollout              *v1alpha1.ReportedRollout `json:"rollout,omitempty"`
}

// nodesOwner is the owner of machines, with their counts.
type nodesOwner struct {
	Owner    string `json:"owner"`
	Machines int32  `json:"machines"`
	Outdated int32  `json:"outdated"`
}

// isOutdated reports whether a machine or a MachinePool is.
func (c clusterNodes) isOutdated() bool { return c.Outdated+c.OutdatedMachinePools > 0 }

// nodesOf returns what reports count, by name, or only of clusters with something outdated.
func nodesOf(reports []v1alpha1.ProxyReport, outdated bool) []clusterNodes {
	all := []clusterNodes{} // a list, also when it is empty
	for _, report := range reports {
		if report.Status.Nodes == nil {
			continue
		}
		if c := countedNodes(report); !outdated || c.isOutdated() {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b clusterNodes) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return all
}

// uncounted returns a report of a cluster with a proxy whose machines are not counted yet.
func uncounted(reports []v1alpha1.ProxyReport) (string, bool) {
	for _, report := range reports {
		if report.Status.Nodes == nil && report.Status.Mode != string(resolve.ModeUnproxied) {
			return fmt.Sprintf("%s/%s", report.Namespace, report.Name), true
		}
	}
	return "", false
}

func countedNodes(report v1alpha1.ProxyReport) clusterNodes {
	n := report.Status.Nodes
	c := clusterNodes{
		Cluster: report.Namespace + "/" + report.Name, Since: n.Since,
		Machines: n.Machines, Outdated: n.Outdated, MachinePools: n.MachinePools, OutdatedMachinePools: n.OutdatedMachinePools,
		Owners: []nodesOwner{},
	}
	rest := nodesOwner{"(others)", n.Machines, n.Outdated}
	for _, o := range n.Owners {
		name := "(none)"
		if o.Kind != "" {
			name = o.Kind + "/" + o.Name
		}
		c.Owners = append(c.Owners, nodesOwner{name, o.Machines, o.Outdated})
		rest.Machines -= o.Machines
		rest.Outdated -= o.Outdated
	}
	if rest.Machines > 0 { // the report lists a bounded number of owners
		c.Owners = append(c.Owners, rest)
	}
	c.Rollout = report.Status.Rollout
	return c
}
