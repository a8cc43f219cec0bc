package probe

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-io/fairlead/internal/core/probe"
)

func agentPod(name string, labels map[string]string, arguments ...string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "konnectivity-agent", Command: []string{"/proxy-agent"}, Args: arguments}}},
	}
}

// A cluster names its registries by the images on its nodes, and its hub by the arguments of the agent.
func TestRegistriesAndHubsAreFound(t *testing.T) {
	konnectivity := map[string]string{"k8s-app": "konnectivity-agent"}
	images := func(names ...string) (all []corev1.ContainerImage) {
		for _, name := range names {
			all = append(all, corev1.ContainerImage{Names: []string{name}})
		}
		return all
	}
	asked, fail := 0, error(nil)
	reader := fake.NewClientBuilder().WithObjects(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: corev1.NodeStatus{Images: images("registry.k8s.io/pause:3.10", "docker.io/library/busybox:1", "quay.io:443/x@sha256:0")}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Status: corev1.NodeStatus{Images: images("registry.k8s.io/pause:3.10", "<none>", "sha256:00")}},
		agentPod("out", konnectivity, "--proxy-server-host=hub.example.com", "--proxy-server-port=8132"),
		agentPod("in", konnectivity, "--proxy-server-host=hub.hubs.svc"),
		agentPod("beside", konnectivity, "--proxy-server-host=127.0.0.1"),
		agentPod("other", map[string]string{"app": "shop"}, "--proxy-server-host=other.example.com"),
	).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			asked++
			return errors.Join(fail, c.List(ctx, list, opts...))
		},
	}).Build()
	d, err := newDiscovery(reader, []string{"k8s-app in (konnectivity-agent)"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var want []probe.Target
	for _, url := range []string{"https://registry.k8s.io/v2/", "https://registry-1.docker.io/v2/", "https://quay.io:443/v2/", "tcp://hub.example.com:8132"} {
		want = append(want, probe.Target{URL: url, Expect: probe.Reachable})
	}
	began := time.Now()
	if diff := cmp.Diff(want, d.read(t.Context(), began)); diff != "" || asked != 2 {
		t.Errorf("%d requests: %s", asked, diff)
	}
	d.read(t.Context(), began.Add(discoverEvery-time.Second))
	fail = errors.New("forbidden")
	if diff := cmp.Diff(want, d.read(t.Context(), began.Add(discoverEvery))); diff != "" || asked != 4 {
		t.Errorf("after an error, with %d requests: %s", asked, diff)
	}

	// What somebody says of the place counts.
	a := &agent{found: d, fixed: []probe.Target{{URL: "tcp://registry.k8s.io:443", Expect: probe.Unreachable}}}
	if diff := cmp.Diff(append(a.fixed, want[1:]...), a.withFound(t.Context(), a.said())); diff != "" {
		t.Error(diff)
	}
}

func TestASelectorThatIsNoneIsRefused(t *testing.T) {
	if _, err := newDiscovery(nil, []string{"app in ("}, nil); err == nil {
		t.Error("it is taken")
	}
}
