package deliver_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/command"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/replicator"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// One label. Cluster API alone writes in the workload cluster; here is no kubelet, so the test runs what the Deployment there says.
func TestOneLabelBringsSoftwareAndSettings(t *testing.T) {
	tier.Full(t)
	m := newManagement(t)
	cp := controlplanetest.Start(t, controlplane.Options{})
	m.must(cp.StartControllerManager(t.Context(), controlplane.ServiceAccounts))
	workload := clientFor(t, cp.Admin())
	m.startCore()
	m.startOperator()
	m.start("--renew=3s")
	m.cluster("c", cp, nil)
	given := m.bundle(map[string]any{"engine": "Native", "source": map[string]any{"existing": true}})
	m.merge("c", `{"metadata":{"labels":{"`+v1alpha1.DeliverLabel+`":"c"}}}`)
	m.await("c", "True", "Delivered")
	// Without its cage, the replicator does not start.
	controlplanetest.Await(t, "the software", func(ctx context.Context) (_ bool, err error) {
		for _, object := range []client.Object{
			&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: policies.Namespace, Name: replicator.Name}},
			&admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "fairlead-replicator-writes"}},
			&admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: policies.InjectProxyEnv}},
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: policies.Namespace, Name: replicator.Name}},
		} {
			err = errors.Join(err, workload.Get(ctx, client.ObjectKeyFromObject(object), object))
		}
		return true, err
	})
	_, err := replicator.Start(t.Context(), cp)
	m.must(err)
	m.awaitCopied(workload, metav1.NamespaceDefault, "first")
	m.awaitInjected(workload)
	m.password("second")
	m.awaitCopied(workload, metav1.NamespaceDefault, "second")
	m.awaitCopied(workload, policies.Namespace, "second")
	for name, version := range given {
		carried := &corev1.ConfigMap{}
		m.must(m.client.Get(t.Context(), m.key(name), carried))
		if fmt.Sprint(carried.Data) != version {
			t.Errorf("ConfigMap %s has changed", name)
		}
	}
}

// bundle applies the chart as the page has it, and returns what its ConfigMaps have.
func (m *management) bundle(values map[string]any) map[string]string {
	m.Helper()
	const name = "fairlead-software"
	rendered, err := policies.Render(m.Context(), values)
	m.must(err)
	status, text, said := command.Run(m, rendered,
		"render", "bundle", "-f", "-", "--selector", v1alpha1.DeliverLabel, "--name", name, "--namespace", m.namespace)
	if status != 0 || said != "" {
		m.Fatalf("%d\n%s", status, said)
	}
	m.must(m.cp.Apply(m.Context(), []byte(text)))
	carried := map[string]string{}
	for _, name := range []string{name + "-namespace", name} {
		object := &corev1.ConfigMap{}
		m.must(m.client.Get(m.Context(), m.key(name), object))
		carried[name] = fmt.Sprint(object.Data)
	}
	return carried
}

func (m *management) awaitCopied(workload client.Client, namespace, password string) {
	m.Helper()
	controlplanetest.Await(m, "the copy in "+namespace, func(ctx context.Context) (bool, error) {
		secret := &corev1.Secret{}
		err := workload.Get(ctx, types.NamespacedName{Namespace: namespace, Name: policies.Secret}, secret)
		is := strings.Contains(string(secret.Data["https_proxy"]), ":"+password+"@") && strings.Contains(string(secret.Data["no_proxy"]), "178.170.32.59")
		return controlplanetest.Holds(is, "it has others (%v)", err)
	})
}

func (m *management) awaitInjected(workload client.Client) {
	m.Helper()
	controlplanetest.Await(m, "a pod with the variables", func(ctx context.Context) (bool, error) {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "web"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
		}
		err := workload.Create(ctx, pod, client.DryRunAll)
		has := slices.ContainsFunc(pod.Spec.Containers[0].Env, func(env corev1.EnvVar) bool {
			from := env.ValueFrom
			return env.Name == "HTTPS_PROXY" && from != nil && from.SecretKeyRef != nil && from.SecretKeyRef.Name == policies.Secret
		})
		return controlplanetest.Holds(has, "it has %v (%v)", pod.Spec.Containers[0].Env, err)
	})
}
