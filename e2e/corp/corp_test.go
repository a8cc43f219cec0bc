// Package corp goes the last step of the way: a pod's own program, in the company's network, with the environment
// that the policies have given the pod, and no other. What the program reaches, and what squid saw of it, is the
// answer. There is no kubelet; see package node for what stands in its place.
package corp_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

func TestAPodsOwnProgramReachesTheWebThroughTheProxyAndTheClusterDirectly(t *testing.T) {
	h := newHarness(t)
	for _, row := range []struct{ engine, carry string }{
		{"Native", "SecretRef"}, {"Kyverno", "Literal"}, {"Kyverno", "SecretRef"}, // the tests below are about the last
	} {
		t.Run(row.engine+" "+row.carry, func(t *testing.T) {
			namespace := h.install(t, row.engine, row.carry)
			twin := fetching(h.programs, h.company.caFile)
			twin.Labels = map[string]string{"policies.kyverno.io/inject-proxy-env": "exclude"}
			h.checkReachesOnlyTheCluster(t, h.create(t, namespace, twin))
			h.checkReachesAll(t, h.create(t, namespace, fetching(h.programs, h.company.caFile)))
		})
	}
	namespace := h.install(t, "Kyverno", "SecretRef")
	t.Run("not with an old password", func(t *testing.T) { h.checkOldPassword(t, namespace) })
	t.Run("not without the Secret", func(t *testing.T) { h.checkWithoutSecret(t) })
}

// checkReachesOnlyTheCluster: there is no way out but squid, and without the variables nobody takes it.
func (h *harness) checkReachesOnlyTheCluster(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	before := len(h.company.since(t, 0))
	for _, c := range allContainers(pod) {
		to := of(t, c)
		output, err := h.node.Run(t.Context(), pod, c.Name)
		if to.says == inside && (err != nil || output != inside) {
			t.Errorf("container %s of the twin: %q, %v", c.Name, output, err)
		}
		if to.says == outside && err == nil {
			t.Errorf("container %s of the twin is outside: %q", c.Name, output)
		}
	}
	if requests := h.company.since(t, before); len(requests) != 0 {
		t.Errorf("squid was asked by the twin: %+v", requests)
	}
}

// checkReachesAll checks that every container gets the content of its URL. squid was asked by the user for each
// outside target once, and for nothing else.
func (h *harness) checkReachesAll(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	before := len(h.company.since(t, 0))
	var want []machine.Request
	for _, c := range allContainers(pod) {
		to := of(t, c)
		if output, err := h.node.Run(t.Context(), pod, c.Name); err != nil || output != to.says {
			t.Errorf("container %s: %q, %v", c.Name, output, err)
		}
		if to.says == outside {
			want = append(want, to.asked)
		}
	}
	got := h.company.awaitRequests(t, before, len(want))
	for _, requests := range [][]machine.Request{got, want} {
		slices.SortFunc(requests, func(a, b machine.Request) int { return strings.Compare(a.Target, b.Target) })
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what squid was asked (-want +got):\n%s", diff)
	}
}

// checkOldPassword: squid lets nobody through who has another, so all above was the password's doing.
func (h *harness) checkOldPassword(t *testing.T, namespace string) {
	t.Helper()
	pod := h.create(t, namespace, fetching(h.programs, h.company.caFile))
	h.setPassword(t, "p%40ss", "old", namespace)
	before := len(h.company.since(t, 0))
	asked := 0
	for _, c := range pod.Spec.Containers {
		output, err := h.node.Run(t.Context(), pod, c.Name)
		switch to := of(t, c); {
		case to.says == outside && err == nil:
			t.Errorf("container %s is outside: %q", c.Name, output)
		case to.says == outside:
			asked++
		case err != nil || output != inside:
			t.Errorf("container %s: %q, %v", c.Name, output, err)
		}
	}
	for _, request := range h.company.awaitRequests(t, before, asked) {
		if request.Status != 407 {
			t.Errorf("squid let it through: %+v", request)
		}
	}
	h.setPassword(t, "old", "p%40ss", namespace)
	h.checkReachesAll(t, pod) // as its containers do when they start anew
}

// checkWithoutSecret: in a namespace without the copy a container waits, rather than run without the proxy, and
// starts once there is a replicator to bring it.
func (h *harness) checkWithoutSecret(t *testing.T) {
	t.Helper()
	controlplanetest.Require(t, h.replicator.Stop())
	namespace := controlplanetest.Namespace(t, h.cp)
	pod := h.create(t, namespace, fetching(h.programs, h.company.caFile))
	for _, c := range allContainers(pod) {
		if output, err := h.node.Run(t.Context(), pod, c.Name); err == nil || !strings.Contains(err.Error(), policies.Secret) {
			t.Errorf("container %s: %q, %v", c.Name, output, err)
		}
	}
	h.startReplicator(t)
	h.awaitCopy(t, namespace)
	h.checkReachesAll(t, pod)
}
