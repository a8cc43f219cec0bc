package deliver

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/delivery"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// writer is the field manager of all that this program writes.
const writer client.FieldOwner = "fairlead-deliver"

var parts = []delivery.Part{delivery.Namespace, delivery.Source}

// Reconciler delivers to one Cluster at a time.
type Reconciler struct {
	Options
	Client client.Client // reads from caches
	Live   client.Reader // reads Secrets by name

	memory *memory
}

// state is a Cluster with its objects, from caches.
type state struct {
	cluster *clusterv1.Cluster
	others  []string // Clusters of the namespace with its name as their label
	report  *v1alpha1.ProxyReport
	sets    map[delivery.Part]*addonsv1.ClusterResourceSet // ours, that are there
	binding *addonsv1.ClusterResourceSetBinding
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	s, err := r.read(ctx, request.NamespacedName)
	if err != nil || s == nil {
		return ctrl.Result{}, err
	}
	verdict, reason := delivery.Decide(delivery.Cluster{
		Name: s.cluster.Name, Label: s.cluster.Labels[v1alpha1.DeliverLabel], Others: s.others,
		Paused: isPaused(s.cluster), Deleting: s.cluster.DeletionTimestamp != nil,
	})
	switch verdict {
	case delivery.Withdraw:
		return ctrl.Result{}, r.withdraw(ctx, s)
	case delivery.Block:
		return ctrl.Result{}, r.say(ctx, s, delivery.Blocked(s.delivered(), reason, time.Now()))
	case delivery.Deliver:
		return r.deliver(ctx, s)
	case delivery.Leave:
	}
	return ctrl.Result{}, nil
}

func isPaused(c *clusterv1.Cluster) bool {
	_, annotated := c.Annotations[clusterv1.PausedAnnotation]
	return annotated || c.Spec.Paused != nil && *c.Spec.Paused
}

func (s *state) delivered() *v1alpha1.Delivered {
	if s.report == nil {
		return nil
	}
	return s.report.Status.Delivered
}

// read returns nil for a Cluster that is gone.
func (r *Reconciler) read(ctx context.Context, key types.NamespacedName) (*state, error) {
	s := &state{cluster: &clusterv1.Cluster{}, report: &v1alpha1.ProxyReport{}, binding: &addonsv1.ClusterResourceSetBinding{}}
	switch err := r.Client.Get(ctx, key, s.cluster); {
	case apierrors.IsNotFound(err):
		r.memory.forget(key)
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := r.Client.Get(ctx, key, s.report); apierrors.IsNotFound(err) {
		s.report = nil
	} else if err != nil {
		return nil, err
	}
	if err := client.IgnoreNotFound(r.Client.Get(ctx, key, s.binding)); err != nil {
		return nil, err
	}
	s.sets = map[delivery.Part]*addonsv1.ClusterResourceSet{}
	for _, part := range parts {
		set := &addonsv1.ClusterResourceSet{}
		switch err := r.Client.Get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: part.Name(key.Name)}, set); {
		case err == nil:
			s.sets[part] = set
		case !apierrors.IsNotFound(err):
			return nil, err
		}
	}
	same := &clusterv1.ClusterList{}
	if err := r.Client.List(ctx, same, client.InNamespace(key.Namespace), client.MatchingFields{labelIndex: key.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	for i := range same.Items {
		if name := same.Items[i].Name; name != key.Name {
			s.others = append(s.others, name)
		}
	}
	return s, nil
}

// withdraw deletes the sets of a Cluster that has lost the label. The objects in the workload cluster stay.
func (r *Reconciler) withdraw(ctx context.Context, s *state) error {
	r.memory.forget(client.ObjectKeyFromObject(s.cluster))
	for _, part := range parts {
		if set := s.sets[part]; set != nil && set.DeletionTimestamp == nil {
			if err := client.IgnoreNotFound(apply.Delete(ctx, r.Client, set)); err != nil {
				return fmt.Errorf("deleting %s %s: %w", setKind, set.Name, err)
			}
		}
	}
	return r.say(ctx, s, nil)
}

// deliver keeps what Cluster API is given, and says what it answers.
func (r *Reconciler) deliver(ctx context.Context, s *state) (ctrl.Result, error) {
	gave, err := r.keep(ctx, s)
	var blocked *blockedError
	var taken *apply.TakenError
	var refused *apply.RefusedError
	switch {
	case errors.As(err, &blocked), errors.As(err, &taken), errors.As(err, &refused):
		return ctrl.Result{RequeueAfter: blockedRetry}, r.say(ctx, s, delivery.Blocked(s.delivered(), err.Error(), time.Now()))
	case err != nil || gave == nil:
		return ctrl.Result{}, err
	}
	next, wait := delivery.Next(s.delivered(), s.answer(*gave), time.Now(), r.ReportAfter)
	again := time.Until(r.due(s, gave.looked))
	if wait > 0 {
		again = min(again, wait)
	}
	return ctrl.Result{RequeueAfter: max(again, time.Millisecond)}, r.say(ctx, s, next)
}
