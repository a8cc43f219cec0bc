package replicator_test

import (
	"context"
	"errors"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/replicator"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// bundle returns the ConfigMap with the authorities, nil if there is none.
func (f *fixture) bundle(namespace string) *corev1.ConfigMap {
	f.Helper()
	found := &corev1.ConfigMap{}
	err := f.client.Get(f.Context(), client.ObjectKey{Namespace: namespace, Name: policies.TrustedCA}, found)
	if apierrors.IsNotFound(err) {
		return nil
	}
	f.must(err)
	return found
}

// setBundle makes or changes the source, as the chart does.
func (f *fixture) setBundle(text string) {
	f.Helper()
	source := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: policies.Namespace, Name: policies.TrustedCA, Labels: map[string]string{"fairlead.io/configmap": "trusted-ca"}},
		Data:       map[string]string{"ca.crt": text},
	}
	err := f.client.Create(f.Context(), source)
	if apierrors.IsAlreadyExists(err) {
		err = f.client.Update(f.Context(), source)
	}
	f.must(err)
}

func (f *fixture) awaitBundle(namespace, text string) *corev1.ConfigMap {
	f.Helper()
	var found *corev1.ConfigMap
	controlplanetest.Await(f, "the ConfigMap in "+namespace, func(context.Context) (bool, error) {
		if found = f.bundle(namespace); found == nil {
			return false, errors.New("there is none")
		}
		return controlplanetest.Holds(maps.Equal(found.Data, map[string]string{"ca.crt": text}), "it has %v", found.Data)
	})
	return found
}

// mounting stores a pod as inject-trusted-ca leaves one.
func (f *fixture) mounting(namespace string) *corev1.Pod {
	f.Helper()
	return f.mountingVolume(namespace, map[string]string{policies.TrustedCALabel: "configmap"}, corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: policies.TrustedCA}},
	})
}

func (f *fixture) mountingVolume(namespace string, labels map[string]string, source corev1.VolumeSource) *corev1.Pod {
	f.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "mounts-", Labels: labels},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: new(bool),
			Containers:                   []corev1.Container{{Name: "c", Image: "i"}},
			Volumes:                      []corev1.Volume{{Name: "ca", VolumeSource: source}},
		},
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}
	if err := f.client.Create(f.Context(), account); !apierrors.IsAlreadyExists(err) {
		f.must(err)
	}
	f.must(f.client.Create(f.Context(), pod))
	return pod
}

// A bundle has a quarter of a megabyte, and a fleet's cluster thousands of namespaces.
func TestTheBundleIsWhereAPodMountsItAndNotRewrittenWithThePassword(t *testing.T) {
	tier.Full(t)
	t.Parallel()
	f := newOwnFixture(t)
	needs, idle, excluded := f.namespace(), f.namespace(), f.namespace(selection, "exclude")
	f.setBundle("a bundle")
	f.mounting(excluded)
	pod := f.mounting(needs)
	copied := f.awaitBundle(needs, "a bundle")
	if copied.Labels["fairlead.io/configmap"] != "trusted-ca" || len(copied.OwnerReferences)+len(copied.Finalizers)+len(copied.Annotations) > 0 {
		t.Errorf("labels %v, or more", copied.ObjectMeta)
	}
	f.install("another-pl4in")
	if secret := f.awaitCopy(needs); secret.Data["ca.crt"] != nil || len(secret.Data) != 6 {
		t.Errorf("the Secret has %d keys", len(secret.Data))
	}
	f.awaitCopy(idle)
	if after := f.bundle(needs); after.ResourceVersion != copied.ResourceVersion {
		t.Error("another password rewrote the bundle")
	}
	f.setBundle("another bundle")
	f.awaitBundle(needs, "another bundle")
	f.must(f.client.Delete(t.Context(), f.bundle(needs)))
	f.awaitBundle(needs, "another bundle")

	// Pods come and go, as those of CronJobs do. None waits for it again.
	f.must(f.client.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
	looks := f.looks()
	f.label(needs, "touched", "true")
	f.awaitIdle(looks + 1)
	if f.bundle(needs) == nil {
		t.Error("it went with the last pod")
	}
	if f.bundle(idle) != nil || f.bundle(excluded) != nil {
		t.Error("it is where nobody mounts it, or where nothing is wanted")
	}
	f.nothingForbidden()
}

func TestABundleThatGoesTakesFewListsOfPodsAndLeavesWhatIsMounted(t *testing.T) {
	tier.Full(t)
	t.Parallel()
	f := newOwnFixture(t)
	inSecret, inConfigMap, unused := f.namespace(), f.namespace(), f.namespace()
	f.setBundle("a bundle")
	f.mounting(inConfigMap)
	gone := f.mounting(unused)
	f.awaitBundle(inConfigMap, "a bundle")
	f.awaitBundle(unused, "a bundle")
	f.must(f.client.Delete(t.Context(), gone, client.GracePeriodSeconds(0)))

	// As before there was a ConfigMap.
	f.change(policies.Namespace, func(s *corev1.Secret) { s.Data["ca.crt"] = []byte("a bundle") })
	f.awaitCopy(inSecret)
	f.awaitCopy(unused)
	f.mountingVolume(inSecret, nil, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
		SecretName: policies.Secret, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
	}})

	mark := f.mark()
	f.change(policies.Namespace, func(s *corev1.Secret) { delete(s.Data, "ca.crt") })
	f.must(f.client.Delete(t.Context(), f.bundle(policies.Namespace)))
	f.awaitCopy(unused)
	controlplanetest.Await(t, "the unused bundle to go", func(context.Context) (bool, error) {
		return controlplanetest.Holds(f.bundle(unused) == nil, "it is in %s", unused)
	})
	f.awaitCopies("InUse", 1)
	if string(f.secret(inSecret).Data["ca.crt"]) != "a bundle" || f.bundle(inConfigMap) == nil {
		t.Error("it went from under a pod that mounts it")
	}
	if f.metric(`fairlead_trusted_ca_copies{state="InUse"}`) != 1 {
		t.Error("nothing says that the ConfigMap is still in use")
	}
	for _, namespace := range []string{inSecret, inConfigMap, unused} {
		lists, err := f.cp.AuditEvents(mark, controlplane.ByUser(replicator.User), controlplane.OnResource("", "pods"), controlplane.InNamespace(namespace))
		f.must(err)
		if len(lists) == 0 || len(lists) > 4 { // of each kind that goes one, and where nothing is mounted, another
			t.Errorf("%d lists of pods in %s", len(lists), namespace)
		}
	}
}

// Somebody has stolen the replicator's token.
func TestAStolenTokenWritesNoOtherConfigMap(t *testing.T) {
	f := newFixture(t)
	namespace, empty := f.namespace(), f.namespace()
	ctx, thief := t.Context(), f.clientFor(f.replicator.Config)
	ours := func(change func(*corev1.ConfigMap)) *corev1.ConfigMap {
		configMap := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: empty, Name: policies.TrustedCA, Labels: map[string]string{"fairlead.io/configmap": "trusted-ca"}},
			Data:       map[string]string{"ca.crt": "PEM"},
		}
		change(configMap)
		return configMap
	}
	theirs := ours(func(c *corev1.ConfigMap) { c.Namespace, c.Labels = namespace, nil })
	f.must(f.client.Create(ctx, theirs))
	for name, change := range map[string]func(*corev1.ConfigMap){
		"another name":           func(c *corev1.ConfigMap) { c.Name = "kube-root-ca.crt" },
		"another name, as cages": func(c *corev1.ConfigMap) { c.Name = "x-cluster-values" },
		"a generated name":       func(c *corev1.ConfigMap) { c.Name, c.GenerateName = "", policies.TrustedCA },
		"no label":               func(c *corev1.ConfigMap) { c.Labels = nil },
		"another key":            func(c *corev1.ConfigMap) { c.Data["x"] = "y" },
		"bytes":                  func(c *corev1.ConfigMap) { c.BinaryData = map[string][]byte{"x": nil} },
		"a finalizer":            func(c *corev1.ConfigMap) { c.Finalizers = []string{"example.com/x"} },
		"a label of others":      func(c *corev1.ConfigMap) { c.Labels["a"] = "b" },
		"an annotation":          func(c *corev1.ConfigMap) { c.Annotations = map[string]string{"a": "b"} },
		"what nobody can mend":   func(c *corev1.ConfigMap) { c.Immutable = ptr.To(true) },
		"the own namespace":      func(c *corev1.ConfigMap) { c.Namespace = policies.Namespace },
	} {
		if err := thief.Create(ctx, ours(change)); !apierrors.IsForbidden(err) {
			t.Errorf("create one with %s: %v", name, err)
		}
	}
	changed := ours(func(c *corev1.ConfigMap) { c.Namespace, c.ResourceVersion = namespace, theirs.ResourceVersion })
	for name, err := range map[string]error{"change somebody's": thief.Update(ctx, changed), "delete somebody's": thief.Delete(ctx, theirs)} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.must(thief.Create(ctx, ours(func(*corev1.ConfigMap) {})))
}
