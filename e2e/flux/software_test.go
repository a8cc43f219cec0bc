package flux_test

import (
	"context"
	"slices"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/replicator"
)

// The HelmRelease of docs/how-to/software.md installs into another API server, by a kubeconfig. There is no kubelet, so
// that nothing waits for Deployments, and no Kyverno: the API server evaluates the policies.
func TestFluxInstallsTheSoftwareFromTheManagementCluster(t *testing.T) {
	s := &site{cp: controlplanetest.Start(t, controlplane.Options{})}
	s.install(t)
	workload := controlplanetest.Start(t, controlplane.Options{})
	controlplanetest.Require(t, workload.StartControllerManager(t.Context(), controlplane.ServiceAccounts))
	path, err := workload.Kubeconfig(workload.Admin())
	controlplanetest.Require(t, err)
	kubeconfig := controlplanetest.ReadFile(t, path)
	controlplanetest.Require(t, s.cp.Apply(t.Context(), []byte(proxyNamespaces)))
	s.secret(t, namespace, cluster+"-kubeconfig", map[string]string{"value": string(kubeconfig)})
	s.startController(t)

	objects := append(s.repository(t, policies.Chart()), shown(t, "software.md", "## By Flux")...)
	if len(objects) != 2 || objects[1].GetKind() != "HelmRelease" {
		t.Fatalf("the page shows %v", objects)
	}
	controlplanetest.Require(t, unstructured.SetNestedField(objects[1].Object, "Native", "spec", "values", "engine"))
	controlplanetest.Require(t, unstructured.SetNestedField(objects[1].Object, true, "spec", "install", "disableWait"))
	s.release(t, objects...)
	there := controlplanetest.Client(t, workload.Admin(), nil)
	for _, reader := range []struct {
		client.Client
		want bool
	}{{there, true}, {s.client, false}} {
		for _, object := range []client.Object{
			&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: policies.Namespace, Name: replicator.Name}},
			&admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: policies.InjectProxyEnv}},
		} {
			err := reader.Get(t.Context(), client.ObjectKeyFromObject(object), object)
			if (err == nil) != reader.want || client.IgnoreNotFound(err) != nil {
				t.Errorf("%T %s, wanted %v: %v", object, object.GetName(), reader.want, err)
			}
		}
	}
	controlplanetest.Await(t, "a pod with a reference to the Secret", func(ctx context.Context) (bool, error) {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "web"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
		}
		if err := there.Create(ctx, pod, client.DryRunAll); err != nil {
			return false, err
		}
		refers := slices.ContainsFunc(pod.Spec.Containers[0].Env, func(e corev1.EnvVar) bool {
			return e.Name == "HTTPS_PROXY" && e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && e.ValueFrom.SecretKeyRef.Name == policies.Secret
		})
		return controlplanetest.Holds(refers, "it has %v", pod.Spec.Containers[0].Env)
	})
}

const proxyNamespaces = `
{apiVersion: v1, kind: Namespace, metadata: {name: org-acme}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: flux-system}}`
