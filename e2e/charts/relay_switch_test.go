package charts_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/replicator"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

const shop = "shop"

// shopper is a release whose pods of every step stay.
type shopper struct {
	server
	created []*corev1.Pod
}

// Running pods name what their step gave them, and a container that starts again needs it: whatever comes later, it is there.
func TestNoPodIsLeftWithoutAWayFromReferencesToTheRelayAndBack(t *testing.T) {
	tier.Full(t)
	for _, engine := range []string{"Native", "Kyverno"} {
		t.Run(engine, func(t *testing.T) {
			s := &shopper{server: startServer(t, engine)}
			controlplanetest.Require(t, s.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shop}}))
			file := valuesFile(t, values{"engine": engine, "proxy": proxy(url, url, "a,$b")})

			s.mustHelm(t, "install", policies.Chart(), "--create-namespace", "--values", file)
			replica, err := replicator.Start(t.Context(), s.cp)
			controlplanetest.Require(t, err)
			s.pod(t, "first", references())
			s.awaitCopy(t, url)
			s.checkAll(t)

			s.mustHelm(t, "upgrade", policies.Chart(), "--values", file, "--set", "relay.enabled=true")
			s.pod(t, "while-there-is-a-relay", references())
			s.checkAll(t)

			s.mustHelm(t, "upgrade", policies.Chart(), "--values", file, "--set", "carry=Relay")
			s.replicatorEnds(t, replica)
			s.pod(t, "relayed", throughRelay(shop))
			s.checkAll(t)
			s.testRotation(t, engine)

			s.mustHelm(t, "upgrade", policies.Chart(), "--values", file)
			s.checkAll(t)
			_, err = replicator.Start(t.Context(), s.cp)
			controlplanetest.Require(t, err)
			s.pod(t, "back", references())
			s.awaitCopy(t, url)
			s.checkAll(t)

			s.mustHelm(t, "upgrade", policies.Chart(), "--values", file, "--set", "carry=Relay") // what was kept is taken over
			s.pod(t, "relayed-again", throughRelay(shop))
			s.mustHelm(t, "uninstall")
			s.checkAll(t)
		})
	}
}

func references() map[string]string {
	want := map[string]string{}
	for name := range environment("", "", "") {
		want[name] = "fairlead-proxy/" + name
	}
	return want
}

func throughRelay(namespace string) map[string]string {
	relay := "http://" + namespace + "@fairlead-relay.fairlead-system.svc:3128"
	return environment(relay, relay, "a,$$b") // which the kubelet reads as one $
}

// variables of a container, references as Secret/key.
func variables(env []corev1.EnvVar) map[string]string {
	found := map[string]string{}
	for _, e := range env {
		found[e.Name] = e.Value
		if e.ValueFrom != nil {
			found[e.Name] = e.ValueFrom.SecretKeyRef.Name + "/" + e.ValueFrom.SecretKeyRef.Key
		}
	}
	return found
}

// pod creates one when the engine knows the step, and it stays.
func (s *shopper) pod(t *testing.T, name string, want map[string]string) {
	t.Helper()
	s.pods = shop
	s.awaitPod(t, "a pod as it is to be", func(env []corev1.EnvVar) (bool, error) {
		diff := cmp.Diff(want, variables(env))
		return controlplanetest.Holds(diff == "", "-want +got:\n%s", diff)
	})
	pod := noPod(name, nil)
	pod.Namespace = shop
	controlplanetest.Require(t, s.client.Create(t.Context(), pod))
	if diff := cmp.Diff(want, variables(pod.Spec.Containers[0].Env)); diff != "" || len(pod.Spec.Containers[0].EnvFrom) > 0 {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
	s.created = append(s.created, pod)
}

func (s *shopper) awaitCopy(t *testing.T, want string) {
	t.Helper()
	controlplanetest.Await(t, "the copy in "+shop, func(ctx context.Context) (bool, error) {
		secret := &corev1.Secret{}
		err := s.client.Get(ctx, client.ObjectKey{Namespace: shop, Name: policies.Secret}, secret)
		return string(secret.Data["HTTPS_PROXY"]) == want, client.IgnoreNotFound(err)
	})
}

// checkAll says which pod of any step lacks what it names.
func (s *shopper) checkAll(t *testing.T) {
	t.Helper()
	for _, pod := range s.created {
		for _, e := range pod.Spec.Containers[0].Env {
			switch {
			case e.ValueFrom != nil:
				ref := e.ValueFrom.SecretKeyRef
				secret := &corev1.Secret{}
				err := s.client.Get(t.Context(), client.ObjectKey{Namespace: pod.Namespace, Name: ref.Name}, secret)
				if _, found := secret.Data[ref.Key]; err != nil || !found {
					t.Errorf("%s: %s: %v", pod.Name, ref.Key, err)
				}
			case strings.Contains(e.Value, relayName):
				s.checkRelay(t, pod.Name)
			}
		}
	}
}

func (s *shopper) checkRelay(t *testing.T, pod string) {
	t.Helper()
	inRelease := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: policies.Namespace, Name: name}
	}
	for _, needed := range []client.Object{
		&corev1.Service{ObjectMeta: inRelease(relayName)}, &appsv1.DaemonSet{ObjectMeta: inRelease(relayName)},
		&corev1.ServiceAccount{ObjectMeta: inRelease(relayName)}, &rbacv1.Role{ObjectMeta: inRelease(relayName)},
		&rbacv1.RoleBinding{ObjectMeta: inRelease(relayName)}, &corev1.ConfigMap{ObjectMeta: inRelease(relayName)},
		&corev1.Secret{ObjectMeta: inRelease(source)}, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: relayName}},
	} {
		if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(needed), needed); err != nil {
			t.Errorf("%s: %v", pod, err)
		}
	}
}

// replicatorEnds checks that the Deployment is gone, and stops its pods.
func (s *shopper) replicatorEnds(t *testing.T, replica *replicator.Replicator) {
	t.Helper()
	err := s.client.Get(t.Context(), client.ObjectKey{Namespace: policies.Namespace, Name: replicator.Name}, &appsv1.Deployment{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the replicator's Deployment: %v", err)
	}
	controlplanetest.Require(t, replica.Stop())
}

// testRotation: a new password is in one Secret, and nothing else changes.
func (s *shopper) testRotation(t *testing.T, engine string) {
	t.Helper()
	const after = "http://me:after@proxy.example:3128"
	before := s.policy(t, engine)
	file := valuesFile(t, values{"engine": engine, "proxy": values{"http": after, "https": after, "noProxy": "a,$b", "previous": values{"https": url}}})
	s.mustHelm(t, "upgrade", policies.Chart(), "--values", file, "--set", "carry=Relay")
	if diff := cmp.Diff(before, s.policy(t, engine)); diff != "" {
		t.Errorf("the policy (-before +after):\n%s", diff)
	}
	secret := &corev1.Secret{}
	controlplanetest.Require(t, s.client.Get(t.Context(), client.ObjectKey{Namespace: policies.Namespace, Name: source}, secret))
	if string(secret.Data["HTTPS_PROXY"]) != after || string(secret.Data["HTTPS_PROXY_PREVIOUS"]) != url {
		t.Errorf("the source has %d keys, or other values", len(secret.Data))
	}
	s.checkAll(t)
}

// policy returns the spec of the policy, as it is stored.
func (s *shopper) policy(t *testing.T, engine string) any {
	t.Helper()
	object := render(t, values{"engine": engine})[map[string]string{"Native": "MutatingAdmissionPolicy/", "Kyverno": "MutatingPolicy/"}[engine]+policies.InjectProxyEnv]
	controlplanetest.Require(t, s.client.Get(t.Context(), types.NamespacedName{Name: policies.InjectProxyEnv}, object))
	return object.Object["spec"]
}
