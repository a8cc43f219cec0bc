package charts_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
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
	controlplanetest.Require(t, err)
	file := filepath.Join(t.TempDir(), "values.yaml")
	controlplanetest.Require(t, os.WriteFile(file, content, 0o600))
	return file
}

// secret returns the data that pods get by reference, in the release's namespace.
func (s server) secret(t *testing.T) map[string][]byte {
	t.Helper()
	secret, err := s.clients.CoreV1().Secrets(policies.Namespace).Get(t.Context(), policies.Secret, metav1.GetOptions{})
	controlplanetest.Require(t, err)
	return secret.Data
}

// awaitVariables waits until a new pod gets that many.
func (s server) awaitVariables(t *testing.T, count int) {
	t.Helper()
	s.awaitPod(t, "new pods as they should be", func(env []corev1.EnvVar) (bool, error) {
		return controlplanetest.Holds(len(env) == count, "%d variables", len(env))
	})
}

// awaitPod tries a pod until its container has the variables that are wanted.
func (s server) awaitPod(t *testing.T, what string, wanted func(env []corev1.EnvVar) (bool, error)) {
	t.Helper()
	controlplanetest.Await(t, what, func(ctx context.Context) (bool, error) {
		pod, err := s.create(ctx, noPod("web", nil))
		if err != nil {
			return false, err
		}
		return wanted(pod.Spec.Containers[0].Env)
	})
}
