package policies_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// As when somebody makes a pod from the YAML of another, or a webhook is asked twice.
func (c caCluster) testAgain(t *testing.T) {
	first, err := c.create(t.Context(), caPod(caContainer("c")))
	if err != nil {
		t.Fatal(err)
	}
	again := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "again-"}, Spec: *first.Spec.DeepCopy()}
	second, err := c.create(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first.Spec, second.Spec); diff != "" {
		t.Errorf("-first +second:\n%s", diff)
	}
}

func (c caCluster) testEphemeral(t *testing.T) {
	with, err := c.create(t.Context(), caPod(caContainer("c")))
	if err != nil {
		t.Fatal(err)
	}
	checkCA(t, c.debug(t, with), caContainer("debug"), nil, nil)

	old := caPod(caContainer("c"))
	old.Annotations = map[string]string{"policies.kyverno.io/inject-proxy-env": "exclude"}
	without, err := c.create(t.Context(), old)
	if err != nil {
		t.Fatal(err)
	}
	without.Annotations = nil
	if without, err = c.clients.CoreV1().Pods(c.pods).Update(t.Context(), without, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	debug := c.debug(t, without)
	checkCA(t, debug, caContainer("debug"), caVariables, nil)
	if len(debug.Env) != len(proxyVariables) {
		t.Errorf("an ephemeral container of a pod without the volume has %d variables, want the proxy's", len(debug.Env))
	}
}

// debug adds an ephemeral container and returns what became of it.
func (c caCluster) debug(t *testing.T, pod *corev1.Pod) corev1.Container {
	t.Helper()
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
		Name: "debug", Image: "image", TerminationMessagePolicy: corev1.TerminationMessageReadFile, ImagePullPolicy: corev1.PullAlways,
	}}}
	pod, err := c.clients.CoreV1().Pods(c.pods).UpdateEphemeralContainers(t.Context(), pod.Name, pod, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return corev1.Container(pod.Spec.EphemeralContainers[0].EphemeralContainerCommon)
}

func (c caCluster) testOccupied(t *testing.T) {
	pod := caPod(caContainer("occupied", mounting("data", "/etc")), caContainer("free"))
	withData(pod)
	given := pod.DeepCopy()
	stored, err := c.create(t.Context(), pod)
	if err != nil {
		t.Fatal(err)
	}
	checkCA(t, stored.Spec.Containers[0], given.Spec.Containers[0], caVariables, []string{"/etc"})
	checkCA(t, stored.Spec.Containers[1], given.Spec.Containers[1], nil, nil)
}
