package policies_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// Where the engines differ by nature: the API server calls webhooks in the order of their names, after the native
// policies, which it asks again when a webhook has changed the pod. Kyverno's webhook does not want to be asked again.
func TestAContainerThatALaterWebhookAddsIsInjectedByTheNativePolicyAlone(t *testing.T) {
	tier.Full(t)
	for _, e := range must(t, theCorpus).engines {
		t.Run(e.name, func(t *testing.T) {
			e.startMesh(t)
			pod := webPod("meshed")
			pod.Labels = map[string]string{"mesh": "yes"}
			pods := e.clients.CoreV1().Pods(secretRef.namespace(plainNamespace))
			var stored *corev1.Pod
			controlplanetest.Await(t, "a pod with two containers", func(ctx context.Context) (bool, error) {
				var err error
				stored, err = pods.Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				return err == nil && len(stored.Spec.Containers) == 2, err
			})
			want := map[string]int{withKyverno: 0, native: 6}[e.name]
			if first, added := len(stored.Spec.Containers[0].Env), len(stored.Spec.Containers[1].Env); first != 6 || added != want {
				t.Errorf("the pod's own container has %d variables, the added one %d, not 6 and %d", first, added, want)
			}
		})
	}
}

// startMesh registers a webhook that comes after Kyverno's and adds a container to the pods labelled for it. It stands
// for a service mesh, which cannot run here.
func (e *engine) startMesh(t *testing.T) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{
			UID: review.Request.UID, Allowed: true, PatchType: new(admissionv1.PatchTypeJSONPatch),
			Patch: []byte(`[{"op": "add", "path": "/spec/containers/-", "value": {"name": "mesh", "image": "mesh"}}]`),
		}
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(server.Close)
	configuration := &registrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "zz-mesh"},
		Webhooks: []registrationv1.MutatingWebhook{{
			Name: "mesh.fairlead.io",
			ClientConfig: registrationv1.WebhookClientConfig{
				URL:      &server.URL,
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			Rules: []registrationv1.RuleWithOperations{{
				Operations: []registrationv1.OperationType{registrationv1.Create},
				Rule:       registrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
			ObjectSelector:          &metav1.LabelSelector{MatchLabels: map[string]string{"mesh": "yes"}},
			SideEffects:             new(registrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
	_, err := e.clients.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(t.Context(), configuration, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
}
