// Package waves decides which revision each cluster of a CorporateProxy with spec.rollout is to have, and has new ones tried.
package waves

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/core/revision"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
)

// Reconciler decides which revision each cluster of a CorporateProxy with spec.rollout is to have: it records revisions,
// looks at the whole fleet, has package rollout decide, and has the Reconciler of package cluster carry it out. It has one worker, and
// writes nothing but the objects of revisions. Without any spec.rollout it does nothing.
type Reconciler struct {
	Client    client.Client // caches
	Proxies   *settings.Installations
	Revisions *settings.Revisions
	Started   time.Time
	Latest    func(types.NamespacedName, *v1alpha1.ProxyReport) *v1alpha1.ProxyReport
	Preflight *Preflight

	pause      atomic.Int64      // before the next look, in nanoseconds
	linger     atomic.Bool       // there are revisions: their Secrets are deleted once no cluster has them
	again      machinery.QueueOf // of this controller
	ToClusters machinery.QueueOf // of package cluster
	ToProxies  machinery.QueueOf // of package corporateproxy

	mu       sync.Mutex
	plans    map[string]*wavePlan                     // by CorporateProxy
	assigned map[types.NamespacedName]revision.Record // until the annotation of the report says so
	facts    map[types.NamespacedName]string          // hash of a cluster's facts, as they were read last
}

// wavePlan has the last decision for a CorporateProxy.
type wavePlan struct {
	uid        types.UID
	generation int64
	version    string // of what was read
	decision   rollout.Decision
	problem    error // why there is no revision for new clusters
	status     Status
}

// Status has the fields and conditions of a CorporateProxy's status that are about its rollouts.
type Status struct {
	rollout     *v1alpha1.RolloutStatus
	revisions   []v1alpha1.RevisionStatus
	credentials []v1alpha1.CredentialsStatus
	conditions  map[string]*metav1.Condition // of those that it may have; nil: it has it not
}

// now returns the time by the clock that does not jump while this process runs.
func (r *Reconciler) now() time.Time { return r.Started.Add(time.Since(r.Started)).Round(0) }

// Reconcile decides for the whole fleet.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	began := time.Now()
	defer func() { r.pause.Store(int64(min(max(pausePerPass*time.Since(began), waveDelay), longestWaveDelay))) }()
	proxies := &v1alpha1.CorporateProxyList{}
	if err := r.Client.List(ctx, proxies, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, err
	}
	known, err := r.Revisions.List(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	r.linger.Store(len(known) > 0)
	r.Preflight.begin()
	if len(known) == 0 && !anyRollout(proxies.Items) {
		r.forgetAll()
		return ctrl.Result{}, r.Preflight.write(ctx, nil)
	}
	fleet, err := r.readFleet(ctx, proxies.Items, known)
	if err != nil {
		return ctrl.Result{}, err
	}
	var look time.Duration
	var failed error // of one CorporateProxy, which stops no other
	var undecided []string
	for i := range proxies.Items {
		proxy := &proxies.Items[i]
		if proxy.Spec.Rollout == nil {
			continue
		}
		wait, err := r.plan(ctx, proxy, fleet, known[proxy.Name])
		if err != nil {
			failed, undecided = errors.Join(failed, err), append(undecided, proxy.Name)
		}
		if wait > 0 && (look == 0 || wait < look) {
			look = wait
		}
	}
	failed = errors.Join(failed, r.Preflight.write(ctx, undecided))
	if err := r.clean(ctx, proxies.Items, fleet, known); err != nil { // no cluster waits for that
		log.FromContext(ctx).Error(err, "deleting revisions that nobody needs; it is tried again")
		look = min(cmp.Or(look, retryClean), retryClean)
	}
	return ctrl.Result{RequeueAfter: look}, failed
}

const retryClean = time.Minute

func anyRollout(proxies []v1alpha1.CorporateProxy) bool {
	for i := range proxies {
		if proxies[i].Spec.Rollout != nil {
			return true
		}
	}
	return false
}

// plan decides for one CorporateProxy, and returns when to look again.
func (r *Reconciler) plan(ctx context.Context, proxy *v1alpha1.CorporateProxy, fleet *fleet, known []*settings.Stored) (time.Duration, error) {
	now := r.now()
	read, err := r.recordChange(ctx, proxy, fleet, known, now)
	if err != nil {
		return 0, err
	}
	control, err := r.Revisions.Control(ctx, proxy.Name)
	var unreadable *settings.ControlError
	if errors.As(err, &unreadable) {
		read.problem(v1alpha1.ReasonInvalidRollout, unreadable.Error())
	} else if err != nil {
		return 0, err
	}
	policy, invalid := rollout.ParsePolicy(*proxy.Spec.Rollout)
	policy.Paused = policy.Paused || control.Paused || invalid != nil
	if invalid != nil {
		read.stall(v1alpha1.ReasonInvalidRollout, invalid.Error())
	}
	last := r.last(proxy)
	preflight, err := r.Preflight.known(ctx, proxy, r.lastReachable(proxy))
	if err != nil {
		return 0, err
	}
	decision := rollout.Decide(rollout.Fleet{
		Proxy: proxy.Name, Policy: policy, Revisions: revisionsOf(read.known, control, last), Rows: fleet.rows[proxy.Name],
		Now: now, Started: r.Started, Last: last.Rollout, Preflight: preflight,
	})
	r.Preflight.ask(proxy.Name, decision, read.known, now)
	read.addTo(&decision, control)
	r.publish(proxy, &wavePlan{
		uid: proxy.UID, generation: proxy.Generation, version: read.version, decision: decision, problem: read.unusable,
		status: describeWaves(proxy, last, decision, read.known, control, fleet, now),
	})
	return machinery.Soonest(machinery.Soonest(decision.Look, read.wait), settings.UntilEnd(read.nextEnd, time.Now())), nil
}

// retryRecord is when a revision that could not be recorded is tried again.
const retryRecord = 30 * time.Second

// recordChange records a new revision where the CorporateProxy means something else than the newest one.
func (r *Reconciler) recordChange(ctx context.Context, proxy *v1alpha1.CorporateProxy, fleet *fleet, known []*settings.Stored, now time.Time) (recording, error) {
	rec := recording{known: known}
	if len(known) > 0 {
		r.Proxies.Ends.Recorded(proxy.Name, known[len(known)-1].Since.Time, now)
	}
	read, err := r.Proxies.Settled(ctx, proxy, now)
	var unsettled *settings.UnsettledError
	if errors.As(err, &unsettled) {
		rec.wait, rec.unusable = unsettled.Wait, &settings.UnsettledError{Wait: Undecided} // a new cluster asks again: no event tells it
		return rec, nil
	}
	if err != nil {
		return rec, err
	}
	rec.version, rec.unusable, rec.wait, rec.nextEnd = read.Version, read.Err, r.Proxies.Settles(proxy, now), read.NextEnd
	tooLong := revision.NameProblem(proxy.Name)
	if tooLong != "" {
		rec.stall(v1alpha1.ReasonInvalidRollout, "metadata.name: "+tooLong)
	}
	if read.Incomplete != "" {
		rec.problem(v1alpha1.ReasonChangeIncomplete, read.Incomplete)
	}
	same := len(known) > 0 && known[len(known)-1].Means(read)
	if usable := rec.unusable == nil; same || !usable || tooLong != "" || read.Incomplete != "" {
		return rec, nil
	}
	s, err := r.Revisions.Record(ctx, read, known, fleet.highest[proxy.Name], metav1.NewTime(now.Truncate(time.Second)))
	switch {
	case err == nil:
		log.FromContext(ctx).Info("recorded a revision", "corporateproxy", proxy.Name, "revision", s.Number)
		rec.known = slices.Concat(known, []*settings.Stored{s})
	case machinery.AboutOne(err):
		rec.stall(v1alpha1.ReasonRevisionNotStored, "the new revision cannot be stored: "+err.Error())
		rec.wait, err = retryRecord, nil
	}
	return rec, err
}

// last returns the last status of a CorporateProxy, by this process or by an earlier one.
func (r *Reconciler) last(proxy *v1alpha1.CorporateProxy) v1alpha1.CorporateProxyStatus {
	last := *proxy.Status.DeepCopy()
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.plans[proxy.Name]; p != nil && p.uid == proxy.UID {
		last.Rollout, last.Revisions, last.Credentials = p.status.rollout, p.status.revisions, p.status.credentials
	}
	return last
}

// CountDelay lets a fan-out, which changes hundreds of reports at once, lead to few counts.
const CountDelay = time.Second

// publish stores a decision, and enqueues the clusters that it concerns, and the CorporateProxy.
func (r *Reconciler) publish(proxy *v1alpha1.CorporateProxy, p *wavePlan) {
	r.mu.Lock()
	if r.plans == nil {
		r.plans = map[string]*wavePlan{}
	}
	if r.assigned == nil {
		r.assigned = map[types.NamespacedName]revision.Record{}
	}
	r.plans[proxy.Name] = p
	var changed []reconcile.Request
	for _, a := range p.decision.Assigned {
		r.assigned[a.Key] = a.Record
		changed = append(changed, reconcile.Request{NamespacedName: a.Key})
	}
	r.mu.Unlock()
	r.ToClusters.Add(0, changed...)
	r.ToProxies.Add(CountDelay, reconcile.Request{NamespacedName: types.NamespacedName{Name: proxy.Name}})
}

// forgetBut forgets the decisions for CorporateProxies that do not exist any more.
func (r *Reconciler) forgetBut(exists map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.plans, func(proxy string, _ *wavePlan) bool { return !exists[proxy] })
}

func (r *Reconciler) forgetAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plans, r.assigned, r.facts = nil, nil, nil
}

// StatusOf returns the decision for a CorporateProxy in this generation, and this version of the objects that it names.
func (r *Reconciler) StatusOf(proxy *v1alpha1.CorporateProxy, version string) (Status, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.plans[proxy.Name]
	if p == nil || p.uid != proxy.UID || p.generation != proxy.Generation || p.version != version {
		return Status{}, false
	}
	return p.status, true
}

// Decided reports whether anything was decided for a CorporateProxy.
func (r *Reconciler) Decided(proxy *v1alpha1.CorporateProxy) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.plans[proxy.Name]
	return p != nil && p.uid == proxy.UID
}

// Undecided is for a cluster before the first decision about its CorporateProxy.
const Undecided = 100 * time.Millisecond

// RecordFor returns the record that a cluster is to have: from the last decision, or else from its report. Nil: nobody
// has decided.
func (r *Reconciler) RecordFor(key types.NamespacedName, recorded *revision.Record) *revision.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	if next, ok := r.assigned[key]; ok {
		return &next
	}
	return recorded
}

// RecordForNew returns what a cluster gets for which nothing was ever written. The error is a *resolve.Problem, or an
// *unsettledError.
func (r *Reconciler) RecordForNew(proxy *v1alpha1.CorporateProxy) (*revision.Record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.plans[proxy.Name]
	switch {
	case p == nil || p.uid != proxy.UID:
		return nil, &settings.UnsettledError{Wait: Undecided}
	case p.decision.ForNew != nil:
		target := p.decision.ForNew
		return &revision.Record{
			ReportedRevision: v1alpha1.ReportedRevision{Proxy: proxy.Name, Number: target.Number, Digest: target.Digest},
			Since:            metav1.NewTime(r.now().Truncate(time.Second)), Tolerated: true,
		}, nil
	case p.problem != nil:
		return nil, p.problem
	}
	return nil, resolve.NewProblem(resolve.ReasonInvalidProxy, "CorporateProxy "+proxy.Name, "spec.rollout", "no revision is recorded; the status says why")
}

// Tell notes the facts of a cluster, as they were read, and asks for a decision about it.
func (r *Reconciler) Tell(key types.NamespacedName, facts string) {
	r.mu.Lock()
	if r.facts == nil {
		r.facts = map[types.NamespacedName]string{}
	}
	r.facts[key] = facts
	r.mu.Unlock()
	r.again.Add(r.delay(), fleetRequest)
}

// Untell forgets facts that were told: the cluster has those that were decided about.
func (r *Reconciler) Untell(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.facts, key)
}
