package charts_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// While Helm replaces one engine by the other, both are there, or for a moment neither: a pod gets all of it or, for
// that moment, nothing, and never a variable twice.
func TestAReleaseSwitchesEnginesAndTheWayOfCarrying(t *testing.T) {
	tier.Full(t)
	s := startServer(t, "Kyverno")
	given := values{"cluster": values{"proxy": proxy(url, url, "a")}, "trustedCA": values{"enabled": true, "bundle": certificate}}
	file := valuesFile(t, given)
	s.mustHelm(t, "install", policies.Chart(), "--create-namespace", "--values", file)
	s.awaitVariables(t, 11)
	byKyverno := s.injected(t)

	t.Run("BothAtOnceGiveWhatOneGives", func(t *testing.T) { s.testBoth(t, given, byKyverno) })

	stop := s.watchPods(t)
	s.mustHelm(t, "upgrade", policies.Chart(), "--values", file, "--set", "engine=Native")
	s.awaitEngine(t, "Native", 11)
	if diff := cmp.Diff(byKyverno, s.injected(t), anyOrder); diff != "" {
		t.Errorf("-Kyverno +Native:\n%s", diff)
	}
	s.mustHelm(t, "upgrade", policies.Chart(), "--values", file)
	s.awaitEngine(t, "Kyverno", 11)
	s.mustHelm(t, "rollback", "2")
	s.awaitEngine(t, "Native", 11)
	before := s.secret(t)
	s.mustHelm(t, "upgrade", policies.Chart(), "--values", file, "--set", "carry=Literal,trustedCA.enabled=false")
	s.awaitEngine(t, "Kyverno", 6)
	if diff := cmp.Diff(before, s.secret(t)); diff != "" {
		t.Errorf("with carry Literal, pods that refer to the Secret miss it (-before +after):\n%s", diff)
	}
	s.mustHelm(t, "upgrade", policies.Chart(), "--values", file)
	s.awaitEngine(t, "Kyverno", 11)
	stop()

	t.Run("AfterKyvernoIsGone", func(t *testing.T) { s.testKyvernoGone(t, file) })
}

var anyOrder = cmpopts.SortSlices(func(a, b corev1.EnvVar) bool { return a.Name < b.Name })

// injected returns the spec of a new pod after injection, but for the token of its service account.
func (s server) injected(t *testing.T) corev1.PodSpec {
	t.Helper()
	pod := noPod("web", nil)
	pod.Spec.AutomountServiceAccountToken = new(bool)
	stored, err := s.create(t.Context(), pod)
	controlplanetest.Require(t, err)
	return stored.Spec
}

func (s server) testBoth(t *testing.T, given values, byKyverno corev1.PodSpec) {
	t.Helper()
	for name, object := range render(t, given, values{"engine": "Native"}) {
		if strings.HasPrefix(name, "MutatingAdmissionPolicy") {
			controlplanetest.Require(t, s.client.Create(t.Context(), object))
			t.Cleanup(func() { controlplanetest.Require(t, s.client.Delete(context.Background(), object)) })
		}
	}
	s.awaitEngine(t, "Native", 11)
	if diff := cmp.Diff(byKyverno, s.injected(t), anyOrder); diff != "" {
		t.Errorf("-one +both:\n%s", diff)
	}
}

// awaitEngine waits until a new pod gets that many variables, and gets them by that engine.
func (s server) awaitEngine(t *testing.T, engine string, count int) {
	t.Helper()
	// Kyverno's configuration leaves out what nodes write (excludeGroups).
	node, err := s.cp.User("node", "system:nodes", "system:masters")
	controlplanetest.Require(t, err)
	asNode := s
	asNode.clients, err = kubernetes.NewForConfig(node)
	controlplanetest.Require(t, err)
	controlplanetest.Await(t, engine, func(ctx context.Context) (bool, error) {
		all, err := s.create(ctx, noPod("web", nil))
		if err != nil {
			return false, err
		}
		native, err := asNode.create(ctx, noPod("web", nil))
		if err != nil {
			return false, err
		}
		want := [2]int{count, map[string]int{"Native": count}[engine]}
		got := [2]int{len(all.Spec.Containers[0].Env), len(native.Spec.Containers[0].Env)}
		return controlplanetest.Holds(got == want, "%d variables, of a node's pod %d", got[0], got[1])
	})
}

// watchPods creates pods until it is stopped, and says which of them have what nobody meant.
func (s server) watchPods(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			pod, err := s.create(ctx, noPod("watched", nil))
			if err != nil {
				continue // refused, at worst: its owner would try again
			}
			if complaint := halfInjected(pod.Spec.Containers[0].Env); complaint != "" {
				t.Errorf("a pod of these moments: %s", complaint)
			}
		}
	})
	return func() { cancel(); done.Wait() }
}

func halfInjected(env []corev1.EnvVar) string {
	seen, values, references := map[string]bool{}, 0, 0
	for _, e := range env {
		if seen[e.Name] {
			return e.Name + " twice"
		}
		seen[e.Name] = true
		switch {
		case !strings.HasSuffix(strings.ToUpper(e.Name), "_PROXY"):
		case e.ValueFrom == nil:
			values++
		default:
			references++
		}
	}
	if counts := [2]int{values, references}; counts != [2]int{0, 0} && counts != [2]int{6, 0} && counts != [2]int{0, 6} {
		return fmt.Sprintf("%d values and %d references", values, references)
	}
	return ""
}

// testKyvernoGone is the way out for those who removed Kyverno first.
func (s server) testKyvernoGone(t *testing.T, file string) {
	t.Helper()
	c := s.client
	controlplanetest.Require(t, s.kyverno.Stop())
	crds := &metav1.PartialObjectMetadataList{}
	crds.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinitionList"))
	controlplanetest.Require(t, c.List(t.Context(), crds))
	for i := range crds.Items {
		crd := &crds.Items[i]
		if !strings.HasSuffix(crd.Name, ".kyverno.io") {
			continue
		}
		controlplanetest.Require(t, c.Delete(t.Context(), crd))
		controlplanetest.Await(t, "the CRD "+crd.Name+" to go", func(ctx context.Context) (bool, error) {
			err := c.Get(ctx, client.ObjectKeyFromObject(crd), crd)
			return controlplanetest.Holds(apierrors.IsNotFound(err), "it is deleted since %s and has the finalizers %q (%v)", crd.DeletionTimestamp, crd.Finalizers, err)
		})
	}
	controlplanetest.Await(t, "discovery to forget Kyverno's groups", func(context.Context) (bool, error) {
		groups, err := s.clients.Discovery().ServerGroups()
		if err != nil {
			return false, err
		}
		left := slices.DeleteFunc(groups.Groups, func(g metav1.APIGroup) bool { return !strings.HasSuffix(g.Name, "kyverno.io") })
		return controlplanetest.Holds(len(left) == 0, "it has %v", left)
	})
	for _, all := range []client.Object{&admissionv1.MutatingWebhookConfiguration{}, &admissionv1.ValidatingWebhookConfiguration{}} {
		controlplanetest.Require(t, c.DeleteAllOf(t.Context(), all))
	}
	err := s.helm(t, "upgrade", policies.Chart(), "--values", file, "--set", "engine=Native")
	if err == nil || !strings.Contains(err.Error(), "current release manifest") {
		t.Errorf("Helm can upgrade such a release, and README.md says it cannot: %v", err)
	}
	before := s.secret(t)
	if s.helm(t, "uninstall") == nil {
		t.Error("Helm can uninstall such a release, and README.md says it cannot")
	}
	records := client.MatchingLabels{"owner": "helm", "name": policies.Release}
	controlplanetest.Require(t, c.DeleteAllOf(t.Context(), &corev1.Secret{}, client.InNamespace(policies.Namespace), records))
	s.mustHelm(t, "install", policies.Chart(), "--values", file, "--set", "engine=Native")
	if diff := cmp.Diff(before, s.secret(t)); diff != "" {
		t.Errorf("pods refer to the Secret (-before +after):\n%s", diff)
	}
	s.awaitVariables(t, 11)
}
