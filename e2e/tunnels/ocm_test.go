package tunnels_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/command"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// ocmEnvironment is Open Cluster Management's cluster-proxy: the pod of the chart that its addon manager has inside, and the
// real programs of its three containers.
func ocmEnvironment(t *testing.T, c *cluster, by engine) {
	s := c.ocmSite(t, map[engine]string{byKyverno: "kyverno", byMutate: "mutate"}[by])
	s.startHub(t)
	var more []any
	if by == byMutate {
		more = []any{proxyConfig(t)}
	}
	manifest := s.agent(t, more...)
	pod := c.as(t, by, s.namespace, manifest)
	if !tier.Short() && by == byKyverno {
		s.checkOutside(t, c.excluded(t, s.namespace, podOf(t, manifest)))
		s.checkPassword(t, pod, "407 Proxy Authentication Required")
	}
	s.run(t, pod)
	s.awaitTunnel(t)
	s.checkRestart(t)
	if err := s.checkHubUser(t); err != nil {
		t.Errorf("somebody of the hub: %v", err)
	}
	want := []machine.Request{granted(hubAPI), granted(s.target)}
	if !tier.Short() && by == byKyverno {
		s.checkIdle(t)
		want = append(want, refused(s.target))
	}
	s.checkAsked(t, want...)
}

// ocmAlone: AddOnDeploymentConfig does not reach service-proxy.
func ocmAlone(t *testing.T, c *cluster) {
	s := c.ocmSite(t, "alone")
	s.startHub(t)
	manifest := s.agent(t, proxyConfig(t, "--with-credentials"))
	s.run(t, c.excluded(t, s.namespace, podOf(t, manifest)))
	s.awaitTunnel(t)
	if err := s.checkHubUser(t); err == nil || !strings.Contains(err.Error(), "hub cluster auth error") {
		t.Errorf("somebody of the hub is known: %v", err)
	}
	s.checkAsked(t, granted(s.target))
}

// capiCluster is what the managed cluster is to Cluster API.
const capiCluster = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: "4711", namespace: org-acme}
spec:
  clusterNetwork: {services: {cidrBlocks: [100.64.0.0/13]}, pods: {cidrBlocks: [100.96.0.0/11]}}
  controlPlaneEndpoint: {host: 178.170.32.59, port: 6443}
`

// addOnDeploymentConfig returns the output of fairlead render for the company's proxy and the managed cluster.
func addOnDeploymentConfig(t *testing.T, flags ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	values, object := filepath.Join(dir, "values.yaml"), filepath.Join(dir, "cluster.yaml")
	settings := map[string]any{"proxy": map[string]string{"http": plainURL(credential), "https": plainURL(credential), "noProxy": "corp.example"}}
	controlplanetest.Require(t, os.WriteFile(values, manifestOf(t, settings), 0o600))
	controlplanetest.Require(t, os.WriteFile(object, []byte(capiCluster), 0o600))
	return command.Output(t, nil, append([]string{"render", "--values", values, "--cluster", object, "-o", "addondeploymentconfig"}, flags...)...)
}

// proxyConfig are the values that the addon manager makes of an AddOnDeploymentConfig (pkg/proxyagent/agent/agent.go,
// toAgentAddOnChartValues).
func proxyConfig(t *testing.T, flags ...string) any {
	t.Helper()
	var c struct {
		Spec struct {
			ProxyConfig struct{ HTTPProxy, HTTPSProxy, NoProxy string }
		}
	}
	controlplanetest.Require(t, yaml.Unmarshal(addOnDeploymentConfig(t, flags...), &c))
	given := c.Spec.ProxyConfig
	return map[string]any{"proxyConfig": map[string]string{"HTTP_PROXY": given.HTTPProxy, "HTTPS_PROXY": given.HTTPSProxy, "NO_PROXY": given.NoProxy}}
}

// ocmConfig: the real CRD, and a strict API server: a field that it does not know would be refused.
func ocmConfig(t *testing.T, c *cluster) {
	controlplanetest.Require(t, c.hub.Install(t.Context(), controlplane.Content{Name: "AddOnDeploymentConfig", Read: controlplane.FromModule(
		tools.ClusterProxy.Module, "open-cluster-management.io/api",
		"addon/v1alpha1/0000_02_addon.open-cluster-management.io_addondeploymentconfigs.crd.yaml",
	)}))
	hub := client.WithFieldValidation(controlplanetest.Client(t, c.hub.Admin(), nil), "Strict")

	object := &unstructured.Unstructured{}
	controlplanetest.Require(t, yaml.Unmarshal(addOnDeploymentConfig(t), object))
	controlplanetest.Require(t, hub.Create(t.Context(), object.DeepCopy()))
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(schema.GroupVersionKind{Group: "addon.open-cluster-management.io", Version: "v1alpha1", Kind: "AddOnDeploymentConfig"})
	controlplanetest.Require(t, hub.Get(t.Context(), client.ObjectKey{Namespace: managed, Name: "fairlead-proxy"}, stored))
	if diff := gocmp.Diff(object.Object["spec"], stored.Object["spec"]); diff != "" {
		t.Errorf("the hub has something else (-printed +stored):\n%s", diff)
	}
	if text, err := yaml.Marshal(stored); err != nil || strings.Contains(string(text), "p%40ss") {
		t.Errorf("the password is in it (%v)", err)
	}
}
