package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/operator/internal/apply"
	"github.com/fairlead-io/fairlead/operator/render"
	"github.com/fairlead-io/fairlead/operator/resolve"
)

// outcome is what became of the Secrets.
type outcome struct {
	taken, refused  []string // messages
	written, mended []string // what has new content, and what somebody had changed
	retry           error
}

// write carries a decision out: the report's existence and its note, since it owns
// the Secrets and must remember them, then the Secrets, then the report's status.
func (r *ClusterReconciler) write(ctx context.Context, s state, d decision) (ctrl.Result, error) {
	if s.report == nil {
		if d.paused {
			return ctrl.Result{}, nil
		}
		report, err := r.createReport(ctx, s, d.note)
		if err != nil {
			return ctrl.Result{}, err
		}
		s.report = report
	}
	if err := r.writeNote(ctx, s.report, d); err != nil {
		return ctrl.Result{}, err
	}
	out := r.applySecrets(ctx, s, &d)
	count(d.status.Nodes, s.machines)
	setEndpointsDirect(&d.status.Conditions, d.own, s)
	conclude(&d, out, s.report.Generation)
	if err := r.writeStatus(ctx, s.report, d.status); err != nil {
		return ctrl.Result{}, err
	}
	r.announce(s, d.status, out)
	if out.retry != nil {
		return ctrl.Result{}, out.retry
	}
	return ctrl.Result{RequeueAfter: r.nextLook(s, d, out)}, nil
}

func (r *ClusterReconciler) createReport(ctx context.Context, s state, note string) (*v1alpha1.ProxyReport, error) {
	report := &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{
		Namespace:   s.cluster.Namespace,
		Name:        s.cluster.Name,
		Labels:      map[string]string{render.ManagedLabel: render.Manager, render.MoveLabel: ""},
		Annotations: map[string]string{v1alpha1.HadProxyAnnotation: note},
		Finalizers:  []string{v1alpha1.ReportFinalizer},
	}}
	return report, r.Client.Create(ctx, report)
}

// writeNote notes in the report's metadata whether the cluster had a proxy, if it
// is not there already. The turn goes on with the report as it is then.
func (r *ClusterReconciler) writeNote(ctx context.Context, report *v1alpha1.ProxyReport, d decision) error {
	if d.paused || report.Annotations[v1alpha1.HadProxyAnnotation] == d.note {
		return nil
	}
	noted := &unstructured.Unstructured{}
	noted.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ProxyReport"))
	noted.SetNamespace(report.Namespace)
	noted.SetName(report.Name)
	noted.SetUID(report.UID) // never creates one
	noted.SetAnnotations(map[string]string{v1alpha1.HadProxyAnnotation: d.note})
	err := r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(noted), client.FieldOwner(apply.FieldManager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("noting in ProxyReport %s whether the cluster had a proxy: %w", report.Name, err)
	}
	if err := r.awaitSeen(ctx, report); err != nil {
		return err
	}
	report.Annotations, report.ResourceVersion = noted.GetAnnotations(), noted.GetResourceVersion()
	return nil
}

// target is an object to write.
type target struct {
	client.Object
	role string
}

// targets are the Secrets, and the ConfigMap if there is to be one.
func (d decision) targets(owner *v1alpha1.ProxyReport) []target {
	var all []target
	for _, secret := range d.secrets {
		all = append(all, target{apply.Object(secret, owner), secret.Role()})
	}
	if d.plain != nil {
		all = append(all, target{apply.ConfigMap(*d.plain, owner), render.ConfigMapRole})
	}
	return all
}

// applySecrets applies each object that is due and updates the records in the
// decision's status. A failure of one does not keep the others from being written.
func (r *ClusterReconciler) applySecrets(ctx context.Context, s state, d *decision) outcome {
	var out outcome
	if len(d.secrets) == 0 {
		return out
	}
	key, err := r.key(ctx)
	if err != nil {
		out.retry = fmt.Errorf("reading the key of the write memory: %w", err)
		return out
	}
	now, cluster := time.Now(), client.ObjectKeyFromObject(s.cluster)
	everything := reapplyRequested(&s) || r.Pace.wait(cluster, now) <= 0
	all := true
	told := apply.Digest(key, d.meaning)
	for _, object := range d.targets(s.report) {
		last, fingerprint := recordOf(d.status, object.role), apply.Fingerprint(key, object.Object)
		written, ok := unchanged(last), true
		if everything || changed(last, fingerprint) {
			written, ok = r.applyOne(ctx, object, last, fingerprint, d, &out)
		} else {
			all = false
		}
		if ok && object.role == render.SystemdRole {
			d.status.Nodes = nextNodes(d.status.Nodes, last, fingerprint, written, told)
		}
	}
	if out.retry != nil {
		return out // the turn is not over: all of it comes again
	}
	if all { // a name that is taken is tried every minute, and must not put off the turn of the others
		r.Pace.applied(cluster, now, mostReverts(d.status))
	}
	d.status.HandledRequest = s.report.Annotations[v1alpha1.ReapplyAnnotation]
	return out
}

// applyOne reports whether the object is as it should be.
func (r *ClusterReconciler) applyOne(ctx context.Context, object target, last v1alpha1.SecretRecord, fingerprint string, d *decision, out *outcome) (apply.Written, bool) {
	written, err := apply.Write(ctx, r.Client, object.Object)
	var taken *apply.TakenError
	var refused *apply.RefusedError
	result := writeFailed
	switch {
	case errors.As(err, &taken):
		out.taken, result = append(out.taken, taken.Error()), writeTaken
		dropRecord(&d.status, object.role) // so that it stays due
	case errors.As(err, &refused):
		out.refused, result = append(out.refused, refused.Error()), writeRefused
		dropRecord(&d.status, object.role)
		if object.role == render.ConfigMapRole && last.Name != "" { // it is there: nobody may ask for it any more
			setRecord(&d.status, v1alpha1.SecretRecord{Role: object.role, Name: last.Name})
		}
	case err != nil:
		out.retry = errors.Join(out.retry, err)
	default:
		record := nextRecord(last, object.role, object.GetName(), fingerprint, written)
		result = writeUnchanged
		if changed(last, fingerprint) {
			out.written, result = append(out.written, apply.Title(object)), writeWritten
		} else if record.Reverts > 0 {
			out.mended, result = append(out.mended, apply.Title(object)), writeMended
		}
		setRecord(&d.status, record)
	}
	secretWrites.WithLabelValues(object.role, result).Inc()
	return written, err == nil
}

// writeStatus writes the status if it says anything new, less what the rollout
// controller writes.
func (r *ClusterReconciler) writeStatus(ctx context.Context, report *v1alpha1.ProxyReport, status v1alpha1.ProxyReportStatus) error {
	if equality.Semantic.DeepEqual(report.Status, status) {
		return nil
	}
	status.Rollout = nil
	version, err := applyStatus(ctx, r.Client, apply.FieldManager, &v1alpha1.ProxyReport{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ProxyReport"},
		ObjectMeta: metav1.ObjectMeta{Namespace: report.Namespace, Name: report.Name, UID: report.UID},
		Status:     status,
	})
	if err != nil || version == report.ResourceVersion {
		return err
	}
	return r.awaitSeen(ctx, report)
}

// awaitSeen returns once the cache has more than the state of a report that was
// read. The report is the operator's memory: a turn that does not see what the
// last one wrote would forget it.
func (r *ClusterReconciler) awaitSeen(ctx context.Context, read *v1alpha1.ProxyReport) error {
	err := wait.PollUntilContextTimeout(ctx, seenInterval, seenTimeout, true, func(ctx context.Context) (bool, error) {
		cached, err := get[v1alpha1.ProxyReport](ctx, r.Client, client.ObjectKeyFromObject(read))
		return cached != nil && cached.ResourceVersion != read.ResourceVersion, err
	})
	if wait.Interrupted(err) {
		return ctx.Err() // a watch that lags this much is not waited for
	}
	return err
}

const (
	seenInterval = 2 * time.Millisecond
	seenTimeout  = 2 * time.Second
)

// applyStatus applies the status of an object whole: what of a field manager's is
// not in it is gone.
// It returns the resource version after it.
func applyStatus(ctx context.Context, c client.Client, manager client.FieldOwner, object runtime.Object) (string, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return "", err
	}
	u := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(u.Object, "spec")
	err = c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), manager, client.ForceOwnership)
	return u.GetResourceVersion(), err
}

// nextLook is when to look again without being told: for what is not watched.
func (r *ClusterReconciler) nextLook(s state, d decision, out outcome) time.Duration {
	switch {
	case d.paused:
		return 0
	case d.problem != nil && d.problem.Reason == resolve.ReasonFactsPending:
		return retryPending
	case d.problem != nil:
		return 0
	}
	wait := max(r.Pace.wait(client.ObjectKeyFromObject(s.cluster), time.Now()), time.Second)
	if len(out.taken)+len(out.refused) > 0 {
		return min(wait, retryTaken)
	}
	return wait
}
