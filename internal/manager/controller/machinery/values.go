// Package machinery has what all controllers do alike: reads, queues, waits after errors, conditions.
package machinery

import (
	"context"
	"errors"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// SetWhile keeps an abnormal condition while there is something to say.
func SetWhile(conditions *[]metav1.Condition, kind, reason, message string) {
	if message == "" {
		meta.RemoveStatusCondition(conditions, kind)
		return
	}
	meta.SetStatusCondition(conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: Shorten(message)})
}

// Shorten keeps a message readable in a terminal, and within what an Event takes: 1,024 bytes.
func Shorten(message string) string {
	const most, cut = 1024, "…"
	if len(message) <= most {
		return message
	}
	return strings.ToValidUTF8(message[:most-len(cut)], "") + cut
}

// Paused reports whether nothing is to be written for a Cluster.
func Paused(cluster *clusterv1.Cluster) bool {
	_, annotated := cluster.Annotations[clusterv1.PausedAnnotation]
	return annotated || cluster.Spec.Paused != nil && *cluster.Spec.Paused
}

// Scheme knows the kinds that the operator works with.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), clusterv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
}

// Soonest returns the shorter of two times to wait, of which 0 is for ever.
func Soonest(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// Get returns nil for an object that does not exist. One that comes from a cache is shared, and must not be changed.
func Get[T any, P interface {
	*T
	client.Object
}](ctx context.Context, reader client.Reader, key types.NamespacedName) (P, error) {
	object := P(new(T))
	if err := reader.Get(ctx, key, object, client.UnsafeDisableDeepCopy); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return object, nil
}

// PtrTime returns a time as the API has it.
func PtrTime(t time.Time) *metav1.Time {
	at := metav1.NewTime(t.UTC().Truncate(time.Second))
	return &at
}
