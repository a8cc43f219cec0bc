package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// outcome is what became of the Secrets.
type outcome struct {
	taken, refused  []string // messages
	created, mended []string // what was not there, and what somebody had changed
	exists          []string // what was to be created blank, and stays as it is
	overwritten     bool     // something that is there has another content
	retry           error
}

// write carries a decision out: the report's existence and its promises, since it owns
// the Secrets and must remember them, then the Secrets, then the report's status.
func (r *ClusterReconciler) write(ctx context.Context, s state, d decision) (ctrl.Result, error) {
	cluster := client.ObjectKeyFromObject(s.cluster)
	if s.report == nil {
		if d.paused {
			return ctrl.Result{}, nil
		}
		report, err := r.createReport(ctx, s, promises(s, d))
		if err != nil {
			return ctrl.Result{}, err
		}
		s.report = report
	}
	if err := r.writeMetadata(ctx, &s, d); err != nil {
		return ctrl.Result{}, err
	}
	out := r.applySecrets(ctx, s, &d)
	if len(out.exists) > 0 {
		s.exists = out.exists
		return r.write(ctx, s, r.decide(s)) // which writes no Secret: the cluster counts as one that had a proxy
	}
	if out.retry != nil {
		keepDescription(&d.status, s.last())
	} else {
		d.find()
	}
	count(d.status.Nodes, s.machines)
	setEndpointsDirect(&d.status.Conditions, d.own, s)
	conclude(&d, out, nextGeneration(&s, d, out))
	paceFindings(&d.status, s)
	if err := r.writeStatus(ctx, s.report, d.status); err != nil {
		return ctrl.Result{}, err
	}
	if out.overwritten {
		r.changes.overwrote(cluster, d.status.ProxyName)
	}
	r.changes.recorded(cluster) // what failed is due by its record
	r.announce(s, d.status, out)
	if out.retry != nil {
		return ctrl.Result{}, out.retry
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
	answer, err := apply.Metadata(ctx, r.Client, report, nil, "")
	if err != nil {
		return nil, err
	}
	return r.remember(report, answer, report.Status), nil
}

// remember keeps a report until the cache has it, with the metadata that the API server answered: somebody may have
// changed that meanwhile.
func (r *ClusterReconciler) remember(report *v1alpha1.ProxyReport, answer *metav1.PartialObjectMetadata, status v1alpha1.ProxyReportStatus) *v1alpha1.ProxyReport {
	next := leanReport(&v1alpha1.ProxyReport{TypeMeta: report.TypeMeta, ObjectMeta: answer.ObjectMeta, Status: status})
	r.written.put(client.ObjectKeyFromObject(report), next)
	return next
}

// writeMetadata writes into the report's metadata what the cluster was promised, if it is due, and restores the
// finalizer.
func (r *ClusterReconciler) writeMetadata(ctx context.Context, s *state, d decision) error {
	var annotations map[string]string
	var finalizer string
	again := s.paced || reapplyRequested(s)
	if promised := promises(*s, d); promisesDue(s.report.Annotations, promised, again) {
		annotations = promised
	}
	managed := again && len(s.report.ManagedFields) > 0 // of an earlier version, or since somebody applied to it
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
	s.report = r.remember(s.report, answer, s.report.Status)
	return nil
}

// target is an object to write.
type target struct {
	client.Object
	role    string
	shared  bool // the Cluster owns it, too
	excused bool // the collector may have changed its owners, or an earlier write was not recorded: no rival did
}

// targets are the Secrets, and the ConfigMap if there is to be one.
func (d decision) targets(owner *v1alpha1.ProxyReport) []target {
	var all []target
	for _, secret := range d.secrets {
		all = append(all, target{Object: apply.Object(secret, owner), role: secret.Role()})
	}
	if d.plain != nil {
		all = append(all, target{Object: apply.ConfigMap(*d.plain, owner), role: render.ConfigMapRole})
	}
	return all
}

// applySecrets applies each object that is due, side by side, and updates the records in the
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
	told := apply.Digest(key, d.meaning)
	deleted := r.deletionDue(&s)
	attempts, all := r.attempts(key, s, d, told, deleted)
	if overwrites(attempts) {
		machines := d.status.Nodes == nil || d.status.Nodes.HMAC != told
		if err := r.changes.begin(ctx, cluster, d.status.ProxyName, s.last().ProxyName, machines); err != nil {
			out.retry = fmt.Errorf("marking the beginning of a change: %w", err)
			return out
		}
	}
	if d.status.Mode == string(resolve.ModeUnproxied) {
		if out.exists = r.existing(ctx, attempts); len(out.exists) > 0 {
			return out
		}
	}
	r.send(ctx, attempts, d.status.Mode == string(resolve.ModeUnproxied))
	for i := range attempts {
		ok := !attempts[i].due || r.record(&attempts[i], d, &out)
		if ok && attempts[i].role == render.SystemdRole {
			d.status.Nodes = nextNodes(d.status.Nodes, attempts[i], s.doubtNodes, told)
		}
	}
	if out.retry != nil {
		if deleted {
			r.collected.add(cluster, now)
		}
		return out // all of it comes again
	}
	if all { // a name that is taken is tried again on its own, and must not put off the paced re-apply of the others
		r.Pace.applied(cluster, now, mostReverts(d.status))
	}
	d.status.HandledRequest = s.report.Annotations[v1alpha1.ReapplyAnnotation]
	return out
}

// attempt is the writing of one object.
type attempt struct {
	target
	last        v1alpha1.SecretRecord
	fingerprint string
	due         bool
	answer      apply.Written
	err         error
}

// attempts compares what is to be there with what was written last. All means that nothing is left out.
func (r *ClusterReconciler) attempts(key []byte, s state, d *decision, told string, deleted bool) (attempts []attempt, all bool) {
	everything, all := reapplyRequested(&s) || s.paced || deleted || s.doubt, true
	newKey := d.status.Nodes != nil && !apply.SameKey(d.status.Nodes.HMAC, told)
	for _, object := range d.targets(s.report) {
		a := attempt{target: object, last: recordOf(d.status, object.role), fingerprint: apply.Fingerprint(key, object.Object)}
		a.answer = unchanged(a.last)
		a.due = everything || changed(a.last, a.fingerprint)
		if a.due {
			a.excused = deleted || s.doubt
			if a.shared = sharedOwnership(s.cluster, a.last, newKey); a.shared {
				a.Object = apply.Share(a.Object, s.cluster)
			}
		}
		all = all && a.due
		attempts = append(attempts, a)
	}
	return attempts, all
}

// overwrites reports whether something that is there gets other content.
func overwrites(attempts []attempt) bool {
	return slices.ContainsFunc(attempts, func(a attempt) bool { return a.last.UID != "" && changed(a.last, a.fingerprint) })
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
}

// record notes what became of an attempt, and reports whether the object is as it should be.
func (r *ClusterReconciler) record(a *attempt, d *decision, out *outcome) bool {
	var exists *apply.ExistsError
	var taken *apply.TakenError
	var refused *apply.RefusedError
	result := writeFailed
	switch {
	case errors.As(a.err, &exists):
		out.exists, result = append(out.exists, exists.Object), writeKept
	case errors.As(a.err, &taken):
		out.taken, result = append(out.taken, taken.Error()), writeTaken
		dropRecord(&d.status, a.role) // so that it stays due
	case errors.As(a.err, &refused):
		out.refused, result = append(out.refused, refused.Error()), writeRefused
		stayDue(d, a.last) // also a ConfigMap that nobody asks for any more
	case a.err != nil:
		out.retry = errors.Join(out.retry, a.err)
		stayDue(d, a.last) // it may have been written all the same
	default:
		record := nextRecord(a.last, a.target, a.fingerprint, a.answer)
		result = writeUnchanged
		if changed(a.last, a.fingerprint) {
			result = writeWritten
			if a.last.UID == "" { // a change of what is there has one event for the whole fleet
				out.created = append(out.created, apply.Title(a))
			} else {
				out.overwritten = true
			}
		} else if record.Reverts > 0 {
			out.mended, result = append(out.mended, apply.Title(a)), writeMended
		}
		setRecord(&d.status, record)
	}
	secretWrites.WithLabelValues(a.role, result).Inc()
	return a.err == nil
}

// stayDue keeps the record of an object that is there, and takes from it what would say that nothing is to be written.
func stayDue(d *decision, last v1alpha1.SecretRecord) {
	if last.Name != "" {
		last.HMAC = ""
		setRecord(&d.status, last)
	}
}

// keepDescription puts back what the status says of the Secrets, where new ones were not written.
func keepDescription(status *v1alpha1.ProxyReportStatus, last v1alpha1.ProxyReportStatus) {
	status.Mode, status.ProxyName, status.Form, status.NoProxy = last.Mode, last.ProxyName, last.Form, last.NoProxy
	status.Entries, status.EntryCounts, status.Findings, status.Facts = last.Entries, last.EntryCounts, last.Findings, last.Facts
	status.Refusals, status.RefusalCount = last.Refusals, last.RefusalCount
	status.Cluster.Generation = last.Cluster.Generation
}

// paceFindings leaves the findings as they are where nothing else of the report changes, until the cluster's next turn: a
// new version finds something else in the same lists, and all reports of a fleet would be written at its start.
func paceFindings(status *v1alpha1.ProxyReportStatus, s state) {
	next := *status
	next.Findings = s.last().Findings
	if !s.paced && !reapplyRequested(&s) && equality.Semantic.DeepEqual(next, s.last()) {
		*status = next
	}
}

// writeStatus writes what the status says anew. What the rollout controller writes is not in the difference.
func (r *ClusterReconciler) writeStatus(ctx context.Context, report *v1alpha1.ProxyReport, status v1alpha1.ProxyReportStatus) error {
	if equality.Semantic.DeepEqual(report.Status, status) {
		return nil
	}
	next := *report
	next.Status = status
	answer, err := apply.Status(ctx, r.Client, report, &next, apply.FieldManager)
	if err == nil && answer != nil {
		r.remember(report, answer, status)
	}
	return err
}

// nextLook is when to reconcile again without an event: for what is not watched. It does not go before what an event
// asks for, unless the cluster still waits for its first Secrets.
func (r *ClusterReconciler) nextLook(s state, d decision, out outcome) ctrl.Result {
	key := client.ObjectKeyFromObject(s.cluster)
	result := ctrl.Result{Priority: ptr.To(background)}
	switch {
	case d.paused:
		return result
	case d.problem != nil && d.problem.Reason == resolve.ReasonFactsPending:
		result.RequeueAfter, result.Priority = r.backOff.next(key, s.circumstances(), firstPending, r.Pace.Interval, time.Now()), ptr.To(0)
	case d.problem != nil:
		result.RequeueAfter = s.settles
	case len(out.refused) > 0:
		result.RequeueAfter = min(r.backOff.next(key, s.circumstances(), firstRefused, r.Pace.Interval, time.Now()), r.Pace.due(key))
	case len(out.taken) > 0:
		result.RequeueAfter = min(r.backOff.next(key, s.circumstances(), firstTaken, r.Pace.Interval, time.Now()), r.Pace.due(key))
	case s.unread.Reason != "":
		result.RequeueAfter = min(r.backOff.next(key, s.circumstances(), firstUnread, r.Pace.Interval, time.Now()), r.Pace.due(key))
	default:
		r.backOff.forget(key)
		result.RequeueAfter = r.Pace.due(key)
	}
	result.RequeueAfter = sooner(result.RequeueAfter, s.settles)
	return result
}
