package policies_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

func TestKubeSystemIsReachedByTheNativePolicyOnceItIsNotExcluded(t *testing.T) {
	tier.Full(t)
	e := mustCorpus(t).engines[0]
	if !e.injects(t, "kube-system") {
		t.Error("it is not")
	}
}

func TestKubeSystemIsReachedByKyvernoOnlyAfterItsOwnConfigurationIsOpened(t *testing.T) {
	tier.Full(t)
	e := mustCorpus(t).kyverno()
	if e.injects(t, "kube-system") {
		t.Error("it is reached though nobody opened it")
	}
	before := map[string]string{}
	t.Cleanup(func() {
		controlplanetest.Require(t, e.kyverno.Configure(context.Background(), func(data map[string]string) {
			data["webhooks"], data["resourceFilters"] = before["webhooks"], before["resourceFilters"]
		}))
	})
	controlplanetest.Require(t, e.kyverno.Configure(t.Context(), func(data map[string]string) {
		before["webhooks"], before["resourceFilters"] = data["webhooks"], data["resourceFilters"]
		data["webhooks"] = strings.Replace(data["webhooks"], `"values":["kube-system"]`, `"values":["kube-public"]`, 1)
		data["resourceFilters"] = strings.Replace(data["resourceFilters"], "[*/*,kube-system,*]", "", 1)
	}))
	controlplanetest.Await(t, "an injected pod in kube-system", func(ctx context.Context) (bool, error) {
		return e.injected(ctx, "kube-system")
	})
	if !e.injects(t, "kube-system") {
		t.Error("the next is not")
	}
}

// injects stores a pod, and says whether it is injected.
func (e *engine) injects(t *testing.T, namespace string) bool {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "web-"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
	}
	controlplanetest.Require(t, e.create(t.Context(), namespace, pod))
	return len(pod.Spec.Containers[0].Env) == 6
}

// A static pod's environment is in a file of its machine. What kubelet shows of it is left as it is: a
// reference to a Secret would have the API server refuse it.
func TestAMirrorPodThatANodeMakesIsLeftAlone(t *testing.T) {
	for _, e := range mustCorpus(t).engines {
		t.Run(e.name, func(t *testing.T) {
			binding := &rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: "nodes"},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:node"},
				Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "system:nodes"}},
			}
			_, err := e.clients.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})
			controlplanetest.Require(t, err)
			node, err := e.cp.User("system:node:node", "system:nodes")
			controlplanetest.Require(t, err)
			clients, err := kubernetes.NewForConfig(node)
			controlplanetest.Require(t, err)
			for _, namespace := range []string{"kube-system", secretRef.namespace(plainNamespace)} {
				pod := &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Name: "kube-apiserver-node"},
					Spec: corev1.PodSpec{
						Containers:  []corev1.Container{{Name: "kube-apiserver", Image: "registry.example/kube-apiserver:1"}},
						HostNetwork: true,
					},
				}
				mirror(pod)
				var stored *corev1.Pod
				controlplanetest.Await(t, "the node's permission", func(ctx context.Context) (bool, error) {
					stored, err = clients.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
					return err == nil, err
				})
				if env := stored.Spec.Containers[0].Env; len(env) != 0 {
					t.Errorf("in %s it has %v", namespace, env)
				}
			}
		})
	}
}
