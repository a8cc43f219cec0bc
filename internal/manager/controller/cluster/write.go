package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/manager/controller/decide"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// announce records events for what changed, and nothing for what did not.
func (r *Reconciler) announce(s decide.State, status v1alpha1.ProxyReportStatus, out decide.Outcome) {
	for _, name := range out.Mended {
		r.Events.Eventf(s.Report, s.Cluster, corev1.EventTypeWarning, "DriftMended", "Apply", "%s had been changed and is again as it was", name)
	}
	if len(s.Exists) > 0 {
		r.Events.Eventf(s.Report, s.Cluster, corev1.EventTypeWarning, "Kept", "Apply", "%s exists and stays as it is: the cluster counts as one that had a proxy", strings.Join(s.Exists, " and "))
	}
	if len(out.Created) > 0 {
		r.Events.Eventf(s.Report, s.Cluster, corev1.EventTypeNormal, "Written", "Apply", "wrote %s", strings.Join(out.Created, " and "))
	}
	earlier, current := meta.FindStatusCondition(s.Last().Conditions, v1alpha1.ConditionReady), meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if current == nil || earlier != nil && earlier.Reason == current.Reason || current.Status == metav1.ConditionTrue {
		return
	}
	r.Events.Eventf(s.Report, s.Cluster, corev1.EventTypeWarning, current.Reason, "Resolve", "%s", current.Message)
}

// SecretWrites counts them, for the metrics.
var SecretWrites = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "fairlead_secret_writes_total",
	Help: "Writes of Secrets and ConfigMaps, by role and result.",
}, []string{"role", "result"})

// noCluster tells the owner of a ProxyOverride that no Cluster has its name.
func (r *Reconciler) noCluster(ctx context.Context, key types.NamespacedName) error {
	override, err := machinery.Get[v1alpha1.ProxyOverride](ctx, r.Client, key)
	if err != nil || override == nil {
		return err
	}
	if cluster, err := machinery.Get[clusterv1.Cluster](ctx, r.Client, key); err != nil || cluster != nil { // another one than before
		return err
	}
	return r.writeAccepted(ctx, override, &metav1.Condition{
		Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNoCluster,
		Message: fmt.Sprintf("there is no Cluster %s; a ProxyOverride has the name and the namespace of its Cluster", key),
	})
}

// writeAccepted writes the condition where it says something else than before, for this generation. One that the API server refuses
// holds up nothing, and is written with the next look.
func (r *Reconciler) writeAccepted(ctx context.Context, override *v1alpha1.ProxyOverride, condition *metav1.Condition) error {
	if condition == nil {
		return nil
	}
	conditions := append([]metav1.Condition(nil), override.Status.Conditions...)
	condition.ObservedGeneration = override.Generation
	if !meta.SetStatusCondition(&conditions, *condition) {
		return nil
	}
	err := apply.StatusFields(ctx, r.Client, override, map[string]any{"conditions": conditions}, apply.FieldManager)
	if err == nil || !machinery.AboutOne(err) {
		return err
	}
	if !apierrors.IsNotFound(err) {
		log.FromContext(ctx).Error(err, "the condition of a ProxyOverride cannot be written")
	}
	return nil
}

// write carries a decision out: the report's existence and its promises, since it owns
// the Secrets and must remember them, then the Secrets, then the report's status.
func (r *Reconciler) write(ctx context.Context, s decide.State, d decide.Decision) (ctrl.Result, error) {
	cluster := client.ObjectKeyFromObject(s.Cluster)
	created := s.Report == nil
	leave := func() {}
	if len(s.Last().Secrets) == 0 && len(d.Secrets) > 0 {
		leave = r.newcomers.arrive()
	}
	defer leave()
	if created {
		if d.Paused {
			return ctrl.Result{}, nil
		}
		report, err := r.createReport(ctx, s, decide.Promises(s, d))
		if err != nil {
			return ctrl.Result{}, err
		}
		s.Report = report
	} else if err := r.writeMetadata(ctx, &s, d, s.Paced || decide.ReapplyRequested(&s)); err != nil {
		return ctrl.Result{}, err
	}
	w := r.applySecrets(ctx, s, d)
	leave()
	if created { // no machine waits for it, and it is not to lose the record of what was written
		if err := r.writeMetadata(ctx, &s, d, true); err != nil {
			log.FromContext(ctx).Error(err, "the report keeps its managed fields for now")
		}
	}
	out := w.Outcome()
	if len(out.Exists) > 0 {
		s.Exists = out.Exists
		return r.write(ctx, s, r.decide(s)) // which writes no Secret: the cluster counts as one that had a proxy
	}
	found := d.Status.Findings
	if out.Retry == nil && d.Lint != nil {
		found = d.Lint() // it takes longer than all else, so no Secret waits for it
	}
	status := decide.Conclude(s, d, w, found)
	r.paceNext(s, w, status)
	if err := r.writeStatus(ctx, s.Report, status); err != nil {
		return ctrl.Result{}, err
	}
	if out.Overwritten {
		r.changes.overwrote(cluster, status.ProxyName)
	}
	r.memory.change(cluster, func(c *clusterMemory) { c.inDoubt = decide.InDoubt{} }) // what failed is due by its record
	r.announce(s, status, out)
	if out.Retry != nil {
		return ctrl.Result{}, out.Retry
	}
	ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if err := r.writeAccepted(ctx, s.Wish, decide.Accepted(s, d, ptr.Deref(ready, metav1.Condition{}))); err != nil {
		return ctrl.Result{}, err
	}
	return r.nextLook(s, d, out), nil
}

func (r *Reconciler) createReport(ctx context.Context, s decide.State, promised map[string]string) (*v1alpha1.ProxyReport, error) {
	report := &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{
		Namespace:   s.Cluster.Namespace,
		Name:        s.Cluster.Name,
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
func (r *Reconciler) remember(ctx context.Context, report *v1alpha1.ProxyReport, answer *metav1.PartialObjectMetadata, status v1alpha1.ProxyReportStatus) *v1alpha1.ProxyReport {
	next := &v1alpha1.ProxyReport{TypeMeta: report.TypeMeta, ObjectMeta: answer.ObjectMeta, Status: status}
	key := client.ObjectKeyFromObject(report)
	r.memory.wrote(key, next)
	if cached, err := machinery.Get[v1alpha1.ProxyReport](ctx, r.Client, key); err == nil {
		r.memory.latest(key, cached) // an event that came before the answer does not come again
	}
	return next
}

// writeMetadata writes the promises to the cluster into the report's metadata, if they are due, and restores the
// finalizer. With again, promises that are not urgent are written, too.
func (r *Reconciler) writeMetadata(ctx context.Context, s *decide.State, d decide.Decision, again bool) error {
	var annotations map[string]string
	var finalizer string
	if promised := decide.Promises(*s, d); decide.PromisesDue(s.Report.Annotations, promised, again) {
		annotations = promised
	}
	managed := again && len(s.Report.ManagedFields) > 0 // since it was created, or somebody applied to it
	if s.Report.DeletionTimestamp == nil && !controllerutil.ContainsFinalizer(s.Report, v1alpha1.ReportFinalizer) {
		finalizer = v1alpha1.ReportFinalizer
	}
	if d.Paused || annotations == nil && finalizer == "" && !managed {
		return nil
	}
	answer, err := apply.Metadata(ctx, r.Client, s.Report, annotations, finalizer)
	if err != nil {
		return err
	}
	s.Report = r.remember(ctx, s.Report, answer, s.Report.Status)
	return nil
}

// applySecrets applies each object that is due, side by side. A failure of one does not keep the others from being
// written.
func (r *Reconciler) applySecrets(ctx context.Context, s decide.State, d decide.Decision) decide.Writes {
	if len(d.Secrets) == 0 {
		return decide.Writes{}
	}
	key, err := r.Key.Get(ctx)
	if err != nil {
		return decide.Writes{Failed: fmt.Errorf("reading the key of the write memory: %w", err)}
	}
	deleted := r.deletionDue(&s)
	w := decide.Due(key, s, d, deleted)
	cluster := client.ObjectKeyFromObject(s.Cluster)
	if w.Overwrite() {
		r.newcomers.letPass(ctx)
		machines := d.Status.Nodes == nil || d.Status.Nodes.HMAC != w.Digest
		if err := r.changes.begin(ctx, cluster, d.Status.ProxyName, s.Last().ProxyName, machines); err != nil {
			return decide.Writes{Failed: fmt.Errorf("marking the beginning of a change: %w", err)}
		}
	}
	blank := d.Status.Mode == string(resolve.ModeUnproxied)
	if blank {
		if exists := r.existing(ctx, w.Attempts); len(exists) > 0 {
			return decide.Writes{Exists: exists}
		}
	}
	r.send(ctx, w.Attempts, blank)
	if deleted && w.Outcome().Retry != nil {
		r.memory.collect(cluster, time.Now()) // all of it comes again
	}
	return w
}

// paceNext puts the next re-apply off where everything was applied. A name that is taken is tried again on its own, and
// must not put off the others.
func (r *Reconciler) paceNext(s decide.State, w decide.Writes, status v1alpha1.ProxyReportStatus) {
	if w.All && w.Outcome().Retry == nil {
		r.memory.applied(client.ObjectKeyFromObject(s.Cluster), r.Interval, time.Now(), decide.MostReverts(status))
	}
}

// existing names the objects that exist already where blank Secrets may only be created. All of them are asked for
// before the first is created: if one had content, no other one is to be blank.
func (r *Reconciler) existing(ctx context.Context, attempts []decide.Attempt) (names []string) {
	for _, a := range attempts {
		var exists *apply.ExistsError
		if a.Due && a.Last.UID == "" && errors.As(apply.CheckNew(ctx, r.Client, a.Object), &exists) {
			names = append(names, exists.Object)
		}
	}
	return names
}

// send writes the objects that are due, side by side: waiting for the answers takes most of the time.
func (r *Reconciler) send(ctx context.Context, attempts []decide.Attempt, blank bool) {
	ctx, cancel := context.WithTimeout(ctx, answerTime/2) // so that there is time for the status
	defer cancel()
	var wait sync.WaitGroup
	for i := range attempts {
		if a := &attempts[i]; a.Due {
			write := apply.Write
			if blank && a.Last.UID == "" {
				write = apply.WriteNew // what is not known to be ours may be all that a machine has
			}
			wait.Go(func() { a.Answer, a.Err = write(ctx, r.Client, a.Object) })
		}
	}
	wait.Wait()
	for _, a := range attempts {
		if a.Due {
			SecretWrites.WithLabelValues(a.Role, a.Result()).Inc()
		}
	}
}

// writeStatus writes what the status says anew. What the rollout controller writes is not in the difference.
func (r *Reconciler) writeStatus(ctx context.Context, report *v1alpha1.ProxyReport, status v1alpha1.ProxyReportStatus) error {
	next := *report
	next.Status = status
	answer, err := apply.Status(ctx, r.Client, report, &next, apply.FieldManager)
	if err == nil && answer != nil {
		r.remember(ctx, report, answer, status)
	}
	return err
}
