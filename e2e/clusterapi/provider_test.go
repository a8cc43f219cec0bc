package clusterapi_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/tier"
)

// What no CRD can say: without the webhooks each of these would be taken.
func TestEveryProvidersWebhooksAreAsked(t *testing.T) {
	tier.Full(t)
	f := newFleet(t)
	for name, test := range map[string]struct{ manifest, refusal string }{
		"core": {`
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: refused}
spec:
  clusterNetwork: {pods: {cidrBlocks: [100.96.0.0/99]}}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VSphereCluster, name: refused}
`, "invalid CIDR address"},
		"kubeadm bootstrap": {`
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: refused}
spec: {template: {spec: {files: [{path: /twice, content: a}, {path: /twice, content: b}]}}}
`, "path property must be unique"},
		"kubeadm control plane": {`
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: refused}
spec:
  replicas: 2
  version: v1.36.3
  kubeadmConfigSpec: {verbosity: 1}
  machineTemplate:
    spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VSphereMachineTemplate, name: refused}}
`, "cannot be an even number"},
	} {
		object := &unstructured.Unstructured{}
		f.must(yaml.Unmarshal([]byte(test.manifest), &object.Object))
		if err := f.create(object); err == nil || !strings.Contains(err.Error(), "admission webhook") || !strings.Contains(err.Error(), test.refusal) {
			t.Errorf("%s: %v, want: %s", name, err, test.refusal)
		}
	}
}
