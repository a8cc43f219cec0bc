package controller

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

const kindKubeadmControlPlane = "KubeadmControlPlane"

// rolled are the kinds that Fairlead rolls, in the order in which it does within a
// cluster. Others have no spec.rollout.after, or another one.
var rolled = []string{kindKubeadmControlPlane, kindMachineDeployment}

// fleetCluster is a cluster as the rollout sees it.
type fleetCluster struct {
	key      types.NamespacedName
	uid      types.UID // of its report
	version  string    // of its report, as it was read
	wanted   bool      // its CorporateProxy says Rolling
	ready    bool      // its report is
	paused   bool
	deleting bool
	nodes    *v1alpha1.ReportedNodes
	rollout  v1alpha1.ReportedRollout

	claimed bool      // by this process, which has not seen until now what others claim
	seen    time.Time // when nodes.since was first seen, by the operator's clock
	retry   time.Time // no try before this; the zero value is none
}

// plan is what to do next for the fleet.
type plan struct {
	turn []*fleetCluster // the one being rolled; or those to try in order, the first that can begins
	rest []*fleetCluster // only to be described
	wait time.Duration   // until the next look is worth it; 0 if an event will tell
}

// settleTime is how long since has been seen before a rollout begins: Cluster API
// compares spec.rollout.after with a clock of its own, and does nothing while it is in
// the future. The operator's clock is compared with itself alone.
const settleTime = 3 * time.Second

// planRollout decides whose turn it is: of the cluster that is being rolled until
// it is done or skipped, or else, an interval after the last one began, of the
// first that needs it and can: those that never began come first, then those that
// began longest ago, then the order is by name. So one that is changed all the time
// does not get ahead of those that wait. What a cluster holds is in its report:
// status.rollout.after. While any report has it, none begins: one that must not go on
// is released first.
func planRollout(fleet []*fleetCluster, now time.Time, interval time.Duration) plan {
	slices.SortFunc(fleet, func(a, b *fleetCluster) int {
		return cmp.Or(cmp.Compare(a.key.Namespace, b.key.Namespace), cmp.Compare(a.key.Name, b.key.Name))
	})
	at := slices.IndexFunc(fleet, func(c *fleetCluster) bool { return c.holds() && !c.claimed })
	if at < 0 {
		at = slices.IndexFunc(fleet, (*fleetCluster).holds)
	}
	if at >= 0 {
		p := plan{rest: slices.Concat(fleet[:at], fleet[at+1:])}
		if p.wait = fleet[at].waits(now); p.wait == 0 {
			p.turn = fleet[at : at+1]
		}
		return p
	}
	if slices.ContainsFunc(fleet, func(c *fleetCluster) bool { return c.rollout.After != nil }) {
		return plan{rest: fleet}
	}
	var p plan
	var goingRound time.Duration // the change that is, to those that come first
	for _, c := range fleet {
		if !c.mayBegin() {
			p.rest = append(p.rest, c)
			continue
		}
		goingRound = max(goingRound, c.settles(now))
		if wait := c.waits(now); wait > 0 {
			p.rest, p.wait = append(p.rest, c), sooner(p.wait, wait)
			continue
		}
		p.turn = append(p.turn, c)
	}
	slices.SortStableFunc(p.turn, func(a, b *fleetCluster) int { return a.started().Compare(b.started()) })
	pause := max(untilNextBeginning(fleet, now, interval), goingRound)
	if pause > 0 && len(p.turn) > 0 {
		return plan{rest: fleet, wait: pause}
	}
	return p
}

// holds reports whether this cluster's rollout is under way. It is also while it is
// paused or has a problem: then something may be wrong, and no other one begins.
func (c *fleetCluster) holds() bool {
	return c.rollout.After != nil && c.wanted && !c.deleting
}

// able reports whether nothing but its machines keeps a cluster from being rolled.
func (c *fleetCluster) able() bool { return c.wanted && c.ready && !c.paused && !c.deleting }

// mayBegin is also true for one that was skipped and may have come up since.
func (c *fleetCluster) mayBegin() bool {
	if c.skipped() {
		_, is := c.lastRolled()
		return c.able() && is
	}
	return c.able() && len(c.toRoll()) > 0
}

// skipped reports whether this cluster was given up. Another change is another try.
func (c *fleetCluster) skipped() bool {
	return c.rollout.Skipped != nil && c.rollout.After == nil && c.rollout.Skipped.Equal(c.since())
}

func (c *fleetCluster) since() *metav1.Time {
	if c.nodes == nil {
		return nil
	}
	return c.nodes.Since
}

// started is when its last rollout began; the zero value is never.
func (c *fleetCluster) started() time.Time {
	return ptr.Deref(c.rollout.Started, metav1.Time{}).Time
}

// settles returns how long a change has to go round.
func (c *fleetCluster) settles(now time.Time) time.Duration {
	return max(c.seen.Add(settleTime).Sub(now), 0)
}

func (c *fleetCluster) waits(now time.Time) time.Duration {
	return max(c.settles(now), c.retry.Sub(now), 0)
}

// toRoll returns the owners with outdated machines that Fairlead rolls, in order.
func (c *fleetCluster) toRoll() []v1alpha1.ReportedOwner {
	owners := c.outdated(true)
	slices.SortStableFunc(owners, func(a, b v1alpha1.ReportedOwner) int {
		return cmp.Or(slices.Index(rolled, a.Kind)-slices.Index(rolled, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return owners
}

func (c *fleetCluster) outdated(ofRolledKind bool) []v1alpha1.ReportedOwner {
	if c.since() == nil {
		return nil
	}
	var owners []v1alpha1.ReportedOwner
	for _, o := range c.nodes.Owners {
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

// describe returns what the report of a cluster says while it is not its turn. It
// does not depend on other clusters.
func (c *fleetCluster) describe() v1alpha1.ReportedRollout {
	said := v1alpha1.ReportedRollout{Started: c.rollout.Started}
	switch {
	case !c.wanted || c.deleting:
		return said
	case c.skipped():
		return c.rollout
	case c.inVain():
		said.Message = c.rollout.Message
		return said
	}
	var parts []string
	if len(c.toRoll()) > 0 {
		switch {
		case c.paused:
			parts = append(parts, waitsPaused)
		case !c.ready:
			parts = append(parts, waitsNotReady)
		default:
			parts = append(parts, waitsForTurn)
		}
	}
	said.Message = strings.Join(append(parts, c.left()...), "; ")
	return said
}

// inVain reports whether the message is what came of the last try to begin, which it
// remains until the next one: it names an owner that is to be rolled. So it outlives
// this process.
func (c *fleetCluster) inVain() bool {
	return c.rollout.After == nil && c.mayBegin() && !strings.HasPrefix(c.rollout.Message, rollingOwner) &&
		slices.ContainsFunc(c.toRoll(), func(o v1alpha1.ReportedOwner) bool {
			return strings.Contains(c.rollout.Message, ownerName(o))
		})
}

// heldFor is what the report of a cluster under way says while nothing is begun.
func (c *fleetCluster) heldFor(message string) v1alpha1.ReportedRollout {
	return v1alpha1.ReportedRollout{After: c.rollout.After, Started: c.rollout.Started, Owner: c.rollout.Owner, Message: message}
}

// left says which outdated machines Fairlead leaves alone.
func (c *fleetCluster) left() []string {
	var names []string
	for _, o := range c.outdated(false) {
		if o.Kind == "" {
			names = append(names, "machines without owner")
			continue
		}
		names = append(names, ownerName(o))
	}
	if names == nil {
		return nil
	}
	return []string{"not rolled by Fairlead: " + strings.Join(names, ", ")}
}

// lastRolled is the owner that was told last, if it has no outdated machine any more.
func (c *fleetCluster) lastRolled() (v1alpha1.ReportedOwner, bool) {
	kind, name, told := strings.Cut(c.rollout.Owner, "/")
	still := slices.ContainsFunc(c.toRoll(), func(o v1alpha1.ReportedOwner) bool { return o.Kind == kind && o.Name == name })
	return v1alpha1.ReportedOwner{Kind: kind, Name: name}, told && !still
}

func ownerName(o v1alpha1.ReportedOwner) string { return o.Kind + " " + o.Name }

// underWay returns what the report says during the cluster's turn.
func (c *fleetCluster) underWay(now time.Time, o v1alpha1.ReportedOwner) v1alpha1.ReportedRollout {
	said := v1alpha1.ReportedRollout{After: c.nodes.Since, Started: c.rollout.Started, Owner: o.Kind + "/" + o.Name}
	if c.rollout.After == nil || said.Started == nil {
		started := metav1.NewTime(now.Truncate(time.Second))
		said.Started = &started
	}
	said.Message = strings.Join(append([]string{rollingOwner + ownerName(o)}, c.left()...), "; ")
	return said
}

// untilNextBeginning leaves out beginnings that are later than now can be: a clock
// was wrong, which must not halt the fleet.
func untilNextBeginning(fleet []*fleetCluster, now time.Time, interval time.Duration) time.Duration {
	var last time.Time
	for _, c := range fleet {
		if at := c.rollout.Started; at != nil && at.After(last) && !at.After(now.Add(interval)) {
			last = at.Time
		}
	}
	if last.IsZero() {
		return 0
	}
	return last.Add(interval).Sub(now)
}

func sameRollout(a, b v1alpha1.ReportedRollout) bool { return equality.Semantic.DeepEqual(a, b) }

// rolloutFields is all of status.rollout as a merge patch has it; nil removes it.
func rolloutFields(said v1alpha1.ReportedRollout) any {
	if said == (v1alpha1.ReportedRollout{}) {
		return nil
	}
	fields := map[string]any{"after": nil, "started": nil, "owner": nil, "skipped": nil, "message": nil}
	content, _ := json.Marshal(said) // times and strings
	_ = json.Unmarshal(content, &fields)
	return fields
}

// sooner returns the smaller of two waits, of which 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
