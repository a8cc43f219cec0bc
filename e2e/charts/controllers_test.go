package charts_test

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Each controller by its own manifests, in the version that the tool module names.
var controllers = []struct {
	toolModule, module, folder, overlay string
	injected                            bool
}{
	{tools.ClusterAPI, "sigs.k8s.io/cluster-api", "core/config", "default", false},
	{tools.ClusterAPI, "sigs.k8s.io/cluster-api", "bootstrap/kubeadm/config", "default", false},
	{tools.ClusterAPI, "sigs.k8s.io/cluster-api", "controlplane/kubeadm/config", "default", false},
	{"provider-crds", "sigs.k8s.io/cluster-api-provider-aws/v2", "config", "default", true},
	{"provider-crds", "sigs.k8s.io/cluster-api-provider-azure", "config", "capz", true},
	{"provider-crds", "sigs.k8s.io/cluster-api-provider-gcp", "config", "default", true},
	{"provider-crds", "sigs.k8s.io/cluster-api-provider-openstack", "config", "default", true},
	{"provider-crds", "sigs.k8s.io/cluster-api-provider-vsphere", "config", "default", true},
}

// kustomization has the fields of a Kustomization that a pod shows.
type kustomization struct {
	NamePrefix   string            `json:"namePrefix"`
	CommonLabels map[string]string `json:"commonLabels"`
	Labels       []struct {
		Pairs            map[string]string `json:"pairs"`
		IncludeSelectors bool              `json:"includeSelectors"`
	} `json:"labels"`
}

// controllerPods are as those manifests make them, by where they are from; and whether they need the proxy.
func controllerPods(t *testing.T) (pods map[string]*corev1.Pod, injected map[string]bool) {
	t.Helper()
	pods, injected = map[string]*corev1.Pod{}, map[string]bool{}
	for _, c := range controllers {
		dir, err := tools.ModuleDir(t.Context(), c.toolModule, c.module)
		controlplanetest.Require(t, err)
		name := c.module + "/" + c.folder
		pods[name] = podOf(t, filepath.Join(dir, c.folder), c.overlay)
		injected[name] = c.injected
	}
	for name, pod := range noted {
		pods[name], injected[name] = pod, false
	}
	pods["cluster-api-operator, which downloads providers"] = noPod("capi-operator-controller-manager-6c9b8f7d5-x", map[string]string{
		"control-plane": "controller-manager", "clusterctl.cluster.x-k8s.io/core": "capi-operator",
	})
	injected["cluster-api-operator, which downloads providers"] = true
	return pods, injected
}

// podOf is a pod of a Deployment, with what the overlay adds to it.
func podOf(t *testing.T, config, overlay string) *corev1.Pod {
	t.Helper()
	var k kustomization
	readYAML(t, filepath.Join(config, overlay, "kustomization.yaml"), &k)
	var deployment appsv1.Deployment
	readYAML(t, filepath.Join(config, "manager", "manager.yaml"), &deployment)
	labels := maps.Clone(deployment.Spec.Template.Labels)
	maps.Copy(labels, k.CommonLabels)
	for _, more := range k.Labels {
		if more.IncludeSelectors {
			maps.Copy(labels, more.Pairs)
		}
	}
	if labels["cluster.x-k8s.io/provider"] == "" {
		t.Fatalf("%s: the manifests are not as they were: pods have the labels %v", config, labels)
	}
	pod := noPod(k.NamePrefix+deployment.Name+"-6c9b8f7d5-x", labels)
	pod.Spec = deployment.Spec.Template.Spec
	pod.Spec.ServiceAccountName = "" // there is none of that name here
	pod.Spec.Affinity = nil          // clusterctl has to fill in names of labels first
	return pod
}

// readYAML reads the document with a Deployment in it, or the only one.
func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	content := controlplanetest.ReadFile(t, file)
	objects := parse(t, content)
	for name := range objects {
		if strings.HasPrefix(name, "Deployment/") {
			content = []byte(objects.text(t, name))
		}
	}
	if err := yaml.Unmarshal(content, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func noPod(name string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: "image"}}},
	}
}

// noted are pods whose manifests are made by programs that are no Go modules of ours: names and labels as read there.
var noted = map[string]*corev1.Pod{
	"kamaji, a control plane (internal/builders/controlplane/deployment.go)": noPod("tenant-5d4f8-x", map[string]string{
		"kamaji.clastix.io/name": "tenant", "kamaji.clastix.io/component": "deployment", "component.kamaji.clastix.io/datastore": "default",
	}),
	"cluster-api-control-plane-provider-kamaji (config/default)": noPod("capi-kamaji-controller-manager-x", map[string]string{
		"cluster.x-k8s.io/provider": "kamaji", "control-plane": "controller-manager",
	}),
	"k0smotron, a control plane (internal/controller/util/util.go)": noPod("kmc-prod-0", map[string]string{
		"app": "k0smotron", "cluster": "prod", "component": "cluster", "cluster.x-k8s.io/control-plane": "true",
	}),
	"k0smotron, its etcd (internal/controller/util/util.go)": noPod("kmc-prod-etcd-0", map[string]string{
		"app": "k0smotron", "cluster": "prod", "component": "etcd",
	}),
	"k0smotron, all of it (config/clusterapi/all)": noPod("k0smotron-controller-manager-x", map[string]string{
		"cluster.x-k8s.io/provider": "k0sproject-k0smotron", "control-plane": "controller-manager",
	}),
	"k0smotron as control plane provider (config/clusterapi/controlplane)": noPod("k0smotron-controller-manager-control-plane-x", map[string]string{
		"control-plane": "controller-manager",
	}),
	"k0smotron as bootstrap provider (config/clusterapi/bootstrap)": noPod("k0smotron-controller-manager-bootstrap-x", map[string]string{
		"control-plane": "controller-manager",
	}),
	"HyperShift, a control plane (support/controlplane-component/defaults.go)": noPod("kube-apiserver-x", map[string]string{
		"hypershift.openshift.io/control-plane-component": "kube-apiserver", "hypershift.openshift.io/hosted-control-plane": "clusters-prod",
	}),
	"HyperShift, what is placed beside it (support/controlplane-component/defaults.go)": noPod("cluster-api-x", map[string]string{
		"hypershift.openshift.io/hosted-control-plane": "clusters-prod",
	}),
}
