package controller

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
}

// plan is what to do next for the fleet.
type plan struct {
	turn     []*fleetCluster // the one being rolled; or those to try in order, the first that can begins
	underWay bool            // it is the one
	rest     []*fleetCluster // only to be described
	wait     time.Duration   // until the next look is worth it; 0 if an event will tell
}

// settleTime is how much later than since a rollout begins: Cluster API compares
// spec.rollout.after with its own clock, and does nothing while it is in the future.
const settleTime = 3 * time.Second

// wrongClock is how much later since can only be by a clock that was wrong. Such a
// cluster waits for its time alone.
const wrongClock = time.Minute

// planRollout decides whose turn it is: of the cluster that is being rolled until
// it is done, or else, an interval after the last one began, of the first by name
// that needs it and can. What a cluster holds is in its report: status.rollout.after.
// While any report has it, none begins: one that must not go on is released first.
func planRollout(fleet []*fleetCluster, now time.Time, interval time.Duration) plan {
	slices.SortFunc(fleet, func(a, b *fleetCluster) int {
		return cmp.Or(cmp.Compare(a.key.Namespace, b.key.Namespace), cmp.Compare(a.key.Name, b.key.Name))
	})
	if at := slices.IndexFunc(fleet, func(c *fleetCluster) bool { return c.holds() }); at >= 0 {
		p := plan{underWay: true, rest: slices.Concat(fleet[:at], fleet[at+1:])}
		if p.wait = max(fleet[at].settles(now), 0); p.wait == 0 {
			p.turn = fleet[at : at+1]
		}
		return p
	}
	if slices.ContainsFunc(fleet, func(c *fleetCluster) bool { return c.rollout.After != nil }) {
		return plan{rest: fleet}
	}
	var p plan
	var goingRound time.Duration // the change that is, to those that come first by name
	for _, c := range fleet {
		switch settles := c.settles(now); {
		case !c.mayBegin():
			p.rest = append(p.rest, c)
		case settles > 0:
			p.rest, p.wait = append(p.rest, c), sooner(p.wait, settles)
			if settles < wrongClock {
				goingRound = max(goingRound, settles)
			}
		default:
			p.turn = append(p.turn, c)
		}
	}
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

func (c *fleetCluster) mayBegin() bool {
	return c.wanted && c.ready && !c.paused && !c.deleting && len(c.toRoll()) > 0
}

// settles returns how long a cluster that may begin has to wait.
func (c *fleetCluster) settles(now time.Time) time.Duration {
	if c.nodes == nil || c.nodes.Since == nil {
		return 0
	}
	return c.nodes.Since.Add(settleTime).Sub(now)
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
	if c.nodes == nil || c.nodes.Since == nil {
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

// describe returns what the report of a cluster says while it is not its turn.
func (c *fleetCluster) describe() v1alpha1.ReportedRollout {
	said := v1alpha1.ReportedRollout{Started: c.rollout.Started}
	if !c.wanted || c.deleting {
		return said
	}
	var parts []string
	if len(c.toRoll()) > 0 {
		switch {
		case c.paused:
			parts = append(parts, "waits: the Cluster is paused")
		case !c.ready:
			parts = append(parts, "waits: the report is not Ready")
		default:
			parts = append(parts, "waits for its turn")
		}
	}
	said.Message = strings.Join(append(parts, c.left()...), "; ")
	return said
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
	said.Message = strings.Join(append([]string{"rolling " + ownerName(o)}, c.left()...), "; ")
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

// sooner returns the smaller of two waits, of which 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
