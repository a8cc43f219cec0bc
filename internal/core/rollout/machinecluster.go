package rollout

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// The kinds that own machines and that Fairlead rolls.
const (
	KubeadmControlPlane = "KubeadmControlPlane"
	MachineDeployment   = "MachineDeployment"
)

// rolled are the kinds that Fairlead rolls, in the order in which it does within a
// cluster. Others have no spec.rollout.after, or another one.
var rolled = []string{KubeadmControlPlane, MachineDeployment}

// MachineCluster is a cluster as the rollout sees it.
type MachineCluster struct {
	Key           types.NamespacedName
	ReportUID     types.UID
	ReportVersion string // as it was read
	Wanted        bool   // its CorporateProxy says Rolling
	Ready         bool   // by its report
	Paused        bool
	Deleting      bool
	Nodes         *v1alpha1.ReportedNodes
	Rollout       v1alpha1.ReportedRollout
	Pool          Pool
	Deadline      time.Duration // without progress for so long, it is skipped; 0: the default
	Stopped       string        // why no cluster of its CorporateProxy begins; empty: they do

	Claimed  bool      // by this process, which has not seen until now what others claim
	Seen     time.Time // when nodes.since was first seen, by the operator's clock
	Retry    time.Time // no try before this; the zero value is none
	Failures int       // tries to begin that came to nothing, since it last began
}

// Holds reports whether this cluster's rollout is under way. It is also while it is
// paused or has a problem: then something may be wrong, and it keeps its place until its deadline.
func (c *MachineCluster) Holds() bool {
	return c.Rollout.After != nil && c.Wanted && !c.Deleting
}

// Able reports whether nothing but its machines keeps a cluster from being rolled.
func (c *MachineCluster) Able() bool { return c.Wanted && c.Ready && !c.Paused && !c.Deleting }

// mayBegin is also true for one that was skipped and may have come up since.
func (c *MachineCluster) mayBegin() bool {
	switch {
	case c.Stopped != "" || !c.Able():
		return false
	case c.skipped():
		_, ok := c.LastRolled()
		return ok
	}
	return c.HasToRoll()
}

// fewFailures may pass: the cache is a moment behind, a webhook restarts.
const fewFailures = 3

// goesFirst reports whether clusters of later waves wait for this one. They do not if it cannot be rolled, or it was not
// possible to begin several times: a wave that cannot end would halt all later ones.
func (c *MachineCluster) goesFirst() bool {
	return c.Able() && (c.Holds() || c.HasToRoll() && !c.skipped() && c.Failures <= fewFailures)
}

// skipped reports whether this cluster was given up. A later change is tried again.
func (c *MachineCluster) skipped() bool {
	return c.Rollout.Skipped != nil && c.Rollout.After == nil && c.Rollout.Skipped.Equal(c.Since())
}

// Since returns when the settings of the cluster's machines last changed; nil is never.
func (c *MachineCluster) Since() *metav1.Time {
	if c.Nodes == nil {
		return nil
	}
	return c.Nodes.Since
}

// started returns when its last rollout began; the zero value is never.
func (c *MachineCluster) started() time.Time {
	return ptr.Deref(c.Rollout.Started, metav1.Time{}).Time
}

// settles returns how long a change has to go round.
func (c *MachineCluster) settles(now time.Time) time.Duration {
	return max(c.Seen.Add(SettleTime).Sub(now), 0)
}

func (c *MachineCluster) waits(now time.Time) time.Duration {
	return max(c.settles(now), c.Retry.Sub(now), 0)
}

// ToRoll returns the owners with outdated machines that Fairlead rolls, in order.
func (c *MachineCluster) ToRoll() []v1alpha1.ReportedOwner {
	owners := c.outdated(true)
	slices.SortStableFunc(owners, func(a, b v1alpha1.ReportedOwner) int {
		return cmp.Or(slices.Index(rolled, a.Kind)-slices.Index(rolled, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return owners
}

// HasToRoll reports whether there are any.
func (c *MachineCluster) HasToRoll() bool {
	return c.Since() != nil && slices.ContainsFunc(c.Nodes.Owners, func(o v1alpha1.ReportedOwner) bool { return isOutdated(o, true) })
}

func isOutdated(o v1alpha1.ReportedOwner, ofRolledKind bool) bool {
	return o.Outdated > 0 && slices.Contains(rolled, o.Kind) == ofRolledKind
}

func (c *MachineCluster) outdated(ofRolledKind bool) []v1alpha1.ReportedOwner {
	if c.Since() == nil {
		return nil
	}
	var owners []v1alpha1.ReportedOwner
	for _, o := range c.Nodes.Owners {
		if isOutdated(o, ofRolledKind) {
			owners = append(owners, o)
		}
	}
	return owners
}

// The beginnings of messages in reports: three for a cluster that waits, one for a rollout under way.
const (
	waitsPaused   = "waits: the Cluster is paused"
	waitsNotReady = "waits: the report is not Ready"
	waitsForTurn  = "waits for its turn"
	rollingOwner  = "rolling "
)

// Describe returns what the report of a cluster says while it is not its turn, also once it gives its turn back. It
// does not depend on other clusters.
func (c *MachineCluster) Describe() v1alpha1.ReportedRollout {
	status := v1alpha1.ReportedRollout{Started: c.Rollout.Started}
	switch {
	case !c.Wanted || c.Deleting:
		return status
	case c.skipped():
		return c.Rollout
	case c.inVain():
		status.Message = c.Rollout.Message
		return status
	}
	var parts []string
	if c.HasToRoll() {
		switch {
		case c.Paused:
			parts = append(parts, waitsPaused)
		case !c.Ready:
			parts = append(parts, waitsNotReady)
		case c.Stopped != "":
			parts = append(parts, "waits: "+c.Stopped)
		default:
			parts = append(parts, waitsForTurn)
		}
	}
	status.Message = strings.Join(append(parts, c.NotRolled()...), "; ")
	return status
}

// inVain reports whether the message comes from the last try to begin, which failed. The message stays until the next
// try, and names an owner that is to be rolled. So the answer outlives this process.
func (c *MachineCluster) inVain() bool {
	return c.Rollout.After == nil && c.mayBegin() && !strings.HasPrefix(c.Rollout.Message, rollingOwner) &&
		slices.ContainsFunc(c.ToRoll(), func(o v1alpha1.ReportedOwner) bool {
			return strings.Contains(c.Rollout.Message, OwnerName(o))
		})
}

// HeldFor returns what the report of a cluster under way says while nothing begins.
func (c *MachineCluster) HeldFor(message string) v1alpha1.ReportedRollout {
	return v1alpha1.ReportedRollout{After: c.Rollout.After, Started: c.Rollout.Started, Owner: c.Rollout.Owner, Message: message}
}

// NotRolled says which outdated machines Fairlead leaves alone.
func (c *MachineCluster) NotRolled() []string {
	var names []string
	for _, o := range c.outdated(false) {
		if o.Kind == "" {
			names = append(names, "machines without owner")
			continue
		}
		names = append(names, OwnerName(o))
	}
	if names == nil {
		return nil
	}
	return []string{"not rolled by Fairlead: " + strings.Join(names, ", ")}
}

// LastRolled returns the owner that was told last, if it has no outdated machine any more.
func (c *MachineCluster) LastRolled() (v1alpha1.ReportedOwner, bool) {
	kind, name, ok := strings.Cut(c.Rollout.Owner, "/")
	still := slices.ContainsFunc(c.ToRoll(), func(o v1alpha1.ReportedOwner) bool { return o.Kind == kind && o.Name == name })
	return v1alpha1.ReportedOwner{Kind: kind, Name: name}, ok && !still
}

// OwnerName returns the name by which messages call an owner of machines.
func OwnerName(o v1alpha1.ReportedOwner) string { return o.Kind + " " + o.Name }

// UnderWay returns what the report says during the cluster's turn.
func (c *MachineCluster) UnderWay(now time.Time, o v1alpha1.ReportedOwner) v1alpha1.ReportedRollout {
	status := v1alpha1.ReportedRollout{After: c.Nodes.Since, Started: c.Rollout.Started, Owner: o.Kind + "/" + o.Name}
	if c.Rollout.After == nil || status.Started == nil {
		started := metav1.NewTime(now.Truncate(time.Second))
		status.Started = &started
	}
	status.Message = strings.Join(append([]string{rollingOwner + OwnerName(o)}, c.NotRolled()...), "; ")
	return status
}

// Same reports whether two statuses are equal.
func Same(a, b v1alpha1.ReportedRollout) bool { return equality.Semantic.DeepEqual(a, b) }
