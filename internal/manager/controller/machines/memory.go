package machines

import (
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
)

// memory has notes that are worth no write, by the UID of the report. All its times
// are of the operator's clock. A new process begins without it. That process waits
// again for changes that are settling, tries once again where a rollout could not
// begin, and gives a cluster under way a new deadline.
type memory map[types.UID]*rolloutNote

type rolloutNote struct {
	since *metav1.Time // of nodes
	seen  time.Time    // when that was first seen

	tries    backOff // of beginning; of the cluster under way, the next look
	writes   backOff // of messages
	failures int     // tries to begin that came to nothing, since it last began: another change does not end them
	nodes    *v1alpha1.ReportedNodes
	able     bool // with nodes: a change of these could change what a try comes to

	moved time.Time                // the last progress of a cluster under way
	begun *metav1.Time             // since when its rollout began
	best  map[string]ownerProgress // by the name of the owner
}

// ownerProgress is the best that the machines of an owner came to, after the change
// at since.
type ownerProgress struct {
	since   *metav1.Time
	reached int64
}

// claim is a write that the cache has to have before it is acted upon.
type claim struct {
	uid     types.UID
	version string
}

// recall notes news about the clusters, forgets clusters that are gone, and
// completes the others with the notes.
func (m *memory) recall(fleet []*rollout.MachineCluster, now time.Time) {
	before := *m
	*m = make(memory, len(fleet))
	for _, c := range fleet {
		note := before[c.ReportUID]
		if note == nil {
			note = &rolloutNote{}
		}
		(*m)[c.ReportUID] = note
		note.notice(c, now)
		c.Seen, c.Retry, c.Failures = note.seen, note.tries.next, note.failures
	}
}

func (n *rolloutNote) notice(c *rollout.MachineCluster, now time.Time) {
	if since := c.Since(); n.seen.IsZero() || !n.since.Equal(since) {
		n.since, n.seen = since, now
	}
	if n.able != c.Able() || n.nodes != c.Nodes && !equality.Semantic.DeepEqual(n.nodes, c.Nodes) {
		n.tries = backOff{}
	}
	if !c.HasToRoll() {
		n.failures = 0
	}
	n.able, n.nodes = c.Able(), c.Nodes
	switch {
	case !c.Holds():
		n.moved = time.Time{}
	case n.moved.IsZero():
		n.moved, n.begun, n.best = now, c.Since(), map[string]ownerProgress{}
	}
}

// inVain notes a look that came to nothing, most often a try to begin.
func (n *rolloutNote) inVain(c *rollout.MachineCluster, now time.Time) {
	n.tries.failed(now, retryBlocked)
	if !c.Holds() {
		n.failures++
	}
}

func (m memory) of(c *rollout.MachineCluster) *rolloutNote { return m[c.ReportUID] }

// progress notes whether a cluster under way has more machines that are new and
// available, or fewer outdated ones, than it ever had since the last change, or has
// come to its next owner. Machines that come and go are none. Nor is another change,
// nor an owner that comes with one: with those, a tenant could keep the rest of the
// fleet waiting for ever.
func (m memory) progress(c *rollout.MachineCluster, o v1alpha1.ReportedOwner, state ownerState, now time.Time) {
	note, since := m.of(c), c.Since()
	reached := state.count("upToDateReplicas") + state.count("availableReplicas")
	if c.Nodes != nil {
		reached -= int64(c.Nodes.Outdated)
	}
	last, ok := note.best[rollout.OwnerName(o)]
	switch {
	case !ok && since.Equal(note.begun), ok && since.Equal(last.since) && reached > last.reached:
		note.moved = now
	case ok && since.Equal(last.since):
		return
	}
	note.best[rollout.OwnerName(o)] = ownerProgress{since: since, reached: reached}
}

// backOff is exponential with jitter, up to an hour.
type backOff struct {
	count int
	next  time.Time
}

const (
	retryBlocked  = time.Minute // at first; what blocks is not watched
	retryConflict = time.Second // at first; the cache is a moment behind
	lastRetry     = time.Hour
)

func (b *backOff) failed(now time.Time, first time.Duration) {
	wait := min(first<<min(b.count, 12), lastRetry)
	b.count++
	b.next = now.Add(wait - rand.N(wait/4))
}
