package replicator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

func TestANewNamespaceGetsTheSecretByOneRequest(t *testing.T) {
	f := newFixture(t)
	mark := f.mark()
	namespace := f.namespace()
	secret := f.awaitCopy(namespace)

	if secret.Type != corev1.SecretTypeOpaque || secret.Labels[ourLabel] != "proxy" || len(secret.Data) != 6 {
		t.Errorf("type %s, labels %v, %d keys", secret.Type, secret.Labels, len(secret.Data))
	}
	if len(secret.OwnerReferences) != 0 || len(secret.Finalizers) != 0 {
		t.Error("the copy would go with something else, or hold it up")
	}
	// The source was applied once: whoever owns its data says when it changed.
	if got, want := secret.Annotations[changedAt], f.source().ManagedFields[0].Time.UTC().Format(time.RFC3339); got != want {
		t.Errorf("it changed at %q, and the source at %s", got, want)
	}
	if writes := f.secretWrites(mark, controlplane.InNamespace(namespace)); len(writes) != 1 {
		t.Errorf("%d requests", len(writes))
	}
}

// There is no kubelet here. It starts no container whose reference cannot be resolved, unless the reference is
// optional, and tries again (k8s.io/kubernetes, pkg/kubelet/kubelet_pods.go, makeEnvironmentVariables): so the pod
// waits for the copy.
func TestAPodInABrandNewNamespaceWaitsForTheSecretAndTheSecretComes(t *testing.T) {
	f := newFixture(t)
	var namespace string
	var pod *corev1.Pod
	controlplanetest.Await(t, "the policy", func(context.Context) (bool, error) {
		namespace = f.namespace()
		pod = f.pod(namespace)
		return controlplanetest.Holds(f.served(namespace) == "true", "the namespace is not served from the beginning, and the pod has %v", pod.Spec.Containers[0].Env)
	})
	if len(pod.Spec.Containers[0].Env) != 6 {
		t.Errorf("the pod has %v", pod.Spec.Containers[0].Env)
	}
	for _, env := range pod.Spec.Containers[0].Env {
		ref := env.ValueFrom.SecretKeyRef
		if ref.Name != policies.Secret || ref.Optional != nil {
			t.Errorf("%s does not wait: %v", env.Name, ref)
		}
	}
	secret := f.awaitCopy(namespace)
	for _, env := range pod.Spec.Containers[0].Env {
		if _, there := secret.Data[env.ValueFrom.SecretKeyRef.Key]; !there {
			t.Errorf("the copy has no key for %s", env.Name)
		}
	}
}

func TestAWrongCopyIsMendedByOneRequest(t *testing.T) {
	f := newFixture(t)
	for verb, change := range map[string]func(namespace string){
		"create": func(namespace string) { f.must(f.client.Delete(t.Context(), f.secret(namespace))) },
		"update": func(namespace string) {
			f.change(namespace, func(s *corev1.Secret) { s.Data["HTTP_PROXY"] = []byte("http://elsewhere:1") })
		},
	} {
		t.Run(verb, func(t *testing.T) {
			namespace := f.namespace()
			f.awaitCopy(namespace)
			f.change(namespace, func(s *corev1.Secret) { s.Annotations[changedAt] = "2026-01-01T00:00:00Z" })
			mark := f.mark()
			before := time.Now().Truncate(time.Second)
			change(namespace)
			at, err := time.Parse(time.RFC3339, f.awaitCopy(namespace).Annotations[changedAt])
			if err != nil || verb == "update" && at.Before(before) {
				t.Errorf("it became different now, not at %s (%v)", at, err)
			}
			if writes := f.secretWrites(mark, controlplane.InNamespace(namespace)); len(writes) != 1 || writes[0].Verb != verb {
				t.Errorf("%d requests", len(writes))
			}
		})
	}
}

func TestSomebodyElsesSecretIsNotTouchedAndReportedUntilItIsHandedOver(t *testing.T) {
	f := newFixture(t)
	namespace := f.namespace(selection, "exclude") // so that ours is not there first
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: policies.Secret}, Data: map[string][]byte{"theirs": []byte("x")}}
	f.must(f.client.Create(t.Context(), theirs))
	mark := f.mark()
	f.label(namespace, selection, "include")
	f.awaitCopies("NameTaken", 1)
	f.awaitServed(namespace, unserved)
	f.awaitEvent(namespace, "NameTaken", policies.Secret)
	if log, err := f.replicator.Log(); err != nil || !strings.Contains(log, `"state":"NameTaken"`) {
		t.Errorf("the log does not say so (%v)", err)
	}
	f.noSecretWrites(mark, controlplane.InNamespace(namespace))
	if after := f.secret(namespace); after.ResourceVersion != theirs.ResourceVersion {
		t.Error("it was changed")
	}
	f.change(namespace, func(s *corev1.Secret) { s.Labels = map[string]string{ourLabel: "proxy"} })
	f.awaitCopy(namespace)
	f.awaitServed(namespace, servedSince)
	controlplanetest.Await(t, "the metric to forget", func(context.Context) (bool, error) { return f.none("NameTaken") })
}

func TestExcludedNamespacesGetNoCopy(t *testing.T) {
	f := newFixture(t)
	mark := f.mark()
	byLabel := f.namespace(selection, "exclude")
	f.must(f.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: excludedByName}}))
	f.awaitCopies("Excluded", 5) // the three of Kubernetes, too
	for _, namespace := range []string{byLabel, excludedByName, "kube-system"} {
		f.noSecretWrites(mark, controlplane.InNamespace(namespace))
		if f.secret(namespace) != nil {
			t.Errorf("%s has one", namespace)
		}
	}
	f.label(byLabel, selection, "")
	f.awaitCopy(byLabel)
}

// Agents of tunnels live in kube-system. Where there is none, or the engine does not reach it, the password is not there.
func TestANamespaceOfTunnelsHasTheCopyWhileAPodRefersToIt(t *testing.T) {
	tier.Full(t)
	t.Parallel()
	hasTheCopyOnDemand(t, "on-demand", 4)
}

// As with optIn of the chart.
func TestEveryNamespaceHasTheCopyWhileAPodRefersToIt(t *testing.T) {
	tier.Full(t)
	t.Parallel()
	hasTheCopyOnDemand(t, "*", 5)
}

func hasTheCopyOnDemand(t *testing.T, onDemand string, without int) {
	t.Helper()
	f := newOwnFixture(t, "--on-demand-namespaces="+onDemand)
	const namespace = "on-demand"
	uninjected := map[string]string{selection: "exclude"} // inject-proxy-env leaves such namespaces out
	f.must(f.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	f.mountingVolume(namespace, uninjected, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	f.awaitCopies("Excluded", without)
	if f.secret(namespace) != nil {
		t.Error("it is there although nobody refers to it")
	}
	agent := f.mountingVolume(namespace, uninjected, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: policies.Secret}})
	secret := f.awaitCopy(namespace)
	f.install("another-pl4in")
	f.awaitCopy(namespace)
	f.must(f.client.Delete(t.Context(), agent, client.GracePeriodSeconds(0)))
	next := f.mountingVolume(namespace, uninjected, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: policies.Secret}})
	f.label(namespace, "touched", "true")
	if after := f.awaitCopy(namespace); after.UID != secret.UID {
		t.Error("it went although the next agent was there at once")
	}
	f.must(f.client.Delete(t.Context(), next, client.GracePeriodSeconds(0)))
	controlplanetest.Await(t, "it to go after the last agent", func(context.Context) (bool, error) { return f.gone(namespace) })
	f.nothingForbidden()
}

func TestTheCopyOfANewlyExcludedNamespaceStaysRightWhileAPodRefersToIt(t *testing.T) {
	tier.Full(t)
	t.Parallel() // it waits for most of its time
	f := newFixture(t)
	namespace, unused := f.namespace(), f.namespace()
	f.awaitCopy(unused)
	secret := f.awaitCopy(namespace)
	pod := f.pod(namespace)
	if len(pod.Spec.Containers[0].Env) == 0 {
		t.Fatal("the pod refers to nothing")
	}
	mark := f.mark()
	f.label(namespace, selection, "exclude")
	f.label(unused, selection, "exclude")
	f.awaitCopies("InUse", 1)
	f.change(namespace, func(s *corev1.Secret) { s.Data["HTTP_PROXY"] = []byte("http://elsewhere:1") })
	f.awaitCopy(namespace)

	controlplanetest.Await(t, "the unused copy to go", func(context.Context) (bool, error) { return f.gone(unused) })
	if after := f.secret(namespace); after == nil || after.UID != secret.UID {
		t.Fatal("the copy was removed while a pod refers to it")
	}
	f.must(f.client.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
	controlplanetest.Await(t, "the copy to go after the pod", func(context.Context) (bool, error) { return f.gone(namespace) })
	if writes := f.secretWrites(mark, controlplane.InNamespace(namespace)); len(writes) != 2 {
		t.Errorf("%d requests, not one to mend and one to delete", len(writes))
	}
}
