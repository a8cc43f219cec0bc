// Package machines replaces outdated machines where a CorporateProxy says Rolling.
package machines

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// Reconciler replaces outdated machines where a CorporateProxy says Rolling:
// it sets spec.rollout.after of one owner of a cluster at a time, in as many clusters
// at a time as spec.rollout.machines says, or in one. It decides from caches for the
// whole fleet, and has one worker. Live it reads the owners of the clusters under way,
// and of those that it tries to begin with.
//
// Never more clusters are under way than may be, without asking the API server about
// the fleet. They begin one after the other, and a cluster is claimed first
// (status.rollout.after of its report, written to
// the report as it was read), and its owners are touched once the cache has that
// write. A watch brings the writes to reports in their order, so that the cache has
// every earlier claim then, also one of a former leader, and the later claim is the
// one that is given up. Until then, nothing else begins. Each change of an owner
// comes after another write to the report as it was read: a claim that somebody has
// released is not acted upon, however far the cache is behind. Where more than may be
// are claimed all the same, because a process ended before it gave one up or the places
// became fewer, no further owner is changed until enough have given their places back.
type Reconciler struct {
	Client    client.Client
	Live      client.Reader
	Events    events.EventRecorder
	Revisions *settings.Revisions // where people pause rollouts
	Interval  time.Duration       // at least this long from the beginning of one cluster's to the next
	Now       func() time.Time

	memory memory
	claim  *claim // what this process wrote and has not seen in the cache yet

	unsettled time.Time // see rollout.MachinePlan
}

const (
	rolloutDeadline   = time.Hour        // without progress for this long, a cluster is skipped
	ownerPollInterval = 15 * time.Second // at the owner of the cluster under way: it is not watched
	maxTries          = 20               // clusters per pass that are tried, each with a few live reads
	maxMessages       = 100              // reports per pass that get another message
)

// Reconcile does the next thing, if there is one.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	now := r.Now()
	fleet, current, err := r.fleet(ctx, now)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !current {
		return ctrl.Result{RequeueAfter: fleetDelay}, nil
	}
	next := rollout.NextMachines(fleet, now, r.unsettled, r.Interval)
	r.unsettled = next.Unsettled
	if r.claim != nil && !slices.ContainsFunc(next.Rest, func(c *rollout.MachineCluster) bool { return c.Claimed }) {
		r.claim = nil // there was a place
	}
	for _, c := range next.Going {
		if _, err := r.step(ctx, c, &next, now); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := r.try(ctx, &next, now); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.describe(ctx, &next, now); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: next.Wait}, nil
}

// try has the first cluster begin that can. What is wrong with one keeps none of those after it from beginning.
func (r *Reconciler) try(ctx context.Context, next *rollout.MachinePlan, now time.Time) error {
	for i, c := range next.Try {
		if i == maxTries {
			next.Rest = append(next.Rest, next.Try[i:]...)
			next.Within(fleetDelay)
			return nil
		}
		begun, err := r.step(ctx, c, next, now)
		if err != nil {
			return err
		}
		if begun {
			next.Rest = append(next.Rest, next.Try[i+1:]...)
			return nil
		}
	}
	return nil
}

// step advances a cluster, and returns whether no other may begin before the next look.
func (r *Reconciler) step(ctx context.Context, c *rollout.MachineCluster, next *rollout.MachinePlan, now time.Time) (bool, error) {
	begun, err := r.advance(ctx, c, next, now)
	if err != nil {
		begun, err = r.blocked(ctx, c, err, now)
	}
	if at := r.memory.of(c).tries.next; err == nil && at.After(now) {
		next.Within(at.Sub(now))
	}
	return begun, err
}

// describe writes what the reports of the other clusters say, of a part of a large
// fleet at a time: the cluster under way does not wait for all these writes.
func (r *Reconciler) describe(ctx context.Context, next *rollout.MachinePlan, now time.Time) error {
	written := 0
	for _, c := range next.Rest {
		status := c.Describe()
		status.Message = machinery.Shorten(status.Message)
		note := r.memory.of(c)
		if rollout.Same(status, c.Rollout) {
			continue
		}
		if note.writes.next.After(now) {
			next.Within(note.writes.next.Sub(now))
			continue
		}
		if written++; written > maxMessages {
			next.Within(fleetDelay)
			return nil
		}
		if _, err := r.write(ctx, c, status); err != nil {
			if !machinery.AboutOne(err) {
				return err
			}
			log.FromContext(ctx).Info("the rollout is not in a ProxyReport", "report", c.Key, "reason", apierrors.ReasonForError(err))
			note.writes.failed(now, retryConflict)
			next.Within(note.writes.next.Sub(now))
			continue
		}
		note.writes = backOff{}
		if c.Claimed {
			r.claim = nil
		}
	}
	return nil
}

// advance takes the next step of a cluster: it begins with the first owner that has
// outdated machines, unless that is being rolled, or the one before has not all its
// machines yet. It returns false if another cluster may begin: there is nothing left
// that Fairlead can roll.
func (r *Reconciler) advance(ctx context.Context, c *rollout.MachineCluster, plan *rollout.MachinePlan, now time.Time) (bool, error) {
	holds, owners := c.Holds(), c.ToRoll()
	if holds && len(owners) > 0 && !c.Able() { // it may not go on
		return true, r.hold(ctx, c, c.HeldFor(c.Describe().Message), now)
	}
	if o, ok := c.LastRolled(); ok {
		state, err := readOwner(ctx, r.Live, c.Key.Namespace, o)
		if err != nil {
			return holds, err
		}
		if !state.complete() && !holds { // it was skipped
			r.memory.of(c).inVain(c, now)
			return false, nil
		}
		if !state.complete() {
			r.memory.progress(c, o, state, now)
			return true, r.hold(ctx, c, c.HeldFor(fmt.Sprintf("waits: not all machines of %s are up to date and available", rollout.OwnerName(o))), now)
		}
	}
	left := c.NotRolled()
	for _, o := range owners {
		state, err := readOwner(ctx, r.Live, c.Key.Namespace, o)
		if err != nil {
			return holds, err
		}
		if why := state.leftAlone(c.Key.Name, c.Nodes.Since, now); why != "" {
			left = append(left, "not rolled by Fairlead: "+rollout.OwnerName(o)+", "+why)
			continue
		}
		switch {
		case !holds:
			return true, r.begin(ctx, c, o, state, now)
		case !state.rolledSince(c.Nodes.Since) && plan.Crowded(c):
			return true, r.giveBack(ctx, c, plan)
		case !state.rolledSince(c.Nodes.Since):
			return true, r.rollOwner(ctx, c, o, state, now)
		}
		r.memory.progress(c, o, state, now)
		return true, r.hold(ctx, c, c.UnderWay(now, o), now)
	}
	if len(owners) > 0 {
		r.memory.of(c).inVain(c, now)
	}
	return false, r.writeIfChanged(ctx, c, v1alpha1.ReportedRollout{Started: c.Rollout.Started, Message: strings.Join(left, "; ")})
}

// begin claims the turn for a cluster. What would be refused is not begun.
func (r *Reconciler) begin(ctx context.Context, c *rollout.MachineCluster, o v1alpha1.ReportedOwner, state ownerState, now time.Time) error {
	if !state.rolledSince(c.Nodes.Since) {
		if err := checkRolloutCage(ctx, r.Client, o, state); err != nil {
			return err
		}
		if err := roll(ctx, r.Client, o, state, c.Nodes.Since, client.DryRunAll); err != nil {
			return err
		}
	}
	version, err := r.write(ctx, c, c.UnderWay(now, o))
	if err != nil {
		return err
	}
	r.claim = &claim{uid: c.ReportUID, version: version}
	note := r.memory.of(c)
	note.tries, note.failures = backOff{}, 0
	return nil
}

// giveBack gives the place of a cluster back before its next owner is touched.
func (r *Reconciler) giveBack(ctx context.Context, c *rollout.MachineCluster, plan *rollout.MachinePlan) error {
	if err := r.writeIfChanged(ctx, c, c.Describe()); err != nil {
		return err
	}
	plan.GaveBack(c)
	return nil
}

// rollOwner sets spec.rollout.after of an owner, after the report of its cluster, as it
// was read, says so.
func (r *Reconciler) rollOwner(ctx context.Context, c *rollout.MachineCluster, o v1alpha1.ReportedOwner, state ownerState, now time.Time) error {
	if err := checkRolloutCage(ctx, r.Client, o, state); err != nil {
		return err
	}
	if _, err := r.write(ctx, c, c.UnderWay(now, o)); err != nil {
		return err
	}
	if err := roll(ctx, r.Client, o, state, c.Nodes.Since); err != nil {
		return err
	}
	r.memory.of(c).tries = backOff{next: now.Add(ownerPollInterval)}
	r.Events.Eventf(reportOf(c), state.object, corev1.EventTypeNormal, "RolloutBegun", "Roll", "set spec.rollout.after of %s to %s", rollout.OwnerName(o), c.Nodes.Since.UTC().Format(time.RFC3339))
	return nil
}

// hold leaves a cluster under way, unless it has made no progress for too long:
// then it gives up its place.
func (r *Reconciler) hold(ctx context.Context, c *rollout.MachineCluster, next v1alpha1.ReportedRollout, now time.Time) error {
	note := r.memory.of(c)
	note.tries = backOff{next: now.Add(ownerPollInterval)}
	deadline := cmp.Or(c.Deadline, rolloutDeadline)
	if now.Sub(note.moved) < deadline {
		return r.writeIfChanged(ctx, c, next)
	}
	next.After, next.Skipped = nil, c.Since()
	next.Message = fmt.Sprintf("skipped after %s without progress: %s", deadline, next.Message)
	if err := r.writeIfChanged(ctx, c, next); err != nil {
		return err
	}
	r.Events.Eventf(reportOf(c), nil, corev1.EventTypeWarning, "RolloutSkipped", "Skip", "%s", machinery.Shorten(next.Message))
	return nil
}

// blocked notes an error that concerns a single cluster in that cluster's report, and returns whether the
// others have to wait all the same. It returns other errors.
func (r *Reconciler) blocked(ctx context.Context, c *rollout.MachineCluster, err error, now time.Time) (bool, error) {
	note := r.memory.of(c)
	var blocked *blockedError
	switch {
	case errors.As(err, &blocked) && c.Holds():
		err = r.hold(ctx, c, c.HeldFor(blocked.message), now)
	case errors.As(err, &blocked):
		note.inVain(c, now)
		if next := c.Describe(); next.Skipped == nil {
			next.Message = blocked.message
			err = r.writeIfChanged(ctx, c, next)
		} else {
			err = nil
		}
	}
	switch {
	case err == nil:
		return c.Holds(), nil
	case !machinery.AboutOne(err):
		return true, err
	}
	log.FromContext(ctx).Info("the rollout is not in a ProxyReport", "report", c.Key, "reason", apierrors.ReasonForError(err))
	note.tries.failed(now, retryConflict)
	if apierrors.IsConflict(err) && note.tries.count <= 3 { // the cache may be a moment behind, which changes no order
		return true, nil
	}
	if !c.Holds() {
		note.failures++
	}
	return c.Holds(), nil
}

// writeIfChanged writes status.rollout of a report if it is not so already.
func (r *Reconciler) writeIfChanged(ctx context.Context, c *rollout.MachineCluster, next v1alpha1.ReportedRollout) error {
	next.Message = machinery.Shorten(next.Message)
	if rollout.Same(c.Rollout, next) {
		return nil
	}
	_, err := r.write(ctx, c, next)
	return client.IgnoreNotFound(err)
}

// write writes status.rollout of a report that is as it was read, and returns its
// version then.
func (r *Reconciler) write(ctx context.Context, c *rollout.MachineCluster, next v1alpha1.ReportedRollout) (string, error) {
	next.Message = machinery.Shorten(next.Message)
	report := reportOf(c)
	report.ResourceVersion = c.ReportVersion
	answer, err := apply.StatusOf(ctx, r.Client, report, map[string]any{"rollout": rolloutFields(next)}, rolloutManager)
	return answer.ResourceVersion, err
}

// reportOf returns the report of a cluster, without content.
func reportOf(c *rollout.MachineCluster) *v1alpha1.ProxyReport {
	return &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{Namespace: c.Key.Namespace, Name: c.Key.Name, UID: c.ReportUID}}
}

// rolloutFields is all of status.rollout as a merge patch has it; nil removes it.
func rolloutFields(next v1alpha1.ReportedRollout) any {
	if next == (v1alpha1.ReportedRollout{}) {
		return nil
	}
	fields := map[string]any{"after": nil, "started": nil, "owner": nil, "skipped": nil, "message": nil}
	content, _ := json.Marshal(next) // times and strings
	_ = json.Unmarshal(content, &fields)
	return fields
}
