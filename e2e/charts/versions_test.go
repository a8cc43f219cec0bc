package charts_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// What docs/reference/versions.md says that the charts refuse.

func TestAKubernetesThatIsTooOldIsRefused(t *testing.T) {
	for _, chart := range []string{policies.Chart(), repository.Path("charts", "fairlead")} {
		for version, want := range map[string]string{"v1.29.9": "kubeVersion", "v1.30.0": "", "v1.36.3-gke.100": ""} {
			_, err := helm.Run(t.Context(), "template", chart, "--kube-version", version, "--set", "proxy.http=http://p:1", "--set", "proxy.noProxy=a")
			if want == "" {
				controlplanetest.Require(t, err)
			} else if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", version, err)
			}
		}
	}
}

// Helm knows what an API server serves when it asks one; these lists are as it would find them.
func TestAClusterAPIThatIsTooOldIsRefused(t *testing.T) {
	const v1beta1, v1beta2 = "cluster.x-k8s.io/v1beta1/Cluster", "cluster.x-k8s.io/v1beta2/Cluster"
	for name, test := range map[string]struct {
		served []string
		refuse bool
	}{
		"none yet":         {nil, false},
		"1.10 and older":   {[]string{v1beta1}, true},
		"1.11 and newer":   {[]string{v1beta1, v1beta2}, false},
		"without the old":  {[]string{v1beta2}, false},
		"none at all, yet": {[]string{"v1/Pod"}, false},
	} {
		args := []string{"template", repository.Path("charts", "fairlead"), "--set", "proxy.http=http://p:1"}
		for _, kind := range test.served {
			args = append(args, "--api-versions", kind)
		}
		_, err := helm.Run(t.Context(), args...)
		if refused := err != nil && strings.Contains(err.Error(), "Cluster API 1.11"); refused != test.refuse || !refused && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

const admissionController = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: kyverno-admission-controller, namespace: kyverno}
spec:
  replicas: 0
  selector: {matchLabels: {app: kyverno}}
  template:
    metadata: {labels: {app: kyverno}}
    spec: {containers: [{name: kyverno, image: %q}]}
`

// Some older version serves the kind of the policies as well, and is not the one that they were tested with.
func TestAKyvernoThatIsTooOldIsRefused(t *testing.T) {
	tier.Full(t)
	cp := controlplanetest.Start(t, controlplane.Options{})
	controlplanetest.Require(t, cp.Apply(t.Context(), []byte(mutatingPolicies)))
	t.Setenv("KUBECACHEDIR", t.TempDir())
	for _, test := range []struct {
		image  string
		refuse bool
	}{
		{"", false}, // it has another name, or another namespace
		{"reg.kyverno.io/kyverno/kyverno:v1.18.2", true},
		{"mirror.corp.example:5000/kyverno/kyverno:1.9.0-rc.1@sha256:" + strings.Repeat("0", 64), true},
		{"reg.kyverno.io/kyverno/kyverno:v1.19.0-rc.1", false},
		{"reg.kyverno.io/kyverno/kyverno:v1.19.1", false},
		{"reg.kyverno.io/kyverno/kyverno:v1.20.0", false},
		{"mirror.corp.example:5000/kyverno@sha256:" + strings.Repeat("0", 64), false},
		{"mirror.corp.example/kyverno:latest", false},
	} {
		if test.image != "" {
			controlplanetest.Require(t, cp.Apply(t.Context(), fmt.Appendf([]byte("{apiVersion: v1, kind: Namespace, metadata: {name: kyverno}}\n---"), admissionController, test.image)))
		}
		_, err := helm.Run(t.Context(), "install", policies.Release, policies.Chart(), "--kubeconfig", cp.AdminKubeconfig(), "--dry-run=server",
			"--namespace", policies.Namespace, "--create-namespace", "--set", "engine=Kyverno", "--set", "audit.enabled=false")
		if refused := err != nil && strings.Contains(err.Error(), "Kyverno 1.19"); refused != test.refuse || !refused && err != nil {
			t.Errorf("%s: %v", test.image, err)
		}
	}
}

const mutatingPolicies = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: mutatingpolicies.policies.kyverno.io}
spec:
  group: policies.kyverno.io
  names: {kind: MutatingPolicy, plural: mutatingpolicies}
  scope: Cluster
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`
