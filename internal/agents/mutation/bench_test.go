package mutation

import (
	"context"
	"os"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// The API server evaluates the policy on a new pod, and again on what has become of it. The pod is that of e2e/policies, which
// measures real programs, and what else the machine does. Allocations and CEL/op, which the API server limits, do not depend on it.
func BenchmarkAdmission(b *testing.B) {
	content, err := os.ReadFile("../../../e2e/policies/testdata/bench/pod.yaml")
	if err != nil {
		b.Fatal(err)
	}
	for _, carry := range []string{CarrySecretRef, CarryLiteral} {
		m := newMetered(b, carry)
		for _, name := range []string{carry, carry + "Annotated"} {
			pod := &corev1.Pod{}
			if err := yaml.UnmarshalStrict(content, pod); err != nil {
				b.Fatal(err)
			}
			if name != carry {
				pod.Annotations["fairlead.io/no-proxy"] = "kafka.internal,.shop.example"
			}
			for _, pass := range []string{"First", "Again"} {
				b.Run(name+"/"+pass, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						m.admit(b, pod)
					}
					b.ReportMetric(float64(celconfig.RuntimeCELCostBudget-m.left), "CEL/op")
				})
				pod = m.admit(b, pod)
			}
		}
	}
}

// metered is an evaluator that keeps what is left of the budget, which a patcher does not tell.
type metered struct {
	plugincel.MutatingEvaluator
	policy *Policy
	left   int64
}

func newMetered(b *testing.B, carry string) *metered {
	b.Helper()
	values, err := ReadValues([]byte("cluster: {proxy: {http: 'http://u:p@192.168.52.220:3128', noProxy: 'example.com,.svc'}}\ncarry: " + carry))
	if err != nil {
		b.Fatal(err)
	}
	chart, err := values.Render()
	if err != nil {
		b.Fatal(err)
	}
	policies, err := chart.Choose([]string{InjectProxyEnv})
	if err != nil {
		b.Fatal(err)
	}
	if err := policies[0].compile(); err != nil {
		b.Fatal(err)
	}
	return &metered{MutatingEvaluator: policies[0].evaluators[0], policy: policies[0]}
}

func (m *metered) ForInput(ctx context.Context, attributes *admission.VersionedAttributes, request *admissionv1.AdmissionRequest,
	bindings plugincel.OptionalVariableBindings, namespace *corev1.Namespace, budget int64,
) (plugincel.EvaluationResult, int64, error) {
	result, left, err := m.MutatingEvaluator.ForInput(ctx, attributes, request, bindings, namespace, budget)
	m.left = left
	return result, left, err
}

// admit does what the API server does with one policy: it evaluates the policy, encodes the pod, patches and decodes it.
func (m *metered) admit(b *testing.B, pod *corev1.Pod) *corev1.Pod {
	b.Helper()
	gvk, gvr := corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithResource("pods")
	changed, err := patch.NewJSONPatcher(m).Patch(m.policy.compiler.CreateContext(b.Context()), patch.Request{
		MatchedResource: gvr,
		VersionedAttributes: &admission.VersionedAttributes{
			Attributes:    admission.NewAttributesRecord(pod, nil, gvk, "shop", "", gvr, "", admission.Create, &metav1.CreateOptions{}, false, nil),
			VersionedKind: gvk, VersionedObject: pod,
		},
		Namespace:        &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
		ObjectInterfaces: admission.NewObjectInterfacesFromScheme(scheme.Scheme),
	}, celconfig.RuntimeCELCostBudget)
	if err != nil {
		b.Fatal(err)
	}
	return changed.(*corev1.Pod)
}
