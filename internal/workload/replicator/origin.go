package replicator

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	ctrlsource "sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
)

// origin is the Secret of the own namespace that is copied: the chart's, which has the name of the copies, or one that somebody
// else brings. Beside the latter, the own namespace has a copy as all others have.
type origin struct {
	name    string
	secrets cache.Cache // of that one alone, since that of the manager has one selector for each kind; nil for the chart's
}

func newOrigin(config *rest.Config, namespace, name string) (origin, error) {
	o := origin{name: cmp.Or(name, proxysecret.Name)}
	if o.name == proxysecret.Name {
		return o, nil
	}
	var err error
	o.secrets, err = newCache(config, cache.Options{
		DefaultNamespaces: map[string]cache.Config{namespace: {}},
		ByObject:          map[client.Object]cache.ByObject{&corev1.Secret{}: {Field: fields.OneTermEqualSelector("metadata.name", o.name)}},
	})
	return o, err
}

// apart reports whether the source is a Secret of its own, from which the copies are made.
func (o origin) apart() bool { return o.secrets != nil }

// key names the source in the states of namespaces. It has a slash, which no name of a namespace has.
func (o origin) key(namespace string) string {
	if o.apart() {
		return namespace + "/" + o.name
	}
	return namespace
}

// source says that the Secret changed.
func (o origin) source(concerned handler.MapFunc) ctrlsource.Source {
	changed := func(ctx context.Context, secret *corev1.Secret) []reconcile.Request { return concerned(ctx, secret) }
	return ctrlsource.Kind(o.secrets, &corev1.Secret{}, handler.TypedEnqueueRequestsFromMapFunc(changed))
}

// readOrigin returns the Secret, nil if there is none, and what it says.
func (r *Reconciler) readOrigin(ctx context.Context) (*corev1.Secret, source, error) {
	if !r.origin.apart() {
		secret, err := find(ctx, r.Client, r.Namespace, proxysecret.Name, &corev1.Secret{})
		return secret, readSource(secret), err
	}
	secret, err := find(ctx, r.origin.secrets, r.Namespace, r.origin.name, &corev1.Secret{})
	return secret, readDelivered(secret), err
}

// readDelivered is readSource of a Secret with the three variables alone, in upper case. Its credentials are not counted.
func readDelivered(secret *corev1.Secret) source {
	if secret == nil {
		return readSource(nil)
	}
	both := secret.DeepCopy()
	both.Data, both.Annotations = proxysecret.BothCases(secret.Data), nil
	return readSource(both)
}
