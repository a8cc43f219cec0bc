package policies_test

import (
	"context"
	"regexp"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// The chart as it is installed, with its defaults and the company's authority, which costs no second review.
func TestAPodCostsOneAdmissionReviewAndAnExcludedOneNone(t *testing.T) {
	tier.Full(t)
	t.Parallel() // it has a control plane of its own, and much of its time is waiting
	e, err := startEngine(t.Context(), withKyverno)
	controlplanetest.Require(t, err)
	authority := map[string]any{"trustedCA": map[string]any{"enabled": true, "bundle": string(newAuthority(t).PEM())}}
	controlplanetest.Require(t, policies.Install(t.Context(), e.cp, policies.Values(), authority))
	for _, policy := range []string{policies.InjectProxyEnv, "inject-trusted-ca", "tunnel-environment-app", "tunnel-environment-k8s-app"} {
		controlplanetest.Require(t, e.kyverno.Await(t.Context(), policy))
	}
	e.testMarks(t)
	controlplanetest.Require(t, e.createNamespace(t.Context(), "without-labels", nil))
	controlplanetest.Require(t, e.createNamespace(t.Context(), "excluded", map[string]string{said: "exclude"}))
	controlplanetest.Require(t, e.awaitPolicy(t.Context(), "without-labels"))

	create := func(namespace string, change func(*corev1.Pod)) func() error {
		return func() error {
			pod := webPod("web")
			if change != nil {
				pod.Name = "changed"
				change(pod)
			}
			return e.create(t.Context(), namespace, pod)
		}
	}
	change := func(subresource bool) func() error {
		pods := e.clients.CoreV1().Pods("without-labels")
		return func() error {
			pod, err := pods.Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if subresource {
				pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{debug(corev1.Container{Name: "debug", Image: "debug"})}
				_, err = pods.UpdateEphemeralContainers(t.Context(), pod.Name, pod, metav1.UpdateOptions{})
				return err
			}
			relabel(pod)
			_, err = pods.Update(t.Context(), pod, metav1.UpdateOptions{})
			return err
		}
	}
	for _, step := range []struct {
		what string
		do   func() error
		cost int
	}{
		{"a pod", create("without-labels", nil), 1},
		{"an ephemeral container", change(true), 1},
		{"a label", change(false), 0},
		{"a pod excluded by its annotation", create("without-labels", annotated("exclude")), 1},
		{"a pod excluded by its label", create("without-labels", labelled(said, "exclude")), 0},
		{"a core provider of Cluster API", create("without-labels", labelled("cluster.x-k8s.io/provider", "cluster-api")), 0},
		{"a pod on the network of its node", create("without-labels", hostNetwork), 1},
		{"a pod in an excluded namespace", create("excluded", nil), 0},
		{"a pod in kube-public", create("kube-public", nil), 0},
		{"an agent of a tunnel", create("without-labels", labelled("app", "frpc")), 2},
		{"an agent of two families", create("without-labels", both(labelled("app", "konnectivity-agent"), func(p *corev1.Pod) { p.Labels["k8s-app"] = "konnectivity-agent" })), 3},
		{"an agent excluded by its label", create("without-labels", both(labelled(said, "exclude"), func(p *corev1.Pod) { p.Labels["app"] = "frpc" })), 0},
	} {
		before := e.admissionReviews(t)
		_ = e.clients.CoreV1().Pods("without-labels").Delete(t.Context(), "changed", metav1.DeleteOptions{})
		controlplanetest.Require(t, step.do())
		if cost := e.admissionReviews(t) - before; cost != step.cost {
			t.Errorf("%s costs %d, not %d", step.what, cost, step.cost)
		}
	}
}

// testMarks is a replicator: it says that it has written.
func (e *engine) testMarks(t *testing.T) {
	t.Helper()
	controlplanetest.Require(t, e.kyverno.Await(t.Context(), "mark-new-namespaces"))
	namespaces := e.clients.CoreV1().Namespaces()
	create := func() string {
		made, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "new-"}}, metav1.CreateOptions{})
		controlplanetest.Require(t, err)
		return made.Annotations["fairlead.io/served"]
	}
	if got := create(); got != "" {
		t.Errorf("a namespace is marked %q before the replicator has written", got)
	}
	_, err := namespaces.Patch(t.Context(), policies.Namespace, types.MergePatchType, []byte(`{"metadata":{"annotations":{"fairlead.io/served":"2027-01-31T12:00:00Z"}}}`), metav1.PatchOptions{})
	controlplanetest.Require(t, err)
	controlplanetest.Await(t, "a new namespace to be marked", func(context.Context) (bool, error) {
		got := create()
		return controlplanetest.Holds(got == "true", "it says %q", got)
	})
}

var requests = regexp.MustCompile(`(?m)^kyverno_admission_requests_total\{[^}]*resource_kind="Pod"[^}]*\} (\d+)$`)

// admissionReviews is how often Kyverno has been asked about pods. It counts a question before it answers.
func (e *engine) admissionReviews(t *testing.T) int {
	t.Helper()
	metrics, err := e.kyverno.Metrics(t.Context())
	controlplanetest.Require(t, err)
	sum := 0
	for _, line := range requests.FindAllStringSubmatch(metrics, -1) {
		count, err := strconv.Atoi(line[1])
		controlplanetest.Require(t, err)
		sum += count
	}
	return sum
}
