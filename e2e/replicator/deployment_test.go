package replicator_test

import (
	"context"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/replicator"
)

// The API server's own pod security admission is the judge.
func TestTheReplicatorsPodIsRestrictedAndIsNotInjected(t *testing.T) {
	f := newFixture(t)
	deployment := &appsv1.Deployment{}
	f.must(f.client.Get(t.Context(), client.ObjectKey{Namespace: policies.Namespace, Name: replicator.Name}, deployment))
	namespace := f.namespace("pod-security.kubernetes.io/enforce", "restricted")
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: replicator.Name}}
	f.must(f.client.Create(t.Context(), account))
	template := deployment.Spec.Template
	try := func(ctx context.Context, labels map[string]string) (*corev1.Pod, error) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "try", Labels: labels}, Spec: *template.Spec.DeepCopy()}
		return pod, f.client.Create(ctx, pod, client.DryRunAll)
	}
	controlplanetest.Await(t, "the policy, by a twin that does not opt out", func(ctx context.Context) (bool, error) {
		pod, err := try(ctx, nil)
		return len(pod.Spec.Containers[0].Env) == 6, err
	})
	pod, err := try(t.Context(), template.Labels)
	f.must(err)
	if env := pod.Spec.Containers[0].Env; len(env) != 0 {
		t.Errorf("it got %d variables", len(env))
	}
	if mounts := pod.Spec.Containers[0].VolumeMounts; len(mounts) != 1 {
		t.Errorf("%d mounts, not its token alone", len(mounts))
	}
	if err := f.client.Get(t.Context(), client.ObjectKey{Namespace: policies.Namespace, Name: replicator.Name}, account); err != nil || account.AutomountServiceAccountToken == nil || *account.AutomountServiceAccountToken {
		t.Error(errors.Join(err, errors.New("every pod of its service account gets its token")))
	}
}
