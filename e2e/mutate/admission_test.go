package mutate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

// The pod that an API server stores of a workload's template, which its policies change, is the pod that it stores of
// the template changed by the command, where no policy is for it.
func TestAWorkloadThatTheCommandHasChangedMakesThePodsThatThePoliciesMake(t *testing.T) {
	cp := controlplanetest.Start(t, controlplane.Options{})
	workloads, err := os.ReadFile("testdata/workloads.yaml")
	controlplanetest.Require(t, err)
	f := &fixture{cp, controlplanetest.Clients(t, cp)}
	f.namespace(t, "agents", nil)
	f.namespace(t, "beside", map[string]string{"policies.kyverno.io/inject-proxy-env": "exclude"})
	for name, proxy := range map[string]string{"plain": "http://u:p@proxy.example:3128", "TLS": "https://u:p@proxy.example:3129"} {
		t.Run(name, func(t *testing.T) {
			values := fmt.Sprintf("{proxy: {http: %q, https: %q, noProxy: .svc}}", proxy, proxy)
			// The names of policies tell the way: an upgrade takes away those of the other.
			controlplanetest.Require(t, f.clients.AdmissionregistrationV1().MutatingAdmissionPolicies().DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
			controlplanetest.Require(t, policies.Install(t.Context(), cp, map[string]any{"engine": "Native"}, []byte(values)))
			f.awaitPolicies(t, map[string]bool{"TLS": true}[name])
			args := []string{"--policy-values", write(t, "values.yaml", values), "--policy", policies.InjectProxyEnv}
			for policy := range mutating(t, mutate(t, nil, "-o", "policies", "--policy-values", write(t, "values.yaml", values))) {
				args = append(args, "--policy", policy)
			}
			before, after := templates(t, workloads), templates(t, mutate(t, workloads, args...))
			for i, template := range before {
				var want *corev1.Pod
				got := f.stored(t, "beside", after[i])
				controlplanetest.Await(t, template.Name+" as the command makes it: each policy is noticed by itself", func(context.Context) (bool, error) {
					want = f.stored(t, "agents", template)
					return controlplanetest.Holds(cmp.Equal(want, got), "(-policies +command):\n%s", cmp.Diff(want, got))
				})
				if diff := cmp.Diff(want, f.stored(t, "agents", after[i])); diff != "" {
					t.Errorf("%s: the policies change what the command has made:\n%s", template.Name, diff)
				}
				if unchanged := f.stored(t, "beside", template); cmp.Equal(want, unchanged) {
					t.Errorf("%s: nothing is changed", template.Name)
				}
			}
		})
	}
}

type fixture struct {
	cp      *controlplane.ControlPlane
	clients kubernetes.Interface
}

func (f *fixture) namespace(t *testing.T, name string, labels map[string]string) {
	t.Helper()
	_, err := f.clients.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: labels, Annotations: map[string]string{"fairlead.io/served": "true"},
	}}, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	controlplanetest.Await(t, "the service account", func(ctx context.Context) (bool, error) {
		_, err := f.clients.CoreV1().ServiceAccounts(name).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
		return err == nil, err
	})
}

// awaitPolicies waits until an agent of a family gets what it is to get, which the API server notices after a while.
func (f *fixture) awaitPolicies(t *testing.T, relay bool) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-", Labels: map[string]string{"k8s-app": "konnectivity-agent"}}}
	pod.Spec.Containers = []corev1.Container{{Name: "konnectivity-agent", Image: "x", Args: []string{"--proxy-server-host=hub.example"}}}
	controlplanetest.Await(t, "the policies", func(ctx context.Context) (bool, error) {
		stored, err := f.clients.CoreV1().Pods("agents").Create(ctx, pod.DeepCopy(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return false, err
		}
		args, sidecars := stored.Spec.Containers[0].Args, len(stored.Spec.InitContainers)
		return controlplanetest.Holds(len(args) == 2 && (sidecars == 1) == relay, "an agent gets %q and %d sidecars", args, sidecars)
	})
}

// templates are the pods of a manifest's workloads, each with the workload's name.
func templates(t *testing.T, manifest []byte) []*corev1.Pod {
	t.Helper()
	objects, err := controlplane.Parse(manifest)
	controlplanetest.Require(t, err)
	var pods []*corev1.Pod
	for _, object := range objects {
		template, isTemplate, err := unstructured.NestedMap(object.Object, "spec", "template")
		controlplanetest.Require(t, err)
		if !isTemplate {
			template = object.Object
		}
		text, err := json.Marshal(template)
		controlplanetest.Require(t, err)
		pod := &corev1.Pod{}
		controlplanetest.Require(t, json.Unmarshal(text, pod))
		pod.Name, pod.Namespace = object.GetName(), ""
		pods = append(pods, pod)
	}
	return pods
}

// stored is what the API server makes of a pod, without what differs between two of the same. The volume of its token
// stands before those of a policy, and behind those of a manifest: it is left out. Which of two policies comes first is
// nowhere said, and with it the order of the variables.
func (f *fixture) stored(t *testing.T, namespace string, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	pod = pod.DeepCopy()
	pod.Spec.AutomountServiceAccountToken = new(bool)
	stored, err := f.clients.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Fatalf("%s: %v", pod.Name, err)
	}
	stored.Namespace, stored.UID, stored.ManagedFields, stored.CreationTimestamp = "", "", nil, metav1.Time{}
	for _, containers := range [][]corev1.Container{stored.Spec.Containers, stored.Spec.InitContainers} {
		for _, c := range containers {
			slices.SortFunc(c.Env, func(a, b corev1.EnvVar) int { return strings.Compare(a.Name, b.Name) })
		}
	}
	return stored
}
