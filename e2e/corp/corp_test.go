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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	t.Run("with the environment of its container and no other", func(t *testing.T) { h.checkEnvironment(t, namespace) })
	t.Run("with what a source of its own has, and ours below it", func(t *testing.T) { h.checkOwnSource(t, namespace) })
	t.Run("not with an old password", func(t *testing.T) { h.checkOldPassword(t, namespace) })
	t.Run("nor without the Secret", func(t *testing.T) { h.checkWithoutSecret(t) })
	t.Run("through its own proxy where it names one", func(t *testing.T) { h.checkOwnProxy(t, namespace) })
}

// checkReachesOnlyTheCluster: there is no way out but squid, and without the variables nobody takes it.
func (h *harness) checkReachesOnlyTheCluster(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	before := len(h.company.since(t, 0))
	for _, c := range allContainers(pod) {
		to := of(t, c)
		output, err := h.run(t, pod, c)
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

// checkReachesAll: every container gets what it asks for, and squid was asked for what is outside, by the user,
// once for each, and for nothing else.
func (h *harness) checkReachesAll(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	before := len(h.company.since(t, 0))
	var want []machine.Request
	for _, c := range allContainers(pod) {
		to := of(t, c)
		if output, err := h.run(t, pod, c); err != nil || output != to.says {
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

// checkEnvironment looks at the instrument: a process in corp has what the pod says, not what this test has.
func (h *harness) checkEnvironment(t *testing.T, namespace string) {
	t.Helper()
	t.Setenv("http_proxy", "http://somebody.else:8080")
	pod := h.create(t, namespace, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "environment-"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "env", Image: "env", Command: []string{"env"}}}},
	})
	output, err := h.run(t, pod, pod.Spec.Containers[0])
	controlplanetest.Require(t, err)
	inPods := strings.ReplaceAll(credential, "$", "%24") // the form of a new cluster writes it so
	var names []string
	for line := range strings.Lines(output) {
		name, value, _ := strings.Cut(line, "=")
		names = append(names, name)
		if strings.HasPrefix(strings.ToUpper(name), "HTTP") && !strings.Contains(value, inPods) {
			t.Errorf("%s is %s", name, value)
		}
	}
	slices.Sort(names)
	want := []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "PATH", "http_proxy", "https_proxy", "no_proxy"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("the variables (-want +got):\n%s", diff)
	}
}

// checkOwnSource: whatever the source is called.
func (h *harness) checkOwnSource(t *testing.T, namespace string) {
	t.Helper()
	own := map[string]string{"HTTPS_PROXY": "http://own.example:8080", "https_proxy": "http://own.example:8080", "LEVEL": "debug"}
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: own}
	_, err := h.clients.CoreV1().ConfigMaps(namespace).Create(t.Context(), settings, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	pod := h.create(t, namespace, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "own-source-"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "env", Image: "env", Command: []string{"env"}, EnvFrom: []corev1.EnvFromSource{{
			ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: settings.Name}},
		}}}}},
	})
	output, err := h.run(t, pod, pod.Spec.Containers[0])
	controlplanetest.Require(t, err)
	got := map[string]string{}
	for line := range strings.Lines(output) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		got[name] = value
	}
	for name, value := range own {
		if got[name] != value {
			t.Errorf("%s is ours, and not its own", name)
		}
	}
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"} {
		if got[name] == "" {
			t.Errorf("there is no %s", name)
		}
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
		output, err := h.run(t, pod, c)
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
		if output, err := h.run(t, pod, c); err == nil || !strings.Contains(err.Error(), policies.Secret) {
			t.Errorf("container %s: %q, %v", c.Name, output, err)
		}
	}
	h.startReplicator(t)
	h.awaitCopy(t, namespace)
	h.checkReachesAll(t, pod)
}

// checkOwnProxy: a container that names a proxy for http keeps it, and gets ours for https alone. Its own is in the
// cluster and says so, whatever it is asked for. curl and wget read the lower case only: of HTTP_PROXY they know
// nothing, and we do not tell them more.
func (h *harness) checkOwnProxy(t *testing.T, namespace string) {
	t.Helper()
	before := len(h.company.since(t, 0))
	for _, name := range []string{"HTTP_PROXY", "http_proxy"} {
		pod := fetching(h.programs, h.company.caFile)
		for i := range pod.Spec.Containers {
			own := corev1.EnvVar{Name: name, Value: "http://" + machine.ServiceAddress + ":80"}
			pod.Spec.Containers[i].Env = append(pod.Spec.Containers[i].Env, own)
		}
		pod = h.create(t, namespace, pod)
		for _, c := range pod.Spec.Containers {
			to := of(t, c)
			want, fails := to.says, false
			if to.name == "http" {
				want, fails = inside, name == "HTTP_PROXY" && (strings.HasPrefix(c.Name, "curl-") || strings.HasPrefix(c.Name, "wget-"))
			}
			output, err := h.run(t, pod, c)
			if fails != (err != nil) || (err == nil && output != want) {
				t.Errorf("container %s with its own %s: %q, %v", c.Name, name, output, err)
			}
		}
	}
	tunnels := 2 * 2 * len(h.programs) // by name and by address
	for _, request := range h.company.awaitRequests(t, before, tunnels) {
		if request.Method != "CONNECT" || request.User != username {
			t.Errorf("squid was asked for what is another proxy's: %+v", request)
		}
	}
}
