package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// write carries a decision out: the report's existence and its promises, since it owns
// the Secrets and must remember them, then the Secrets, then the report's status.
func (r *ClusterReconciler) write(ctx context.Context, s state, d decision) (ctrl.Result, error) {
	cluster := client.ObjectKeyFromObject(s.cluster)
	created := s.report == nil
	leave := func() {}
	if len(s.last().Secrets) == 0 && len(d.secrets) > 0 {
		leave = r.newcomers.arrive()
	}
	defer leave()
	if created {
		if d.paused {
			return ctrl.Result{}, nil
		}
		report, err := r.createReport(ctx, s, promises(s, d))
		if err != nil {
			return ctrl.Result{}, err
		}
		s.report = report
	} else if err := r.writeMetadata(ctx, &s, d, s.paced || reapplyRequested(&s)); err != nil {
		return ctrl.Result{}, err
	}
	w := r.applySecrets(ctx, s, d)
	leave()
	if created { // no machine waits for it, and it is not to lose the record of what was written
		if err := r.writeMetadata(ctx, &s, d, true); err != nil {
			log.FromContext(ctx).Error(err, "the report keeps its managed fields for now")
		}
	}
	out := w.outcome()
	if len(out.exists) > 0 {
		s.exists = out.exists
		return r.write(ctx, s, r.decide(s)) // which writes no Secret: the cluster counts as one that had a proxy
	}
	found := d.status.Findings
	if out.retry == nil && d.lint != nil {
		found = d.lint() // it takes longer than all else, so no Secret waits for it
	}
	status := conclude(s, d, w, found)
	r.paceNext(s, w, status)
	if err := r.writeStatus(ctx, s.report, status); err != nil {
		return ctrl.Result{}, err
	}
	if out.overwritten {
		r.changes.overwrote(cluster, status.ProxyName)
	}
	r.memory.recorded(cluster) // what failed is due by its record
	r.announce(s, status, out)
	if out.retry != nil {
		return ctrl.Result{}, out.retry
	}
	ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if err := r.writeAccepted(ctx, s.wish, accepted(s, d, ptr.Deref(ready, metav1.Condition{}))); err != nil {
		return ctrl.Result{}, err
	}
	return r.nextLook(s, d, out), nil
}

func (r *ClusterReconciler) createReport(ctx context.Context, s state, promised map[string]string) (*v1alpha1.ProxyReport, error) {
	report := &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{
		Namespace:   s.cluster.Namespace,
		Name:        s.cluster.Name,
		Labels:      map[string]string{render.ManagedLabel: render.Manager, render.MoveLabel: ""},
		Annotations: promised,
		Finalizers:  []string{v1alpha1.ReportFinalizer},
	}}
	if err := apply.Create(ctx, r.Client, report); err != nil {
		return nil, err
	}
	r.memory.wrote(client.ObjectKeyFromObject(report), report)
	return report, nil
}

// remember keeps a report until the cache has it, with the metadata that the API server answered: somebody may have
// changed that meanwhile.
func (r *ClusterReconciler) remember(ctx context.Context, report *v1alpha1.ProxyReport, answer *metav1.PartialObjectMetadata, status v1alpha1.ProxyReportStatus) *v1alpha1.ProxyReport {
	next := &v1alpha1.ProxyReport{TypeMeta: report.TypeMeta, ObjectMeta: answer.ObjectMeta, Status: status}
	key := client.ObjectKeyFromObject(report)
	r.memory.wrote(key, next)
	if cached, err := get[v1alpha1.ProxyReport](ctx, r.Client, key); err == nil {
		r.memory.latest(key, cached) // an event that came before the answer does not come again
	}
	return next
}

// writeMetadata writes into the report's metadata what the cluster was promised, if it is due, and restores the
// finalizer. again: what is not urgent is written, too.
func (r *ClusterReconciler) writeMetadata(ctx context.Context, s *state, d decision, again bool) error {
	var annotations map[string]string
	var finalizer string
	if promised := promises(*s, d); promisesDue(s.report.Annotations, promised, again) {
		annotations = promised
	}
	managed := again && len(s.report.ManagedFields) > 0 // since it was created, or somebody applied to it
	if s.report.DeletionTimestamp == nil && !controllerutil.ContainsFinalizer(s.report, v1alpha1.ReportFinalizer) {
		finalizer = v1alpha1.ReportFinalizer
	}
	if d.paused || annotations == nil && finalizer == "" && !managed {
		return nil
	}
	answer, err := apply.Metadata(ctx, r.Client, s.report, annotations, finalizer)
	if err != nil {
		return err
	}
	s.report = r.remember(ctx, s.report, answer, s.report.Status)
	return nil
}

// applySecrets applies each object that is due, side by side. A failure of one does not keep the others from being
// written.
func (r *ClusterReconciler) applySecrets(ctx context.Context, s state, d decision) writes {
	if len(d.secrets) == 0 {
		return writes{}
	}
	key, err := r.Key.get(ctx)
	if err != nil {
		return writes{failed: fmt.Errorf("reading the key of the write memory: %w", err)}
	}
	deleted := r.deletionDue(&s)
	w := due(key, s, d, deleted)
	cluster := client.ObjectKeyFromObject(s.cluster)
	if w.overwrite() {
		r.newcomers.letPass(ctx)
		machines := d.status.Nodes == nil || d.status.Nodes.HMAC != w.digest
		if err := r.changes.begin(ctx, cluster, d.status.ProxyName, s.last().ProxyName, machines); err != nil {
			return writes{failed: fmt.Errorf("marking the beginning of a change: %w", err)}
		}
	}
	blank := d.status.Mode == string(resolve.ModeUnproxied)
	if blank {
		if exists := r.existing(ctx, w.attempts); len(exists) > 0 {
			return writes{exists: exists}
		}
	}
	r.send(ctx, w.attempts, blank)
	if deleted && w.outcome().retry != nil {
		r.memory.collect(cluster, time.Now()) // all of it comes again
	}
	return w
}

// paceNext puts the next re-apply off where everything was applied. A name that is taken is tried again on its own, and
// must not put off the others.
func (r *ClusterReconciler) paceNext(s state, w writes, status v1alpha1.ProxyReportStatus) {
	if w.all && w.outcome().retry == nil {
		r.memory.applied(client.ObjectKeyFromObject(s.cluster), r.Interval, time.Now(), mostReverts(status))
	}
}

// existing names what is there where blank Secrets may only be created. All of them are asked for before the first is:
// where one had content, no other one is to be blank.
func (r *ClusterReconciler) existing(ctx context.Context, attempts []attempt) (names []string) {
	for _, a := range attempts {
		var exists *apply.ExistsError
		if a.due && a.last.UID == "" && errors.As(apply.CheckNew(ctx, r.Client, a.Object), &exists) {
			names = append(names, exists.Object)
		}
	}
	return names
}

// send writes what is due, side by side: the answers take most of the time.
func (r *ClusterReconciler) send(ctx context.Context, attempts []attempt, blank bool) {
	ctx, cancel := context.WithTimeout(ctx, answerTime/2) // so that there is time for the status
	defer cancel()
	var wait sync.WaitGroup
	for i := range attempts {
		if a := &attempts[i]; a.due {
			write := apply.Write
			if blank && a.last.UID == "" {
				write = apply.WriteNew // what is not known to be ours may be all that a machine has
			}
			wait.Go(func() { a.answer, a.err = write(ctx, r.Client, a.Object) })
		}
	}
	wait.Wait()
	for _, a := range attempts {
		if a.due {
			secretWrites.WithLabelValues(a.role, a.result()).Inc()
		}
	}
}

// writeStatus writes what the status says anew. What the rollout controller writes is not in the difference.
func (r *ClusterReconciler) writeStatus(ctx context.Context, report *v1alpha1.ProxyReport, status v1alpha1.ProxyReportStatus) error {
	next := *report
	next.Status = status
	answer, err := apply.Status(ctx, r.Client, report, &next, apply.FieldManager)
	if err == nil && answer != nil {
		r.remember(ctx, report, answer, status)
	}
	return err
}
