package lifecycle_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

// The certificates were a key of the Secret once. Pods of before keep theirs, and have them kept right.
func TestAnUpgradeTakesTheCertificatesOutOfTheSecretFromUnderNoPod(t *testing.T) {
	r := newRelease(t, controlplanetest.Start(t, controlplane.Options{}), "fairlead-policies")
	controlplanetest.Require(t, r.cp.StartControllerManager(t.Context(), controlplane.ServiceAccounts))
	for _, team := range teams {
		must(t, r.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}))
	}
	first, second := newBundle(t), newBundle(t)
	r.mustHelm("install", append(native(withCAInSecret(t, r.chart), r.withBundle(first, "one")), "--create-namespace")...)
	replicator := r.start("fairlead-replicator")
	r.awaitCopies(teams, policies.TrustedCAKey, first)
	old := r.caPod(teams[0], func(pod *corev1.Pod) bool { return caVolume(pod).Secret != nil })

	r.mustHelm("upgrade", native(r.chart, r.withBundle(first, "one"))...)
	must(t, replicator.Stop())
	replicator = r.start("fairlead-replicator")
	byConfigMap := func(pod *corev1.Pod) bool { return caVolume(pod).ConfigMap != nil }
	r.caPod(teams[0], byConfigMap)
	r.awaitBundle(teams[0], first)
	again := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: teams[1], GenerateName: "again-"}, Spec: *old.Spec.DeepCopy()}
	must(t, r.client.Create(t.Context(), again))
	if !byConfigMap(again) {
		t.Error("a pod that is made from the text of an old one waits for a key that goes")
	}
	r.awaitBundle(teams[1], first)

	// The key is no longer in the Secret. Where a pod mounts it, it stays, and right.
	r.mustHelm("upgrade", native(r.chart, r.withBundle(second, "another"))...)
	r.awaitCopies(teams, "HTTP_PROXY", "another")
	r.awaitBundle(teams[0], second)
	r.awaitBundle(teams[1], second)
	controlplanetest.Await(t, "the key to go where nobody mounts it", func(context.Context) (bool, error) {
		return controlplanetest.Holds(r.ofPods()[teams[1]].Data[policies.TrustedCAKey] == nil, "it is in %s", teams[1])
	})
	secrets := r.ofPods()
	if string(secrets[teams[0]].Data[policies.TrustedCAKey]) != second {
		t.Error("a pod of before has no certificates any more, or old ones")
	}
	if secrets[namespace].Data[policies.TrustedCAKey] != nil {
		t.Error("the source still has them beside the password")
	}
	must(t, replicator.Stop())
}

// withCAInSecret is the chart as it was: no ConfigMap, and a policy that mounts the Secret.
func withCAInSecret(t testing.TB, chart string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), filepath.Base(chart))
	copyFolder(t, chart, folder)
	must(t, os.WriteFile(filepath.Join(folder, "templates", "trusted-ca.yaml"), nil, 0o600))
	for file, replace := range map[string][2]string{
		"templates/secret.yaml":                             {"{{- end }}\n{{- end }}\n", "{{- end }}\n  ca.crt: {{ .Values.trustedCA.bundle | trim | printf \"%s\\n\" | b64enc }}\n{{- end }}\n"},
		"policies/inject-trusted-ca/inject-trusted-ca.yaml": {`'configMap': dyn({'name': dyn('fairlead-trusted-ca'),`, `'secret': dyn({'secretName': dyn('fairlead-proxy'),`},
	} {
		file = filepath.Join(folder, file)
		text, err := os.ReadFile(file)
		must(t, err)
		if !strings.Contains(string(text), replace[0]) {
			t.Fatalf("%s has no %s", file, replace[0])
		}
		must(t, os.WriteFile(file, []byte(strings.Replace(string(text), replace[0], replace[1], 1)), 0o600))
	}
	return folder
}

func newBundle(t *testing.T) string {
	t.Helper()
	authority, err := machine.NewAuthority("Example Corp")
	controlplanetest.Require(t, err)
	return strings.TrimSpace(string(authority.PEM())) + "\n"
}

func (r *release) withBundle(bundle, password string) string {
	r.Helper()
	url := "http://user:" + password + "@proxy.example:3128"
	return r.file(values{
		"proxy":     values{"http": url, "https": url, "noProxy": "localhost"},
		"trustedCA": values{"enabled": true, "bundle": bundle},
	})
}

func caVolume(pod *corev1.Pod) corev1.VolumeSource {
	for _, volume := range pod.Spec.Volumes {
		if volume.Name == policies.TrustedCA {
			return volume.VolumeSource
		}
	}
	return corev1.VolumeSource{}
}

// caPod awaits that a new pod of a namespace mounts the certificates so. None of these moments is without.
func (r *release) caPod(team string, so func(*corev1.Pod) bool) *corev1.Pod {
	r.Helper()
	var pod *corev1.Pod
	injected := false
	controlplanetest.Await(r, "a new pod", func(ctx context.Context) (bool, error) {
		pod = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: team, GenerateName: "web-"},
			Spec:       corev1.PodSpec{AutomountServiceAccountToken: new(bool), Containers: []corev1.Container{{Name: "web", Image: "web"}}},
		}
		if err := r.client.Create(ctx, pod); err != nil {
			return false, err
		}
		has := len(pod.Spec.Volumes) > 0
		if injected && !has {
			r.Error("a pod of these moments has no certificates")
		}
		injected = injected || has
		if !has || !so(pod) {
			must(r, r.client.Delete(ctx, pod, client.GracePeriodSeconds(0)))
			return false, fmt.Errorf("it has %v", pod.Spec.Volumes)
		}
		return true, nil
	})
	return pod
}

func (r *release) awaitBundle(team, bundle string) {
	r.Helper()
	controlplanetest.Await(r, "the ConfigMap in "+team, func(ctx context.Context) (bool, error) {
		found := &corev1.ConfigMap{}
		err := r.client.Get(ctx, client.ObjectKey{Namespace: team, Name: policies.TrustedCA}, found)
		if apierrors.IsNotFound(err) {
			return false, err
		}
		return found.Data[policies.TrustedCAKey] == bundle, err
	})
}
