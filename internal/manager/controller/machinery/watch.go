package machinery

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	sources "sigs.k8s.io/controller-runtime/pkg/source"
)

// Queue is the queue of a controller.
type Queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Background is the priority of requests about many clusters at once: a fan-out, machines that come and go, the paced
// re-apply, the first listing. Requests about a single cluster go before them, above all those about a new one.
const Background = handler.LowPriority

// RequestFor is for the cluster of the name of an object.
func RequestFor(o client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}
}

// Enqueue adds requests with the priority Background.
func Enqueue(q Queue, after time.Duration, requests ...reconcile.Request) {
	if pq, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		pq.AddWithOpts(priorityqueue.AddOpts{After: after, Priority: ptr.To(Background)}, requests...)
		return
	}
	for _, request := range requests {
		q.AddAfter(request, after)
	}
}

// LabelsOnly ignores the creation of a namespace, which the API server ensures
// before anything is in it, but not that of the first listing.
var LabelsOnly = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: predicate.LabelChangedPredicate{}.Update,
	DeleteFunc: func(event.DeleteEvent) bool { return false },
}

// EveryEvent does the same for each event, and for an update both with the object before it and with the one after it.
func EveryEvent(do func(q Queue, o client.Object)) handler.Funcs {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q Queue) { do(q, e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q Queue) {
			do(q, e.ObjectOld)
			do(q, e.ObjectNew)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q Queue) { do(q, e.Object) },
	}
}

// Updates lets those updates through that are news, and every other event.
func Updates[T client.Object](news func(before, after T) bool) predicate.Funcs {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, isBefore := e.ObjectOld.(T)
		after, isAfter := e.ObjectNew.(T)
		return !isBefore || !isAfter || news(before, after)
	}}
}

// Meant lets through what somebody has changed: Cluster API updates the status of a Cluster all the time.
var Meant = predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{})

// QueueOf is the queue of a controller, for requests that come from another one. It is there once the controller has
// started; what was asked before, the first listing asks for, too.
type QueueOf struct {
	mu sync.Mutex
	q  Queue
}

// Source gives the queue to whoever adds to it.
func (o *QueueOf) Source() sources.Source {
	return sources.Func(func(_ context.Context, q Queue) error {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.q = q
		return nil
	})
}

// Add adds requests with the priority Background.
func (o *QueueOf) Add(after time.Duration, requests ...reconcile.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.q != nil {
		Enqueue(o.q, after, requests...)
	}
}
