package replicator

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	ctrlsource "sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
)

// onDemand are namespaces that get the Secret only while a pod refers to it. Agents of tunnels live in kube-system;
// where none does, or the engine does not reach them, the password has no business there. Nor has it where pods must ask for it,
// and none does.
type onDemand struct {
	namespaces []string
	pods       cache.Cache // of these alone: that of the manager has one selector for each kind
}

// everyNamespace, among the names, stands for all.
const everyNamespace = "*"

// newOnDemand watches nothing where there are no such namespaces: without any, a cache would be of all.
func newOnDemand(config *rest.Config, namespaces []string) (onDemand, error) {
	if len(namespaces) == 0 {
		return onDemand{}, nil
	}
	var within map[string]cache.Config
	if !slices.Contains(namespaces, everyNamespace) {
		within = map[string]cache.Config{}
		for _, name := range namespaces {
			within[name] = cache.Config{}
		}
	}
	pods, err := newCache(config, cache.Options{
		DefaultNamespaces: within,
		ByObject:          map[client.Object]cache.ByObject{&corev1.Pod{}: {Transform: referral}},
	})
	return onDemand{namespaces: namespaces, pods: pods}, err
}

// refers is an annotation of cached pods, and nowhere else.
const refers = "fairlead.io/refers"

// referral is all that is kept of a pod: does it refer to the Secret, or to the ConfigMap beside it?
func referral(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	kept := &corev1.Pod{ObjectMeta: identity(pod)}
	var needed needs
	if needed.add(*pod); needed.secret || needed.trustedCA || pod.Annotations[refers] != "" {
		kept.Annotations = map[string]string{refers: proxysecret.Name}
	}
	return kept, nil
}

// source says when a namespace has to be looked at.
func (o onDemand) source() ctrlsource.Source {
	concerned := func(_ context.Context, pod *corev1.Pod) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: pod.Namespace}}}
	}
	return ctrlsource.Kind(o.pods, &corev1.Pod{}, handler.TypedEnqueueRequestsFromMapFunc(concerned), predicate.TypedAnnotationChangedPredicate[*corev1.Pod]{})
}

// spares reports whether a namespace is one of those, and no pod there refers to the Secret.
func (o onDemand) spares(ctx context.Context, namespace string) (bool, error) {
	if !slices.Contains(o.namespaces, namespace) && !slices.Contains(o.namespaces, everyNamespace) {
		return false, nil
	}
	pods := &corev1.PodList{}
	err := o.pods.List(ctx, pods, client.InNamespace(namespace))
	return !slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool { return pod.Annotations[refers] != "" }), err
}
