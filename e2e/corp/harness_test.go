package corp_test

import (
	"context"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

// harness is a company with a cluster whose pods the policies change.
type harness struct {
	company  *company
	cp       *controlplane.ControlPlane
	clients  kubernetes.Interface
	kubelet  kubelet
	values   []byte
	programs []client
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	log.SetLogger(logr.Discard()) // controller-runtime complains otherwise
	h := &harness{company: newCompany(t), cp: controlplanetest.Shared(t), values: clusterValues(t)}
	h.clients = controlplanetest.Clients(t, h.cp)
	h.kubelet = kubelet{h.clients}
	h.programs = clients(t, h.company.caFile)
	controlplanetest.Require(t, h.cp.StartControllerManager(t.Context(), controlplane.ServiceAccounts))
	_, err := kyverno.Start(t.Context(), h.cp, kyverno.Options{})
	controlplanetest.Require(t, err)
	return h
}

// install installs the chart with the company's values, and returns a namespace whose pods it changes.
func (h *harness) install(t *testing.T, carry string) string {
	t.Helper()
	controlplanetest.Require(t, policies.Install(t.Context(), h.cp, h.values, map[string]any{"carry": carry}))
	namespace := controlplanetest.Namespace(t, h.cp)
	pod := fetching(h.programs[:2], h.company.caFile)
	controlplanetest.Await(t, "a pod that gets "+carry, func(ctx context.Context) (bool, error) {
		stored, err := h.clients.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil || len(stored.Spec.Containers[0].Env) != 7 {
			return false, err
		}
		return (stored.Spec.Containers[0].Env[6].ValueFrom != nil) == (carry == "SecretRef"), nil
	})
	if carry == "SecretRef" {
		h.replicate(t, namespace)
	}
	return namespace
}

// replicate stands in for the replicator: it copies the Secret that the chart has made into the namespace.
func (h *harness) replicate(t *testing.T, namespace string) {
	t.Helper()
	source, err := h.clients.CoreV1().Secrets(policies.Namespace).Get(t.Context(), policies.Secret, metav1.GetOptions{})
	controlplanetest.Require(t, err)
	copied := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: source.Name, Labels: map[string]string{"fairlead.io/secret": "proxy"}},
		Data:       source.Data,
	}
	_, err = h.clients.CoreV1().Secrets(namespace).Create(t.Context(), copied, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
}
