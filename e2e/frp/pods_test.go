package frp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

const container = "frpc"

// variantLabel keeps the pods of Deployments apart.
const variantLabel = "variant"

// exclude is the label of pods that no policy changes.
const exclude = "policies.kyverno.io/inject-proxy-env"

// objects are those of a manifest.
func objects(t *testing.T, manifest []byte) (*corev1.ConfigMap, *appsv1.Deployment) {
	t.Helper()
	parsed, err := controlplane.Parse(manifest)
	controlplanetest.Require(t, err)
	config, deployment := &corev1.ConfigMap{}, &appsv1.Deployment{}
	for i, object := range []any{config, deployment} {
		controlplanetest.Require(t, runtime.DefaultUnstructuredConverter.FromUnstructured(parsed[i].Object, object))
	}
	return config, deployment
}

func (s *site) labels(t *testing.T) map[string]string {
	t.Helper()
	_, deployment := objects(t, s.version.manifest)
	return deployment.Spec.Template.Labels
}

// change is how a variant differs from the manifest.
type change struct {
	mutate    bool // by fairlead mutate, to begin with
	unmutated bool // by the policies
	env       []corev1.EnvVar
	tunnel    string // the way, asked for by label
	config    func(string) string
}

// deploy creates a variant of the Deployment, and returns its pod as the API server has stored it.
func (s *site) deploy(t *testing.T, variant string, c change) *corev1.Pod {
	t.Helper()
	manifest := s.version.manifest
	if c.mutate {
		manifest = fairleadMutate(t, manifest, values())
	}
	config, deployment := objects(t, manifest)
	config.Name += "-" + variant
	if c.config != nil {
		config.Data[s.version.file] = c.config(config.Data[s.version.file])
	}
	_, err := s.clients.CoreV1().ConfigMaps(s.namespace).Create(t.Context(), config, metav1.CreateOptions{})
	controlplanetest.Require(t, err)

	deployment.Name += "-" + variant
	template := &deployment.Spec.Template
	template.Labels[variantLabel] = variant
	deployment.Spec.Selector.MatchLabels[variantLabel] = variant
	if c.unmutated {
		template.Labels[exclude] = "exclude"
	}
	if c.tunnel != "" {
		template.Labels = map[string]string{variantLabel: variant, "fairlead.io/tunnel": c.tunnel}
		template.Annotations = map[string]string{"fairlead.io/relay-targets": s.hub()}
		deployment.Spec.Selector.MatchLabels = map[string]string{variantLabel: variant}
	}
	template.Spec.Volumes[0].ConfigMap.Name = config.Name
	template.Spec.Containers[0].Env = append(template.Spec.Containers[0].Env, c.env...)
	_, err = s.clients.AppsV1().Deployments(s.namespace).Create(t.Context(), deployment, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	return s.podOf(t, variant)
}

func (s *site) podOf(t *testing.T, variant string) *corev1.Pod {
	t.Helper()
	var pods *corev1.PodList
	controlplanetest.Await(t, "the pod "+variant, func(ctx context.Context) (found bool, err error) {
		pods, err = s.clients.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: variantLabel + "=" + variant})
		if err == nil && len(pods.Items) != 1 {
			err = fmt.Errorf("there are %d", len(pods.Items))
		}
		return err == nil, err
	})
	pod := &pods.Items[0]
	if strings.Contains(pod.Spec.String(), policies.Secret) { // the copy comes with the pod, and a kubelet would try again
		controlplanetest.Await(t, "the copy of the Secret in "+s.namespace, func(ctx context.Context) (bool, error) {
			_, err := s.clients.CoreV1().Secrets(s.namespace).Get(ctx, policies.Secret, metav1.GetOptions{})
			return err == nil, err
		})
	}
	return pod
}

// fairleadMutate runs the real program on a manifest, with values of the chart.
func fairleadMutate(t *testing.T, manifest []byte, values map[string]any) []byte {
	t.Helper()
	output, err := policies.Mutate(t.Context(), manifest, values)
	controlplanetest.Require(t, err)
	return output
}
