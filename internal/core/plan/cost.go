package plan

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// Costs are the costs of a change in one cluster.
type Costs struct {
	// Secrets are the roles of the objects whose content differs: cluster-values, systemd-proxy, cluster-values-configmap.
	Secrets []string `json:"secrets"`
	// Charts get other values, and restart pods; nobody has counted those.
	Charts bool `json:"charts"`
	// ReplacesMachines: what a machine is told differs, so those that are built already are outdated.
	ReplacesMachines bool `json:"replacesMachines"`
	// Machines and MachinePools that are outdated then; absent: nobody has counted them.
	Machines     *int `json:"machines,omitempty"`
	MachinePools *int `json:"machinePools,omitempty"`
}

// Cost is the cost of a change in several clusters.
type Cost struct {
	Charts         int `json:"charts"`         // clusters whose charts get other values
	MachinesOf     int `json:"machinesOf"`     // clusters whose machines are outdated then
	Machines       int `json:"machines"`       // of those that are counted
	MachinePools   int `json:"machinePools"`   // too
	MachinesUnseen int `json:"machinesUnseen"` // clusters whose machines nobody has counted
}

func costs(was, is side, c Change) Costs {
	cost := Costs{Secrets: []string{}}
	if is.problem != nil || is.cluster == nil || c.Paused {
		return cost // nothing is written; or everything is gone with the Cluster
	}
	assumed := map[string]bool{} // what is not seen may differ
	unread := was.cluster != nil && was.problem == nil && was.cluster.Unread != is.cluster.Unread
	if unread {
		before, after := was.cluster.Unread, is.cluster.Unread
		otherCredentials := before.Credentials != after.Credentials || before.Previous != after.Previous
		for role := range is.objects {
			assumed[role] = role == render.SystemdRole || role == render.ValuesRole && otherCredentials
		}
	}
	for _, role := range slices.Sorted(maps.Keys(is.objects)) {
		if was.objects[role] == nil || assumed[role] || !maps.EqualFunc(was.objects[role], is.objects[role], bytes.Equal) {
			cost.Secrets = append(cost.Secrets, role)
		}
	}
	if c.Change == Added {
		return cost // there is nothing yet that would be restarted or replaced
	}
	cost.Charts = slices.ContainsFunc(cost.Secrets, func(role string) bool { return role != render.SystemdRole })
	cost.ReplacesMachines = !bytes.Equal(was.meaning, is.meaning) || unread && onMachines(was, is)
	if machines := is.cluster.Machines; cost.ReplacesMachines && machines != nil {
		cost.Machines, cost.MachinePools = &machines.Machines, &machines.MachinePools
	}
	return cost
}

// onMachines reports whether a change of an object that is compared by its name alone replaces machines: a relay reads
// its credentials again.
func onMachines(was, is side) bool {
	before, after := was.cluster.Unread, is.cluster.Unread
	return before.TrustedCA != after.TrustedCA || before.Credentials != after.Credentials && is.effective.Node.Delivery != resolve.DeliveryRelay
}

func costOf(changes []Change) Cost {
	var cost Cost
	for _, c := range changes {
		if c.Costs.Charts {
			cost.Charts++
		}
		if !c.Costs.ReplacesMachines {
			continue
		}
		cost.MachinesOf++
		if c.Costs.Machines == nil {
			cost.MachinesUnseen++
			continue
		}
		cost.Machines += *c.Costs.Machines
		cost.MachinePools += *c.Costs.MachinePools
	}
	return cost
}

// trustedCA says which certificates machines get: those that are known by a digest, others by where they are from.
func trustedCA(s side) string {
	if name := s.cluster.Unread.TrustedCA; name != "" {
		return name
	}
	bundle := s.effective.Node.TrustedCA
	if bundle == nil {
		return ""
	}
	return fmt.Sprintf("%d certificates, sha256:%.6x", len(s.effective.Node.Certificates), sha256.Sum256(bundle))
}
