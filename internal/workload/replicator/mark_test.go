package replicator

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-io/fairlead/internal/core/selection"
)

// marking returns a reconciler among namespaces, with how often it annotates one; refused are those that may not be annotated.
func marking(refused ...string) (r *Reconciler, patches map[string]int) {
	objects := []client.Object{}
	for _, name := range []string{"own", "shop", "annotated", "kube-system"} {
		objects = append(objects, &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	patches = map[string]int{}
	patch := func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
		patches[object.GetName()]++
		for _, name := range refused {
			if name == object.GetName() {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, name, errors.New("a label is missing"))
			}
		}
		return c.Patch(ctx, object, patch, opts...)
	}
	c := fake.NewClientBuilder().WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{Patch: patch}).Build()
	return &Reconciler{Client: c, Namespace: "own", Events: events.NewFakeRecorder(9)}, patches
}

func (r *Reconciler) mark(t *testing.T, s state) (requeued bool) {
	t.Helper()
	namespace := metadata("Namespace")
	if err := r.Client.Get(t.Context(), client.ObjectKey{Name: s.namespace}, namespace); err != nil {
		t.Fatal(err)
	}
	result, err := r.serve(t.Context(), namespace, s, outcome{decide(s), nil}, outcome{decideTrustedCA(s), nil})
	if err != nil {
		t.Fatal(err)
	}
	return result.RequeueAfter > 0
}

func TestNewNamespacesAreServedOnceThereIsACopy(t *testing.T) {
	r, _ := marking()
	own := func() string {
		namespace := metadata("Namespace")
		if err := r.Client.Get(t.Context(), client.ObjectKey{Name: "own"}, namespace); err != nil {
			t.Fatal(err)
		}
		return namespace.Annotations[selection.Served]
	}
	r.mark(t, state{namespace: "kube-system", excluded: true, now: midday})
	if got := own(); got != "" {
		t.Errorf("an excluded namespace has no copy, and says %q", got)
	}
	s := state{namespace: "shop", now: midday}
	s.copy = newCopy(s)
	r.mark(t, s)
	if own() == "" {
		t.Error("there is a copy, and it is not said")
	}
}

// As with a policy of the company that wants something of every namespace that is changed.
func TestANamespaceThatMayNotBeAnnotatedIsReportedOnceAndRests(t *testing.T) {
	r, patches := marking("shop", "own")
	s := state{namespace: "shop", now: midday}
	s.copy = newCopy(s)
	for range burst {
		if !r.mark(t, s) {
			t.Error("it is not tried again")
		}
	}
	for i := range 9 { // of a fleet whose namespaces are annotated
		annotated := s
		annotated.namespace = "annotated"
		if !r.mark(t, annotated) && i > 0 {
			t.Error("the release's own is not tried again")
		}
	}
	if said := len(r.Events.(*events.FakeRecorder).Events); said != 2 || patches["shop"] != burst || patches["own"] != burst {
		t.Errorf("%d Events for two namespaces, %v", said, patches)
	}
}
