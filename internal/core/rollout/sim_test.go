package rollout

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

// world is a fleet in virtual time. What a cluster does with a revision is a function of both and of the seed, so that two
// runs with the same seed differ in nothing but what the test does.
type world struct {
	seed     uint64
	bad      map[int64]int // of so many clusters in a hundred that get a revision, one is refused
	now      time.Time
	started  time.Time
	policy   Policy
	probes   string // haltOn.probes of the policy
	observes bool   // somebody looks a minute after each write whether the cluster gets out
	clusters []*simCluster
	known    []Revision
	last     *v1alpha1.RolloutStatus
	forNew   *Revision
	script   []event // what is still to come, in the order of time
	changes  int     // that were made to the fleet or the rollout

	preflight *Preflight // nil: without spec.probes
	answersAt time.Time  // when the next one does; the zero value: none does
}

// simCluster is a Cluster with its ProxyReport.
type simCluster struct {
	name            string
	labels          map[string]string
	isNew           bool
	paused          bool
	override, facts string
	record          *revision.Record // what the annotation says
	status          v1alpha1.ProxyReportStatus
	due             time.Time // when what the annotation says is written; the zero value: it is
	look            time.Time // when somebody looks whether it gets out; the zero value: nobody does
	cut             bool      // it does not
	healed          bool      // nothing is refused any more
}

// event is something that people do, or that happens to a cluster.
type event struct {
	at   time.Duration
	kind string
	arg  int
}

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 700_000_000, time.UTC)

func newWorld(seed uint64, clusters int, policy Policy) *world {
	w := &world{seed: seed, bad: map[int64]int{}, now: epoch, started: epoch, policy: policy}
	for i := range clusters {
		w.add(i, false)
	}
	w.edit()
	return w
}

func (w *world) add(i int, isNew bool) {
	c := &simCluster{name: fmt.Sprintf("c%05d", i), isNew: isNew, labels: map[string]string{"group": fmt.Sprint(w.hash("group", i) % 4)}}
	if isNew {
		c.due = w.now.Add(20 * time.Second)
	} else {
		w.setReady(c, true, "AsExpected")
	}
	w.clusters = append(w.clusters, c)
}

// hash returns a number that depends on nothing but the seed and what it is asked for.
func (w *world) hash(of ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, w.seed, of)
	return h.Sum64()
}

// edit records the next revision.
func (w *world) edit() {
	n := int64(len(w.known) + 1)
	w.known = append(w.known, Revision{Number: n, Digest: fmt.Sprintf("digest-%d", n)})
}

func (w *world) rows() []Row {
	rows := make([]Row, 0, len(w.clusters))
	for _, c := range w.clusters {
		row := Row{Key: types.NamespacedName{Namespace: "org", Name: c.name}, Labels: c.labels, New: c.isNew, Override: c.override, Facts: c.facts}
		if !c.isNew {
			row.Record = c.record
		}
		if c.paused {
			row.Idle = "paused"
		}
		row.Status, row.Holds = StatusOf(c.status, row.Record, w.probes), Holds(c.status.Observed, w.now)
		rows = append(rows, row)
	}
	return rows
}

func (w *world) fleet() Fleet {
	return Fleet{Proxy: "corp", Policy: w.policy, Revisions: w.known, Rows: w.rows(), Now: w.now, Started: w.started, Last: w.last, Preflight: w.preflight}
}

// tries simulates the preflight: a third of the revisions is refused, and some get no answer.
func (w *world) tries(d Decision) {
	if w.preflight == nil {
		return
	}
	next := *w.preflight
	next.Last = d.Reachable
	if d.Try && next.Asked != d.Target.Digest {
		next.Asked, next.Since = d.Target.Digest, w.now
		w.answersAt = w.now.Add(20 * time.Second)
	}
	w.preflight = &next
}

// answer is that about the revision that was asked for last.
func (w *world) answer() {
	w.answersAt = time.Time{}
	for _, r := range w.known {
		kind := w.hash("preflight", r.Number) % 6
		if r.Digest != w.preflight.Asked || kind == 5 {
			continue
		}
		a := &probe.Answer{Revision: r.Number, Digest: r.Digest, State: probe.Held, Message: "an answer", Time: w.now}
		switch kind {
		case 0:
			a.State, a.Reason = probe.Unknown, probe.ProxyTimeout
		case 1, 2:
			a.State, a.Reason = probe.Failed, probe.CredentialsRefused
		}
		next := *w.preflight
		next.Answer = a
		w.preflight = &next
		w.changes++
	}
}

// carryOut writes what was decided; of the records only so many, before the operator is killed.
func (w *world) carryOut(d Decision, records int) {
	w.forNew = d.ForNew
	for _, a := range d.Assigned[:min(records, len(d.Assigned))] {
		c := w.named(a.Key.Name)
		w.changes++
		proof := c.record != nil && a.Record.Proven != nil && c.record.ReportedRevision == a.Record.ReportedRevision
		c.annotate(a.Record)
		if proof {
			continue
		}
		c.due = w.now.Add(w.delay(c, a.Record.Number))
	}
	if records < len(d.Assigned) {
		return
	}
	w.last = d.Status.DeepCopy()
	w.tries(d)
	if d.Target != nil {
		target := &w.known[d.Target.Number-1]
		target.Passed, target.Completed = target.Passed || d.Passed, target.Completed || d.Complete
	}
}

// annotate writes the annotation and reads it again.
func (c *simCluster) annotate(r revision.Record) {
	read, is, err := revision.ParseRecord(r.String())
	if !is || err != nil {
		panic(err)
	}
	c.record = &read
}

func (w *world) named(name string) *simCluster {
	at, _ := slices.BinarySearchFunc(w.clusters, name, func(c *simCluster, name string) int { return cmp.Compare(c.name, name) })
	return w.clusters[at]
}

// delay returns how long a write takes: now and then longer than the deadline.
func (w *world) delay(c *simCluster, number int64) time.Duration {
	h := w.hash("delay", c.name, number)
	if h%50 == 0 {
		return 15 * time.Minute
	}
	return time.Duration(h%3) * 30 * time.Second
}

// happen carries out the events that are due.
func (w *world) happen() {
	for len(w.script) > 0 && !epoch.Add(w.script[0].at).After(w.now) {
		e := w.script[0]
		w.script = w.script[1:]
		w.do(e)
		w.changes++
	}
	if !w.answersAt.IsZero() && !w.answersAt.After(w.now) {
		w.answer()
	}
	for _, c := range w.clusters {
		if !c.due.IsZero() && !c.due.After(w.now) && !c.paused {
			w.write(c)
		}
		if !c.look.IsZero() && !c.look.After(w.now) {
			c.look = time.Time{}
			w.observe(c)
		}
	}
}

func (w *world) observe(c *simCluster) {
	seen := v1alpha1.Observed{Time: metav1.NewTime(w.now.Truncate(time.Second)), Egress: v1alpha1.EgressVerified}
	if c.cut {
		seen.Egress, seen.Message = v1alpha1.EgressFailed, "407"
	}
	c.status.Observed = &seen
	w.changes++
}

// write is the operator's try to write a cluster's Secrets.
func (w *world) write(c *simCluster) {
	if c.isNew {
		if w.forNew == nil {
			return
		}
		c.isNew = false
		c.annotate(revision.Record{Since: metav1.NewTime(w.now), Tolerated: true, ReportedRevision: v1alpha1.ReportedRevision{
			Proxy: "corp", Number: w.forNew.Number, Digest: w.forNew.Digest, Override: c.override, Facts: c.facts,
		}})
	}
	c.due = time.Time{}
	w.changes++
	record := c.record
	if record == nil {
		return
	}
	if percent := w.bad[record.Number]; !c.healed && percent > 0 && int(w.hash("bad", c.name, record.Number)%100) < percent {
		w.setReady(c, false, []string{"Denied", v1alpha1.ReasonWriteFailed}[w.hash("how", c.name)%2])
		return
	}
	if r := c.status.Revision; r == nil || *r != record.ReportedRevision {
		c.status.RevisionSince = &metav1.Time{Time: w.now.Truncate(time.Second)}
	}
	c.status.Revision = &record.ReportedRevision
	if w.observes {
		c.look = w.now.Add(time.Minute)
	}
	w.setReady(c, true, "AsExpected")
}

func (w *world) setProbes(probes string) {
	w.probes, w.policy.probes = probes, probes == v1alpha1.ProbesRequired
}

func (w *world) setReady(c *simCluster, ready bool, reason string) {
	next := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, LastTransitionTime: metav1.NewTime(w.now.Truncate(time.Second))}
	if ready {
		next.Status = metav1.ConditionTrue
	}
	if old := c.status.Conditions; len(old) > 0 && old[0].Status == next.Status {
		next.LastTransitionTime = old[0].LastTransitionTime
	}
	c.status.Conditions = []metav1.Condition{next}
}

// do is an event. Its argument says for which cluster or revision.
func (w *world) do(e event) {
	var c *simCluster
	if len(w.clusters) > 0 {
		c = w.clusters[e.arg%len(w.clusters)]
	}
	switch e.kind {
	case "edit":
		w.edit()
	case "bad edit":
		w.edit()
		w.bad[int64(len(w.known))] = 1 + e.arg%40
	case "undo":
		w.known[len(w.known)-1].Rejected = true
	case "undo another":
		w.known[e.arg%len(w.known)].Rejected = true
	case "accept":
		w.known[e.arg%len(w.known)].Rejected = false
	case "pause":
		w.policy.Paused = true
	case "resume":
		w.policy.Paused = false
	case "create":
		w.add(len(w.clusters)+20_000+int(w.hash("new", e.at)%1000), true)
		slices.SortFunc(w.clusters, func(a, b *simCluster) int { return cmp.Compare(a.name, b.name) })
		w.clusters = slices.CompactFunc(w.clusters, func(a, b *simCluster) bool { return a.name == b.name })
	}
	if c != nil {
		w.doTo(c, e)
	}
}

func (w *world) doTo(c *simCluster, e event) {
	switch e.kind {
	case "delete":
		w.clusters = slices.DeleteFunc(w.clusters, func(other *simCluster) bool { return other == c })
	case "pause cluster":
		c.paused = true
	case "resume cluster":
		c.paused = false
	case "relabel":
		c.labels = map[string]string{"group": fmt.Sprint(e.arg % 5)} // 4 is in no wave's selector
	case "override":
		c.override = fmt.Sprint("override-", e.at)
	case "facts":
		c.facts = fmt.Sprint("facts-", e.at)
	case "heal":
		for _, c := range w.clusters {
			if !c.healed {
				c.healed, c.due = true, w.now
			}
		}
	case "break":
		w.setReady(c, false, "Denied")
	case "mend":
		c.healed, c.due = true, w.now
	case "does not get out":
		c.cut = true
		w.observe(c)
	case "gets out":
		c.cut = false
		w.observe(c)
	case "move":
		c.annotate(revision.Record{Since: metav1.NewTime(w.now), ReportedRevision: v1alpha1.ReportedRevision{Proxy: "corp", Number: 99, Digest: "of another key"}})
		c.status.Revision = nil
	}
}

// next returns how long nothing happens but by the rollout itself; false: nothing ever does.
func (w *world) next() (time.Duration, bool) {
	var at time.Time
	if len(w.script) > 0 {
		at = epoch.Add(w.script[0].at)
	}
	if !w.answersAt.IsZero() && (at.IsZero() || w.answersAt.Before(at)) {
		at = w.answersAt
	}
	for _, c := range w.clusters {
		if !c.due.IsZero() && !c.paused && (!c.isNew || w.forNew != nil) && (at.IsZero() || c.due.Before(at)) {
			at = c.due
		}
		if !c.look.IsZero() && (at.IsZero() || c.look.Before(at)) {
			at = c.look
		}
	}
	return at.Sub(w.now), !at.IsZero()
}
