package cluster

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/manager/controller/decide"
	"github.com/fairlead-io/fairlead/internal/manager/controller/findings"
)

// memory has what this process remembers about each cluster between two reconciles. It is empty after a start. Its lock
// is never held over a request.
type memory struct {
	linted int // how many lists were linted, for tests

	mu sync.Mutex
	by map[types.NamespacedName]*clusterMemory
}

type clusterMemory struct {
	written    writtenReport // until the cache has it
	arrival    arrival
	unselected time.Time   // since when no CorporateProxy selects the cluster, which is not blank yet; zero: one does
	collected  []time.Time // when everything is applied, since the garbage collector was done with the report
	failures   failures
	lint       findings.List
	turn       time.Time // when its Secrets are applied although nothing changed
	inDoubt    decide.InDoubt
}

type writtenReport struct {
	report *v1alpha1.ProxyReport
	at     time.Time
}

// arrival is since when a report waits for its Cluster.
type arrival struct {
	report types.UID
	since  time.Time
}

// failures are the failures in a row, under the same circumstances.
type failures struct {
	circumstances string
	times         int
	until         time.Time // the next attempt
}

// of returns the memory of a cluster, and creates it if there is none. The caller holds mu.
func (m *memory) of(cluster types.NamespacedName) *clusterMemory {
	if m.by == nil {
		m.by = map[types.NamespacedName]*clusterMemory{}
	}
	if m.by[cluster] == nil {
		m.by[cluster] = &clusterMemory{}
	}
	return m.by[cluster]
}

// change changes the memory of a cluster.
func (m *memory) change(cluster types.NamespacedName, do func(*clusterMemory)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	do(m.of(cluster))
}

// forget is for a Cluster that is gone.
func (m *memory) forget(cluster types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.by, cluster)
}

// laggard is how long a cache may be behind. After that it is believed, since an etcd that was restored from a backup
// gives out lower resource versions than before.
const laggard = time.Minute

// wrote keeps a report as the operator last wrote it, with the resource version that the API server answered, until the cache
// has that, too. The report is the operator's durable memory: a reconcile that does not see what the last one recorded would
// forget it.
func (m *memory) wrote(cluster types.NamespacedName, report *v1alpha1.ProxyReport) {
	m.change(cluster, func(c *clusterMemory) { c.written = writtenReport{report, time.Now()} })
}

// latest returns the newer one of the report that was written last and the one in the cache, which may be nil.
func (m *memory) latest(cluster types.NamespacedName, cached *v1alpha1.ProxyReport) *v1alpha1.ProxyReport {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.by[cluster]
	if known == nil || known.written.report == nil {
		return cached
	}
	if time.Since(known.written.at) > laggard || cached != nil && !older(cached.ResourceVersion, known.written.report.ResourceVersion) {
		known.written = writtenReport{}
		return cached
	}
	return known.written.report
}

func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}

// timeLeft returns how much of a period remains since this process first saw something, 0 or less if it is over. A zero since
// becomes now. No creationTimestamp is used: the clock of the API server may be minutes off this one.
func timeLeft(since *time.Time, period time.Duration, now time.Time) time.Duration {
	if since.IsZero() {
		*since = now
	}
	return period - now.Sub(*since)
}

// arrivalTime is how long a report may be there before its Cluster.
const arrivalTime = 10 * time.Minute

// expected returns how long to wait for the Cluster of a report that came without status: clusterctl move and restores of
// backups create both in any order, and drop what a report has seen elsewhere. The Secrets that came, too, would go with the
// report.
func (m *memory) expected(cluster types.NamespacedName, report *v1alpha1.ProxyReport, now time.Time) time.Duration {
	if report == nil || report.DeletionTimestamp != nil || report.Status.Cluster.UID != "" {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	waits := &m.of(cluster).arrival
	if waits.report != report.UID {
		*waits = arrival{report: report.UID}
	}
	return timeLeft(&waits.since, arrivalTime, now)
}

// unselectedFor returns how much is left of the grace period of a cluster that nothing selects.
func (m *memory) unselectedFor(cluster types.NamespacedName, grace time.Duration, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return timeLeft(&m.of(cluster).unselected, grace, now)
}

// collect notes that the garbage collector was done with a report: everything is to be applied at once, and when the collector
// has settled. The first deletion raises the generation, further ones do not.
func (m *memory) collect(cluster types.NamespacedName, now time.Time) {
	m.change(cluster, func(c *clusterMemory) { c.collected = []time.Time{now, now.Add(settleCollected)} })
}

// takeCollected reports whether it is time to apply everything, which is done then.
func (m *memory) takeCollected(cluster types.NamespacedName, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(cluster)
	before := len(known.collected)
	known.collected = slices.DeleteFunc(known.collected, func(t time.Time) bool { return !t.After(now) })
	return len(known.collected) < before
}

// untilCollected returns how long it is until the next time, which is never 0; 0: there is none.
func (m *memory) untilCollected(cluster types.NamespacedName, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if due := m.of(cluster).collected; len(due) > 0 {
		return max(due[0].Sub(now), time.Millisecond)
	}
	return 0
}

// The first waits for changes that no watch reports. Each further wait is twice as long, up to the interval of the
// paced re-apply.
const (
	firstTaken   = time.Minute     // a name that is taken
	firstUnread  = time.Minute     // facts that cannot be read, while the previous ones stay
	firstRefused = 2 * time.Second // a write that is refused, as an API server does that has just started and knows no roles yet
	firstPending = 15 * time.Second
	firstOutage  = time.Second // an API server that does not answer
	firstSlow    = time.Minute // one that took too long for this cluster alone
)

// failed returns how long to wait after a failure, with a jitter of a fifth. A failure before the wait is over, because
// something else happened to the cluster, does not count. Other circumstances start the waits anew: they are the known
// facts that could change the answer.
func (m *memory) failed(cluster types.NamespacedName, circumstances string, first, longest time.Duration, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	failed := &m.of(cluster).failures
	if failed.circumstances != circumstances {
		*failed = failures{circumstances: circumstances}
	}
	if rest := failed.until.Sub(now); rest > 0 {
		return rest
	}
	wait := first
	for range failed.times {
		if wait *= 2; wait >= longest {
			wait = longest
			break
		}
	}
	wait -= rand.N(wait/5 + 1)
	failed.times, failed.until = failed.times+1, now.Add(wait)
	return wait
}

// attemptDue reports whether a wait has ended, and no attempt was made since.
func (m *memory) attemptDue(cluster types.NamespacedName, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	until := m.of(cluster).failures.until
	return !until.IsZero() && !now.Before(until)
}

// lintOf returns the findings about a cluster's list, from memory if the input is the same. Asking the clients takes
// longer than all other decisions, and a change of the password changes no list.
func (m *memory) lintOf(cluster types.NamespacedName) findings.ListFindings {
	return func(in lint.Input) findings.List {
		digest := findings.Digest(in)
		m.mu.Lock()
		known := m.of(cluster).lint
		m.mu.Unlock()
		if known.Digest == digest {
			return known
		}
		found := findings.OfList(in)
		found.Digest = digest
		m.mu.Lock()
		defer m.mu.Unlock()
		m.of(cluster).lint = found
		m.linted++
		return found
	}
}

const maxDoublings = 5 // of the interval, for a Secret that a rival keeps reverting

// untilTurn returns how long it is until the Secrets of a cluster are applied although nothing changed, which is how drift is
// mended without reading them; 0 or less means now. After a start, the first round is spread over one interval.
func (m *memory) untilTurn(cluster types.NamespacedName, interval time.Duration, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(cluster)
	if known.turn.IsZero() {
		known.turn = now.Add(rand.N(interval) + 1)
	}
	return known.turn.Sub(now)
}

// applied sets the next turn: an interval from now, give or take a tenth, doubled for every time in a row that a rival reverted
// us beyond the first.
func (m *memory) applied(cluster types.NamespacedName, interval time.Duration, now time.Time, reverts int32) {
	interval <<= min(max(reverts-1, 0), maxDoublings)
	interval += rand.N(interval/5+1) - interval/10
	m.change(cluster, func(c *clusterMemory) { c.turn = now.Add(interval) })
}

func (m *memory) inDoubt(cluster types.NamespacedName) decide.InDoubt {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(cluster).inDoubt
}

// putInDoubt puts a cluster in doubt until its report says what its Secrets hold.
func (m *memory) putInDoubt(cluster types.NamespacedName, machines bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(cluster)
	known.inDoubt = decide.InDoubt{Secrets: true, Machines: known.inDoubt.Machines || machines}
}

func (m *memory) anyInDoubt() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, known := range m.by {
		if known.inDoubt.Secrets {
			return true
		}
	}
	return false
}
