// Package rollout decides in which order the outdated machines of a fleet are replaced: whose turn it is, what is done next
// for it, and what the reports of all clusters say meanwhile. It is pure: it is given the time and the fleet.
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

// Cluster is a cluster as the rollout sees it.
type Cluster struct {
	Key           types.NamespacedName
	ReportUID     types.UID
	ReportVersion string // as it was read
	Wanted        bool   // its CorporateProxy says Rolling
	Ready         bool   // by its report
	Paused        bool
	Deleting      bool
	Nodes         *v1alpha1.ReportedNodes
	Rollout       v1alpha1.ReportedRollout

	Claimed bool      // by this process, which has not seen until now what others claim
	Seen    time.Time // when nodes.since was first seen, by the operator's clock
	Retry   time.Time // no try before this; the zero value is none
}

// Plan is what to do next for the fleet.
type Plan struct {
	Try  []*Cluster    // the one being rolled; or those to try in order, the first that can begins
	Rest []*Cluster    // only to be described
	Wait time.Duration // until the next look is worth it; 0 if an event will tell
}

// Within has the next look after this wait, or before; 0 is no look.
func (p *Plan) Within(wait time.Duration) {
	if p.Wait == 0 || wait != 0 && wait < p.Wait {
		p.Wait = wait
	}
}

// SettleTime is how long since has been seen before a rollout begins: Cluster API
// compares spec.rollout.after with a clock of its own, and does nothing while it is in
// the future. The operator's clock is compared with itself alone.
const SettleTime = 3 * time.Second

// Next decides whose turn it is: of the cluster that is being rolled until
// it is done or skipped, or else, an interval after the last one began, of the
// first that needs it and can: those that never began come first, then those that
// began longest ago, then the order is by name. So one that is changed all the time
// does not get ahead of those that wait. What a cluster holds is in its report:
// status.rollout.after. While any report has it, none begins: one that must not go on
// is released first.
func Next(fleet []*Cluster, now time.Time, interval time.Duration) Plan {
	slices.SortFunc(fleet, func(a, b *Cluster) int {
		return cmp.Or(cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name))
	})
	at := slices.IndexFunc(fleet, func(c *Cluster) bool { return c.Holds() && !c.Claimed })
	if at < 0 {
		at = slices.IndexFunc(fleet, (*Cluster).Holds)
	}
	if at >= 0 {
		p := Plan{Rest: slices.Concat(fleet[:at], fleet[at+1:])}
		if p.Wait = fleet[at].waits(now); p.Wait == 0 {
			p.Try = fleet[at : at+1]
		}
		return p
	}
	if slices.ContainsFunc(fleet, func(c *Cluster) bool { return c.Rollout.After != nil }) {
		return Plan{Rest: fleet}
	}
	var p Plan
	var settling time.Duration // the change that is, to those that come first
	for _, c := range fleet {
		if !c.mayBegin() {
			p.Rest = append(p.Rest, c)
			continue
		}
		settling = max(settling, c.settles(now))
		if wait := c.waits(now); wait > 0 {
			p.Rest = append(p.Rest, c)
			p.Within(wait)
			continue
		}
		p.Try = append(p.Try, c)
	}
	slices.SortStableFunc(p.Try, func(a, b *Cluster) int { return a.started().Compare(b.started()) })
	pause := max(untilNextBeginning(fleet, now, interval), settling)
	if pause > 0 && len(p.Try) > 0 {
		return Plan{Rest: fleet, Wait: pause}
	}
	return p
}

// Holds reports whether this cluster's rollout is under way. It is also while it is
// paused or has a problem: then something may be wrong, and no other one begins.
func (c *Cluster) Holds() bool {
	return c.Rollout.After != nil && c.Wanted && !c.Deleting
}

// Able reports whether nothing but its machines keeps a cluster from being rolled.
func (c *Cluster) Able() bool { return c.Wanted && c.Ready && !c.Paused && !c.Deleting }

// mayBegin is also true for one that was skipped and may have come up since.
func (c *Cluster) mayBegin() bool {
	if c.skipped() {
		_, is := c.LastRolled()
		return c.Able() && is
	}
	return c.Able() && len(c.ToRoll()) > 0
}

// skipped reports whether this cluster was given up. Another change is another try.
func (c *Cluster) skipped() bool {
	return c.Rollout.Skipped != nil && c.Rollout.After == nil && c.Rollout.Skipped.Equal(c.Since())
}

// Since is when the settings of the cluster's machines last changed; nil is never.
func (c *Cluster) Since() *metav1.Time {
	if c.Nodes == nil {
		return nil
	}
	return c.Nodes.Since
}

// started is when its last rollout began; the zero value is never.
func (c *Cluster) started() time.Time {
	return ptr.Deref(c.Rollout.Started, metav1.Time{}).Time
}

// settles returns how long a change has to go round.
func (c *Cluster) settles(now time.Time) time.Duration {
	return max(c.Seen.Add(SettleTime).Sub(now), 0)
}

func (c *Cluster) waits(now time.Time) time.Duration {
	return max(c.settles(now), c.Retry.Sub(now), 0)
}

// ToRoll returns the owners with outdated machines that Fairlead rolls, in order.
func (c *Cluster) ToRoll() []v1alpha1.ReportedOwner {
	owners := c.outdated(true)
	slices.SortStableFunc(owners, func(a, b v1alpha1.ReportedOwner) int {
		return cmp.Or(slices.Index(rolled, a.Kind)-slices.Index(rolled, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return owners
}

func (c *Cluster) outdated(ofRolledKind bool) []v1alpha1.ReportedOwner {
	if c.Since() == nil {
		return nil
	}
	var owners []v1alpha1.ReportedOwner
	for _, o := range c.Nodes.Owners {
		if o.Outdated > 0 && slices.Contains(rolled, o.Kind) == ofRolledKind {
			owners = append(owners, o)
		}
	}
	return owners
}

// The first words of what reports say while nothing is done, and while something is.
const (
	waitsPaused   = "waits: the Cluster is paused"
	waitsNotReady = "waits: the report is not Ready"
	waitsForTurn  = "waits for its turn"
	rollingOwner  = "rolling "
)

// Describe returns what the report of a cluster says while it is not its turn. It
// does not depend on other clusters.
func (c *Cluster) Describe() v1alpha1.ReportedRollout {
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
	if len(c.ToRoll()) > 0 {
		switch {
		case c.Paused:
			parts = append(parts, waitsPaused)
		case !c.Ready:
			parts = append(parts, waitsNotReady)
		default:
			parts = append(parts, waitsForTurn)
		}
	}
	status.Message = strings.Join(append(parts, c.NotRolled()...), "; ")
	return status
}

// inVain reports whether the message is what came of the last try to begin, which it
// remains until the next one: it names an owner that is to be rolled. So it outlives
// this process.
func (c *Cluster) inVain() bool {
	return c.Rollout.After == nil && c.mayBegin() && !strings.HasPrefix(c.Rollout.Message, rollingOwner) &&
		slices.ContainsFunc(c.ToRoll(), func(o v1alpha1.ReportedOwner) bool {
			return strings.Contains(c.Rollout.Message, OwnerName(o))
		})
}

// HeldFor is what the report of a cluster under way says while nothing is begun.
func (c *Cluster) HeldFor(message string) v1alpha1.ReportedRollout {
	return v1alpha1.ReportedRollout{After: c.Rollout.After, Started: c.Rollout.Started, Owner: c.Rollout.Owner, Message: message}
}

// NotRolled says which outdated machines Fairlead leaves alone.
func (c *Cluster) NotRolled() []string {
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

// LastRolled is the owner that was told last, if it has no outdated machine any more.
func (c *Cluster) LastRolled() (v1alpha1.ReportedOwner, bool) {
	kind, name, told := strings.Cut(c.Rollout.Owner, "/")
	still := slices.ContainsFunc(c.ToRoll(), func(o v1alpha1.ReportedOwner) bool { return o.Kind == kind && o.Name == name })
	return v1alpha1.ReportedOwner{Kind: kind, Name: name}, told && !still
}

// OwnerName is what messages call an owner of machines.
func OwnerName(o v1alpha1.ReportedOwner) string { return o.Kind + " " + o.Name }

// UnderWay returns what the report says during the cluster's turn.
func (c *Cluster) UnderWay(now time.Time, o v1alpha1.ReportedOwner) v1alpha1.ReportedRollout {
	status := v1alpha1.ReportedRollout{After: c.Nodes.Since, Started: c.Rollout.Started, Owner: o.Kind + "/" + o.Name}
	if c.Rollout.After == nil || status.Started == nil {
		started := metav1.NewTime(now.Truncate(time.Second))
		status.Started = &started
	}
	status.Message = strings.Join(append([]string{rollingOwner + OwnerName(o)}, c.NotRolled()...), "; ")
	return status
}

// untilNextBeginning leaves out beginnings that are later than now can be: a clock
// was wrong, which must not halt the fleet.
func untilNextBeginning(fleet []*Cluster, now time.Time, interval time.Duration) time.Duration {
	var last time.Time
	for _, c := range fleet {
		if at := c.Rollout.Started; at != nil && at.After(last) && !at.After(now.Add(interval)) {
			last = at.Time
		}
	}
	if last.IsZero() {
		return 0
	}
	return last.Add(interval).Sub(now)
}

// Same reports whether two statuses are equal.
func Same(a, b v1alpha1.ReportedRollout) bool { return equality.Semantic.DeepEqual(a, b) }
