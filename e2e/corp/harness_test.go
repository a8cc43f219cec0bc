package corp_test

import (
	"bytes"
	"context"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/node"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/replicator"
)

// harness is a company with a cluster whose pods the policies change.
type harness struct {
	company    *company
	cp         *controlplane.ControlPlane
	clients    kubernetes.Interface
	node       *node.Node             // runs containers in corp, as the kubelet would
	kyverno    bool                   // whether it runs
	replicator *replicator.Replicator // while it runs
	values     []byte
	programs   []client
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	h := &harness{company: newCompany(t), cp: controlplanetest.Shared(t, kyverno.Content...), values: clusterValues(t)}
	h.clients = controlplanetest.Clients(t, h.cp)
	h.node = &node.Node{Network: h.company.network, Clients: h.clients}
	h.programs = clients(t, h.company.caFile)
	controlplanetest.Require(t, h.cp.StartControllerManager(t.Context(), controlplane.ServiceAccounts))
	return h
}

// install installs the chart with the company's values, and returns a namespace whose pods it changes. Kyverno starts
// when the chart is first to have it, and the native policies end then.
func (h *harness) install(t *testing.T, engine, carry string) string {
	t.Helper()
	if engine == "Kyverno" && !h.kyverno {
		bindings := h.clients.AdmissionregistrationV1().MutatingAdmissionPolicyBindings()
		controlplanetest.Require(t, bindings.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
		_, err := kyverno.Start(t.Context(), h.cp, kyverno.Options{})
		controlplanetest.Require(t, err)
		h.kyverno = true
	}
	controlplanetest.Require(t, policies.Install(t.Context(), h.cp, h.values, map[string]any{"engine": engine, "carry": carry}))
	namespace := controlplanetest.Namespace(t, h.cp)
	pod := fetching(h.programs[:2], h.company.caFile)
	controlplanetest.Await(t, "a pod that gets "+carry, func(ctx context.Context) (bool, error) {
		stored, err := h.clients.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return false, err
		}
		env := stored.Spec.Containers[0].Env
		return controlplanetest.Holds(len(env) == 7 && (env[6].ValueFrom != nil) == (carry == "SecretRef"), "it gets %v", env)
	})
	if carry == "SecretRef" {
		if h.replicator == nil {
			h.startReplicator(t)
		}
		h.awaitCopy(t, namespace)
	}
	return namespace
}

func (h *harness) startReplicator(t *testing.T) {
	t.Helper()
	var err error
	h.replicator, err = replicator.Start(t.Context(), h.cp)
	controlplanetest.Require(t, err)
}

// setPassword is somebody who changes it in the Secret that the chart has made.
func (h *harness) setPassword(t *testing.T, from, to, namespace string) {
	t.Helper()
	source := h.secret(t, policies.Namespace)
	for key, value := range source.Data {
		source.Data[key] = []byte(strings.ReplaceAll(string(value), from, to))
	}
	_, err := h.clients.CoreV1().Secrets(source.Namespace).Update(t.Context(), source, metav1.UpdateOptions{})
	controlplanetest.Require(t, err)
	h.awaitCopy(t, namespace)
}

func (h *harness) awaitCopy(t *testing.T, namespace string) {
	t.Helper()
	source := h.secret(t, policies.Namespace)
	controlplanetest.Await(t, "the copy in "+namespace, func(ctx context.Context) (bool, error) {
		copied, err := h.clients.CoreV1().Secrets(namespace).Get(ctx, policies.Secret, metav1.GetOptions{})
		return err == nil && maps.EqualFunc(source.Data, copied.Data, bytes.Equal), err
	})
}

func (h *harness) secret(t *testing.T, namespace string) *corev1.Secret {
	t.Helper()
	secret, err := h.clients.CoreV1().Secrets(namespace).Get(t.Context(), policies.Secret, metav1.GetOptions{})
	controlplanetest.Require(t, err)
	return secret
}
