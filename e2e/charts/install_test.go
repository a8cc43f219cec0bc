package charts_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

func TestHelmInstallsUpgradesUninstallsAndInstallsAgain(t *testing.T) {
	s := startServer(t, "Native")
	native := valuesFile(t, values{"engine": "Native"})
	first := valuesFile(t, values{"cluster": values{"proxy": proxy(url, url, "a")}})

	err := s.helm(t, "install", policies.Chart(), "--create-namespace", "--values", first)
	if err == nil || !strings.Contains(err.Error(), "install Kyverno") || strings.Contains(err.Error(), "secret") {
		t.Errorf("without Kyverno, engine Kyverno says: %v", err)
	}

	s.mustHelm(t, "install", policies.Chart(), "--create-namespace", "--values", first, "--values", native)
	if diff := cmp.Diff(environment(url, url, "a"), s.secret(t, policies.Namespace)); diff != "" {
		t.Errorf("installed (-want +got):\n%s", diff)
	}
	s.awaitVariables(t, 6)
	// Here is no replicator: this is what it does.
	s.copySecret(t)

	s.mustHelm(t, "upgrade", policies.Chart(), "--values", valuesFile(t, values{"proxy": proxy(otherURL, "", "b")}), "--values", native)
	changed := environment(otherURL, "", "b")
	if diff := cmp.Diff(changed, s.secret(t, policies.Namespace)); diff != "" {
		t.Errorf("upgraded (-want +got):\n%s", diff)
	}
	s.awaitVariables(t, 6)

	s.mustHelm(t, "upgrade", policies.Chart(), "--values", first, "--values", native, "--set", "carry=Literal")
	if diff := cmp.Diff(changed, s.secret(t, policies.Namespace)); diff != "" {
		t.Errorf("with carry Literal, pods that refer to the Secret miss it (-want +got):\n%s", diff)
	}

	s.mustHelm(t, "upgrade", policies.Chart(), "--values", first, "--values", native)
	if diff := cmp.Diff(environment(url, url, "a"), s.secret(t, policies.Namespace)); diff != "" {
		t.Errorf("back from Literal (-want +got):\n%s", diff)
	}

	s.mustHelm(t, "uninstall")
	s.awaitVariables(t, 0)
	for _, namespace := range []string{policies.Namespace, s.pods} {
		if diff := cmp.Diff(environment(url, url, "a"), s.secret(t, namespace)); diff != "" {
			t.Errorf("uninstalled, the Secret of %s (-want +got):\n%s", namespace, diff)
		}
	}
	s.checkNoPolicies(t)

	s.mustHelm(t, "install", policies.Chart(), "--values", first, "--values", native)
	s.awaitVariables(t, 6)
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

func (s server) copySecret(t *testing.T) {
	t.Helper()
	source, err := s.clients.CoreV1().Secrets(policies.Namespace).Get(t.Context(), policies.Secret, metav1.GetOptions{})
	if err == nil {
		target := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: source.Name, Labels: map[string]string{"fairlead.io/secret": "proxy"}}, Data: source.Data}
		_, err = s.clients.CoreV1().Secrets(s.pods).Create(t.Context(), target, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
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

func (s server) checkNoPolicies(t *testing.T) {
	t.Helper()
	admission := s.clients.AdmissionregistrationV1()
	if _, err := admission.MutatingAdmissionPolicies().Get(t.Context(), policies.InjectProxyEnv, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the policy: %v", err)
	}
	if _, err := admission.MutatingAdmissionPolicyBindings().Get(t.Context(), policies.InjectProxyEnv, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("its binding: %v", err)
	}
}
