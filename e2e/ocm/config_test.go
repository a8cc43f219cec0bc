package ocm_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// capiCluster is what the managed cluster is to Cluster API.
const capiCluster = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: "4711", namespace: org-acme}
spec:
  clusterNetwork: {services: {cidrBlocks: [100.64.0.0/13]}, pods: {cidrBlocks: [100.96.0.0/11]}}
  controlPlaneEndpoint: {host: 178.170.32.59, port: 6443}
`

// addOnDeploymentConfig is what fairlead render prints for the company's proxy and the managed cluster.
func addOnDeploymentConfig(t *testing.T, flags ...string) []byte {
	t.Helper()
	proxy := "http://" + userinfo + "@" + proxyAddress
	settings, err := yaml.Marshal(map[string]any{"proxy": map[string]string{"http": proxy, "https": proxy, "noProxy": "corp.example"}})
	controlplanetest.Require(t, err)
	return fairlead(t, append([]string{
		"render", "--values", file(t, string(settings)), "--cluster", file(t, capiCluster), "-o", "addondeploymentconfig",
	}, flags...)...)
}

// fairlead runs the built program. It may warn.
func fairlead(t *testing.T, args ...string) []byte {
	t.Helper()
	program, err := tools.Program(t.Context(), "fairlead")
	controlplanetest.Require(t, err)
	var complaints bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stderr = &complaints
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("fairlead %s: %v\n%s", args[0], err, &complaints)
	}
	return output
}

func file(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file.yaml")
	controlplanetest.Require(t, os.WriteFile(name, []byte(content), 0o600))
	return name
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

// The real CRD, and a strict API server: a field that it does not know would be refused.
func TestAHubTakesTheAddOnDeploymentConfig(t *testing.T) {
	tier.Full(t)
	f := sharedFleet(t)
	t.Parallel()
	dir, err := tools.ModuleDir(t.Context(), tools.ClusterProxy.Module, "open-cluster-management.io/api")
	controlplanetest.Require(t, err)
	crd, err := os.ReadFile(filepath.Join(dir, "addon", "v1alpha1", "0000_02_addon.open-cluster-management.io_addondeploymentconfigs.crd.yaml"))
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, f.hub.Apply(t.Context(), crd))
	hub, err := client.New(f.hub.Admin(), client.Options{})
	controlplanetest.Require(t, err)
	hub = client.WithFieldValidation(hub, "Strict")

	object := &unstructured.Unstructured{}
	controlplanetest.Require(t, yaml.Unmarshal(addOnDeploymentConfig(t), object))
	controlplanetest.Require(t, hub.Create(t.Context(), object.DeepCopy()))
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(schema.GroupVersionKind{Group: "addon.open-cluster-management.io", Version: "v1alpha1", Kind: "AddOnDeploymentConfig"})
	controlplanetest.Require(t, hub.Get(t.Context(), client.ObjectKey{Namespace: cluster, Name: "fairlead-proxy"}, stored))
	if diff := cmp.Diff(object.Object["spec"], stored.Object["spec"]); diff != "" {
		t.Errorf("the hub has something else (-printed +stored):\n%s", diff)
	}
	if text, err := yaml.Marshal(stored); err != nil || strings.Contains(string(text), "p%40ss") {
		t.Errorf("the password is in it (%v)", err)
	}

	wrong := object.DeepCopy() // the instrument: the API server would have said so
	wrong.SetName("wrong")
	controlplanetest.Require(t, unstructured.SetNestedField(wrong.Object, "x", "spec", "proxyConfig", "proxy"))
	if err := hub.Create(t.Context(), wrong); !apierrors.IsBadRequest(err) {
		t.Errorf("an unknown field: %v", err)
	}
	moved := object.DeepCopy() // why agentInstallNamespace is there
	moved.SetName("moved")
	unstructured.RemoveNestedField(moved.Object, "spec", "agentInstallNamespace")
	controlplanetest.Require(t, hub.Create(t.Context(), moved))
	if namespace, _, _ := unstructured.NestedString(moved.Object, "spec", "agentInstallNamespace"); namespace != "open-cluster-management-agent-addon" {
		t.Errorf("without a namespace the agent is installed in %q", namespace)
	}
}
