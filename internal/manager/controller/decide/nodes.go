package decide

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// Machine has the fields of a Machine or a MachinePool that counting needs.
type Machine struct {
	Pool    bool
	Created metav1.Time
	Owner   Owner
}

// Owner is the object that replaces a machine; the zero value stands for none.
type Owner struct{ Kind, Name string }

// MachinePoolKind is the kind of a MachinePool, which is counted though it is no Machine.
const MachinePoolKind = "MachinePool"

// OwnerOf says who replaces a machine: the MachineDeployment or MachinePool that
// Cluster API labels it with, or else its controller: a control plane, a
// MachineSet that stands alone.
func OwnerOf(m *metav1.PartialObjectMetadata) Owner {
	if name := m.Labels[clusterv1.MachineDeploymentNameLabel]; name != "" {
		return Owner{rollout.MachineDeployment, name}
	}
	if name := m.Labels[clusterv1.MachinePoolNameLabel]; name != "" {
		return Owner{MachinePoolKind, name}
	}
	if controller := metav1.GetControllerOfNoCopy(m); controller != nil {
		return Owner{controller.Kind, controller.Name}
	}
	return Owner{}
}

// nextNodes returns the nodes of a report after a write of the Secret that machines read. It decides whether machines
// from before the write are outdated: only then does the time of the last change, Since, move on.
//
//   - The first write is no change, since machines wait for the Secret. If it took over somebody else's Secret, it is one:
//     machines may have been built from that.
//   - Later, it is a change if both the digest of what machines are told and the Secret's content differ from the last.
//   - doubt says that an earlier write may not have been recorded. The same content is a change then if the write changed
//     the Secret: it replaced something unknown, from which machines may have been built.
//   - Digests of different keys cannot be compared. Then it is a change if the write changed the Secret.
func nextNodes(last *v1alpha1.ReportedNodes, a Attempt, doubt bool, digest string) *v1alpha1.ReportedNodes {
	record, w := a.Last, a.Answer
	rewritten := record.UID != w.UID || record.Written == nil || !record.Written.Equal(&w.At)
	next := &v1alpha1.ReportedNodes{}
	if last != nil {
		next = last.DeepCopy()
	}
	next.HMAC = digest
	var moves bool
	switch {
	case record.UID == "" && w.Rival != "":
		moves = true
	case last == nil || last.HMAC == "":
	case apply.SameKey(last.HMAC, digest):
		same := !changed(record, a.fingerprint) && record.OwnedByCluster == a.shared
		moves = last.HMAC != digest && changed(record, a.fingerprint) || doubt && same && rewritten
	default:
		moves = rewritten
	}
	// If the clock was set back, machines built before the last change would
	// count as built after it.
	if since := firstSecondAfter(w.At); moves && !since.Before(next.Since) {
		next.Since = since
	}
	return next
}

// firstSecondAfter is later than every Machine that was there before a write: both
// times have no fraction, so one of the same second may have been earlier.
func firstSecondAfter(t metav1.Time) *metav1.Time {
	after := metav1.NewTime(t.Truncate(time.Second).Add(time.Second))
	return &after
}

// maxOwners is the bound of the CRD's schema.
const maxOwners = 64

// count counts machines into the nodes of a report, if there are any yet.
func count(nodes *v1alpha1.ReportedNodes, machines []Machine) {
	if nodes == nil {
		return
	}
	owners := map[Owner]*v1alpha1.ReportedOwner{}
	nodes.Machines, nodes.Outdated, nodes.MachinePools, nodes.OutdatedMachinePools = 0, 0, 0, 0
	for _, m := range machines {
		outdated := int32(0)
		if nodes.Since != nil && m.Created.Before(nodes.Since) {
			outdated = 1
		}
		if m.Pool {
			nodes.MachinePools++
			nodes.OutdatedMachinePools += outdated
			continue
		}
		nodes.Machines++
		nodes.Outdated += outdated
		if owners[m.Owner] == nil {
			owners[m.Owner] = &v1alpha1.ReportedOwner{Kind: m.Owner.Kind, Name: m.Owner.Name}
		}
		owners[m.Owner].Machines++
		owners[m.Owner].Outdated += outdated
	}
	nodes.Owners = listOwners(owners)
}

func listOwners(owners map[Owner]*v1alpha1.ReportedOwner) []v1alpha1.ReportedOwner {
	var list []v1alpha1.ReportedOwner
	for _, o := range owners {
		list = append(list, *o)
	}
	slices.SortFunc(list, func(a, b v1alpha1.ReportedOwner) int {
		return cmp.Or(int(min(b.Outdated, 1)-min(a.Outdated, 1)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return list[:min(len(list), maxOwners)]
}

// outdatedMessage returns the message of the condition MachinesOutdated, empty if no machines are.
func outdatedMessage(nodes *v1alpha1.ReportedNodes) string {
	if nodes == nil || nodes.Outdated == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d machines were built before %s and keep the settings of that time until they are replaced",
		nodes.Outdated, nodes.Machines, nodes.Since.UTC().Format(time.RFC3339))
}
