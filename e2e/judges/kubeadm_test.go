package judges_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/kubelet"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// Each sample is for one component and one mode; all pairs come up.
var (
	components = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}
	staticPods = []resolve.StaticPods{resolve.StaticPodsSet, resolve.StaticPodsExtend, resolve.StaticPodsStrip}
)

func (s sample) component() string { return components[s.Number%len(components)] }

// controlPlane numbers the control plane that has the sample in one of its components.
func (s sample) controlPlane() int { return s.Number / len(components) }

// writeManifests runs kubeadm once for each control plane, with proxy variables of its own that it copies.
const writeManifests = `
mkdir -p /run/judge
export HTTP_PROXY=http://copied:3128 https_proxy=http://copied:3128 no_proxy=copied ALL_PROXY=http://copied:3128
cd /etc/judge
for patches in patches-*; do
	i=${patches#patches-}
	cat > /run/kubeadm.yaml <<END
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {advertiseAddress: 192.168.52.10}
patches: {directory: /etc/judge/patches-$i}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v1.36.3
END
	kubeadm init phase control-plane all --config /run/kubeadm.yaml > /run/kubeadm.log 2>&1 || { cat /run/kubeadm.log >&2; exit 1; }
	mv /etc/kubernetes/manifests /run/judge/manifests-$i
done`

// kubeadm writes the manifests. The values in them, as Kubernetes reads them, must be the intended ones.
func judgePatches(t *testing.T, m *machine.Machine, all []sample) {
	t.Helper()
	program := controlplanetest.Tool(t, tools.Kubeadm)
	kubeadm := controlplanetest.ReadFile(t, program)
	controlplanetest.Require(t, m.WriteFile("/usr/local/bin/kubeadm", kubeadm, 0o755))
	run(t, m, writeManifests)
	all = slices.DeleteFunc(slices.Clone(all), func(s sample) bool { return !s.pods })
	got := make([]map[string]string, len(all))
	for i, s := range all {
		got[i] = environmentOf(t, m, s)
	}
	expand(t, got)
	for i, s := range all {
		if diff := cmp.Diff(wantInPod(s), got[i]); diff != "" {
			t.Errorf("%s, %s, sample %s (-want +got):\n%s", s.component(), s.Effective.Node.StaticPods, s, diff)
		}
	}
	if len(all) < 1000 {
		t.Errorf("only %d were carried", len(all))
	}
}

// wantInPod returns the expected variables of a static pod, by its mode.
func wantInPod(s sample) map[string]string {
	switch s.Effective.Node.StaticPods {
	case resolve.StaticPodsSet:
		return s.want()
	case resolve.StaticPodsExtend:
		return map[string]string{
			"HTTP_PROXY": "http://copied:3128", "https_proxy": "http://copied:3128", "ALL_PROXY": "http://copied:3128",
			"NO_PROXY": s.List, "no_proxy": s.List,
		}
	}
	return map[string]string{}
}

func environmentOf(t *testing.T, m *machine.Machine, s sample) map[string]string {
	t.Helper()
	manifest, err := m.ReadFile(fmt.Sprintf("/run/judge/manifests-%d/%s.yaml", s.controlPlane(), s.component()))
	controlplanetest.Require(t, err)
	var pod corev1.Pod
	if err := yaml.UnmarshalStrict(manifest, &pod); err != nil {
		t.Fatalf("sample %s: the manifest of %s: %v", s, s.component(), err)
	}
	found := map[string]string{}
	for _, variable := range pod.Spec.Containers[0].Env {
		if strings.HasSuffix(strings.ToLower(variable.Name), "_proxy") {
			found[variable.Name] = variable.Value
		}
	}
	return found
}

// expand replaces every value by what the kubelet makes of it.
func expand(t *testing.T, environments []map[string]string) {
	t.Helper()
	variables := []kubelet.Variable{{Name: "HOME", Value: "expanded"}}
	each := func(do func(environment map[string]string, name string)) {
		for _, environment := range environments {
			for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"} {
				if _, set := environment[name]; set {
					do(environment, name)
				}
			}
		}
	}
	each(func(environment map[string]string, name string) {
		variables = append(variables, kubelet.Variable{Value: environment[name]})
	})
	texts, err := kubelet.Expand(t.Context(), variables)
	controlplanetest.Require(t, err)
	texts = texts[1:]
	each(func(environment map[string]string, name string) { environment[name], texts = texts[0], texts[1:] })
}
