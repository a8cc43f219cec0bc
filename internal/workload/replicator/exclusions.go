package replicator

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/fairlead-io/fairlead/internal/core/selection"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// States of the exclusion of a namespace, and reasons of Events.
const (
	exclusionUnlimited = "Unlimited" // no time
	exclusionLimited   = "Limited"   // until a time to come
	exclusionInvalid   = "ExclusionInvalid"
	exclusionEnded     = "ExclusionEnded"
)

// longestWait bounds how long the end of an exclusion is waited for at once: timers follow no clock that is set.
const longestWait = time.Hour

// exclusion has the state that the label and the annotation of a namespace mean.
type exclusion struct {
	state  string // empty if the label does not exclude it
	end    time.Time
	detail string // what is wrong
}

func readExclusion(namespace *metav1.PartialObjectMetadata, now time.Time) exclusion {
	if namespace.Labels[selection.Key] != selection.Exclude {
		return exclusion{}
	}
	text, ok := namespace.Annotations[selection.Until]
	if !ok {
		return exclusion{state: exclusionUnlimited}
	}
	end, err := time.Parse(time.RFC3339, text)
	switch {
	case err != nil:
		return exclusion{state: exclusionInvalid, detail: fmt.Sprintf(
			"metadata.annotations: %s: %.64q is no time as RFC 3339 has it, such as 2027-01-31T18:00:00Z. The namespace stays excluded", selection.Until, text)}
	case end.After(now):
		return exclusion{state: exclusionLimited, end: end}
	}
	return exclusion{state: exclusionEnded, end: end}
}

// Exclusions ends the exclusion of namespaces whose time has come.
type Exclusions struct {
	Client client.Client // reads from the cache
	Events events.EventRecorder
	Now    func() time.Time

	paces paces

	latest[exclusion]
}

// Reconcile looks at one namespace.
func (e *Exclusions) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	namespace := metadata("Namespace")
	if err := e.Client.Get(ctx, request.NamespacedName, namespace); err != nil {
		if apierrors.IsNotFound(err) {
			e.change(request.Name, exclusion{})
			e.paces.forget(request.Name)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	now := e.Now()
	found := readExclusion(namespace, now)
	if found.state == exclusionEnded && namespace.DeletionTimestamp == nil {
		return e.end(ctx, namespace, found)
	}
	if e.change(namespace.Name, found) && found.state == exclusionInvalid {
		e.Events.Eventf(namespace, nil, corev1.EventTypeWarning, exclusionInvalid, "Exclude", "%s", found.detail)
		log.FromContext(ctx).Info("when the exclusion ends cannot be read", "detail", found.detail)
	}
	if found.state == exclusionLimited {
		return ctrl.Result{RequeueAfter: min(found.end.Sub(now), longestWait)}, nil
	}
	return ctrl.Result{}, nil
}

// end removes the label from the namespace as it was read: somebody may be extending the time.
func (e *Exclusions) end(ctx context.Context, namespace *metav1.PartialObjectMetadata, found exclusion) (ctrl.Result, error) {
	if !e.paces.allow(namespace.Name) {
		if found.state = stateContended; e.change(namespace.Name, found) {
			const text = "somebody sets the label again and again, such as a GitOps tool; it is removed every %s. Take it out of the repository, or change the time"
			e.Events.Eventf(namespace, nil, corev1.EventTypeWarning, stateContended, "Exclude", text, pace)
			log.FromContext(ctx).Info("somebody sets the label again and again", "state", stateContended)
		}
		return ctrl.Result{RequeueAfter: pace}, nil
	}
	patch := map[string]any{"metadata": map[string]any{
		"resourceVersion": namespace.ResourceVersion, "labels": map[string]any{selection.Key: nil},
	}}
	switch err := apply.Merge(ctx, e.Client, namespace, patch); {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return ctrl.Result{RequeueAfter: behind}, nil
	case err != nil:
		e.change(namespace.Name, found)
		return ctrl.Result{}, fmt.Errorf("end the exclusion of namespace %s: %w", namespace.Name, err)
	}
	e.change(namespace.Name, exclusion{})
	const text = "the exclusion ended at %s: new pods get the proxy settings. Replace those that run"
	e.Events.Eventf(namespace, nil, corev1.EventTypeNormal, exclusionEnded, "Exclude", text, found.end.UTC().Format(time.RFC3339))
	log.FromContext(ctx).Info("ended the exclusion", "end", found.end)
	return ctrl.Result{}, nil
}

// Register adds the controller to the manager. It shares the watch of namespaces.
func (e *Exclusions) Register(mgr ctrl.Manager) error {
	changed := predicate.Or(predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	return ctrl.NewControllerManagedBy(mgr).
		Named("exclusions").
		For(&corev1.Namespace{}, builder.OnlyMetadata, builder.WithPredicates(changed)).
		WithOptions(options()).
		Complete(e)
}

var (
	exclusionsDesc = prometheus.NewDesc("fairlead_exclusions",
		"Namespaces that a label excludes: Unlimited, Limited by fairlead.io/exclude-until, ExclusionInvalid, ExclusionEnded and not yet carried out, or Contended: somebody sets the label again.", []string{"state"}, nil)
	nextEndDesc = prometheus.NewDesc("fairlead_exclusion_next_end_timestamp_seconds",
		"When the next exclusion of a namespace ends; none if no exclusion is limited.", nil, nil)
)

// Describe implements prometheus.Collector.
func (e *Exclusions) Describe(ch chan<- *prometheus.Desc) { ch <- exclusionsDesc; ch <- nextEndDesc }

// Collect implements prometheus.Collector.
func (e *Exclusions) Collect(ch chan<- prometheus.Metric) {
	var found []string
	var next time.Time
	for _, one := range e.values() {
		found = append(found, one.state)
		if !one.end.IsZero() && (next.IsZero() || one.end.Before(next)) {
			next = one.end
		}
	}
	collectCounts(ch, exclusionsDesc, found)
	if !next.IsZero() {
		ch <- prometheus.MustNewConstMetric(nextEndDesc, prometheus.GaugeValue, float64(next.Unix()))
	}
}
