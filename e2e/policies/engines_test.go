package policies_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

func TestAPodGetsTheSixVariables(t *testing.T) {
	for _, engine := range []string{"Kyverno", "Native"} {
		t.Run(engine, func(t *testing.T) {
			cp := controlplanetest.Start(t, controlplane.Options{})
			controlplanetest.Require(t, cp.StartControllerManager(t.Context(), controlplane.ServiceAccounts))
			if engine == "Kyverno" {
				_, err := kyverno.Start(t.Context(), cp, kyverno.Options{})
				controlplanetest.Require(t, err)
			}
			controlplanetest.Require(t, policies.Install(t.Context(), cp, policies.Values(), map[string]any{"engine": engine}))

			pods := controlplanetest.Clients(t, cp).CoreV1().Pods(controlplanetest.Namespace(t, cp))
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "web"},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
			}
			controlplanetest.Await(t, "an injected pod", func(ctx context.Context) (bool, error) {
				stored, err := pods.Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				return err == nil && len(stored.Spec.Containers[0].Env) == 6, nil
			})
		})
	}
}
