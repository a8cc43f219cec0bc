package charts_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

// helm runs a command of the real Helm on the release.
func (s server) helm(t *testing.T, verb string, args ...string) error {
	t.Helper()
	t.Setenv("KUBECACHEDIR", t.TempDir()) // another test may have had the port before
	_, err := helm.Run(t.Context(), append([]string{
		verb, policies.Release, "--kubeconfig", s.cp.AdminKubeconfig(), "--namespace", policies.Namespace,
	}, args...)...)
	return err
}

func (s server) mustHelm(t *testing.T, verb string, args ...string) {
	t.Helper()
	controlplanetest.Require(t, s.helm(t, verb, args...))
}

func valuesFile(t *testing.T, given values) string {
	t.Helper()
	content, err := yaml.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func (s server) secret(t *testing.T, namespace string) map[string]string {
	t.Helper()
	secret, err := s.clients.CoreV1().Secrets(namespace).Get(t.Context(), policies.Secret, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for name, value := range secret.Data {
		found[name] = string(value)
	}
	return found
}

// awaitVariables waits until a new pod gets that many.
func (s server) awaitVariables(t *testing.T, count int) {
	t.Helper()
	controlplanetest.Await(t, "new pods as they should be", func(ctx context.Context) (bool, error) {
		pod, err := s.create(ctx, noPod("web", nil))
		if err != nil {
			return false, err
		}
		return controlplanetest.Holds(len(pod.Spec.Containers[0].Env) == count, "%d variables", len(pod.Spec.Containers[0].Env))
	})
}
