package policies_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/process"
)

// bench is a control plane with Kyverno, and the pod that is created again and again.
type bench struct {
	*engine
	pod *corev1.Pod
}

// BenchmarkPods creates a pod under each of the policies that give it the proxy's variables, and under none:
// docs/reference/scale.md. The policies of Kyverno come last.
func BenchmarkPods(b *testing.B) {
	started, err := startEngine(b.Context(), withKyverno)
	controlplanetest.Require(b, err)
	e := &bench{engine: started, pod: &corev1.Pod{}}
	controlplanetest.Require(b, policies.Serve(b.Context(), e.cp, "shop"))
	controlplanetest.Require(b, yaml.UnmarshalStrict(controlplanetest.ReadFile(b, "testdata/bench/pod.yaml"), e.pod))

	b.Run("none", func(b *testing.B) { e.measure(b, nil) })
	for _, engine := range []string{native, withKyverno} {
		for _, carry := range []string{"SecretRef", "Literal"} {
			manifest, err := policies.Render(b.Context(), policies.Values(), map[string]any{"engine": engine, "carry": carry})
			controlplanetest.Require(b, err)
			b.Run(engine+"-"+carry, func(b *testing.B) { e.measure(b, manifest) })
		}
	}
	b.Run("ClusterPolicy", func(b *testing.B) { e.measure(b, controlplanetest.ReadFile(b, "testdata/bench/field.yaml")) })
}

// measure creates pods one after the other, as a controller does, while the policy of the manifest is in force.
func (e *bench) measure(b *testing.B, manifest []byte) {
	b.Helper()
	objects, err := controlplane.Parse(manifest)
	controlplanetest.Require(b, err)
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GetName() != "kubeadm-config" && (o.GetName() != policies.InjectProxyEnv || !strings.Contains(o.GetKind(), "Policy"))
	})
	controlplanetest.Require(b, e.cp.ApplyObjects(b.Context(), objects...))
	e.await(b, len(objects) > 0)
	pods := e.clients.CoreV1().Pods("shop")
	create := func() time.Duration {
		began := time.Now()
		_, err := pods.Create(b.Context(), e.pod, metav1.CreateOptions{})
		controlplanetest.Require(b, err)
		return time.Since(began)
	}
	for range 50 {
		create()
	}
	before, err := process.CPUTime(e.kyverno.PID())
	controlplanetest.Require(b, err)
	var took []time.Duration
	for b.Loop() {
		took = append(took, create())
	}
	after, err := process.CPUTime(e.kyverno.PID())
	controlplanetest.Require(b, err)
	slices.Sort(took)
	b.ReportMetric(milliseconds(took[len(took)/2]), "p50-ms")
	b.ReportMetric(milliseconds(took[len(took)*99/100]), "p99-ms")
	b.ReportMetric(milliseconds(after-before)/float64(len(took)), "Kyverno-ms/op")

	controlplanetest.Require(b, pods.DeleteCollection(b.Context(), *metav1.NewDeleteOptions(0), metav1.ListOptions{}))
	administrator := controlplanetest.Client(b, e.cp.Admin(), nil)
	for _, object := range objects {
		controlplanetest.Require(b, administrator.Delete(b.Context(), object))
	}
	e.await(b, false)
}

// await returns when every container of a pod gets the variables, or none does.
func (e *bench) await(b *testing.B, given bool) {
	b.Helper()
	controlplanetest.Await(b, "the policy, or its end", func(ctx context.Context) (bool, error) {
		pod, err := e.clients.CoreV1().Pods("shop").Create(ctx, e.pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return false, err
		}
		have := 0
		for i, c := range pod.Spec.Containers {
			if len(c.Env) > len(e.pod.Spec.Containers[i].Env) || len(c.EnvFrom) > len(e.pod.Spec.Containers[i].EnvFrom) {
				have++
			}
		}
		return controlplanetest.Holds(given && have == len(pod.Spec.Containers) || !given && have == 0, "%d of %d containers have them", have, len(pod.Spec.Containers))
	})
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }
