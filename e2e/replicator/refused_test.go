package replicator_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

func TestARefusedWriteIsReportedAndTriedAgain(t *testing.T) {
	f := newFixture(t)
	namespace := f.namespace(selection, "exclude")
	none := corev1.ResourceList{"secrets": resource.MustParse("0")}
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: none},
	}
	f.must(f.client.Create(t.Context(), quota))
	quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none} // the quota controller's part
	f.must(f.client.Status().Update(t.Context(), quota))
	stranger := secretNamed(namespace, "stranger")
	controlplanetest.Await(t, "the quota to hold", func(ctx context.Context) (bool, error) {
		return controlplanetest.Holds(f.client.Create(ctx, stranger.DeepCopy(), client.DryRunAll) != nil, "a Secret more is admitted")
	})
	f.label(namespace, selection, "include")
	f.awaitCopies("WriteFailed", 1)
	f.awaitEvent("default", "WriteFailed", namespace)
	f.awaitServed(namespace, unserved)
	for _, env := range f.pod(namespace).Spec.Containers[0].Env {
		if !ptr.Deref(env.ValueFrom.SecretKeyRef.Optional, false) {
			t.Errorf("the pod waits for %s, which does not come", env.Name)
		}
	}
	f.must(f.client.Delete(t.Context(), quota))
	f.awaitCopy(namespace)
	f.awaitServed(namespace, servedSince)
}
