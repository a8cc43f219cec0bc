package tunnels_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// The managed cluster. A name that is a number in YAML is a name all the same.
const (
	managed      = "4711"
	hubNamespace = "open-cluster-management-addon"
	hubAPI       = machine.HubName + ":6443" // kube-apiserver
)

// newHub is a hub of Open Cluster Management, some of whose users may see something of the spoke.
func newHub(t *testing.T, spoke *controlplane.ControlPlane) *controlplane.ControlPlane {
	t.Helper()
	hub := controlplanetest.Start(t, controlplane.Options{Hosts: []string{machine.HubName, machine.HubAddress}})
	controlplanetest.Require(t, hub.Apply(t.Context(), []byte(hubObjects)))
	controlplanetest.Require(t, spoke.Apply(t.Context(), []byte(spokeObjects)))
	return hub
}

// What the addon manager gives the agent on the hub (pkg/proxyagent/agent/agent.go, WithStaticRole and
// WithStaticClusterRole), and somebody on the hub who may see the managed cluster.
const hubObjects = `
apiVersion: v1
kind: Namespace
metadata: {name: "4711"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: cluster-proxy-addon-agent, namespace: "4711"}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: cluster-proxy-addon-agent, namespace: "4711"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: cluster-proxy-addon-agent}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: "open-cluster-management:cluster-proxy"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: cluster-proxy-addon-agent-tokenreview}
rules:
- {apiGroups: [authentication.k8s.io], resources: [tokenreviews], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: cluster-proxy-addon-agent-tokenreview}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-proxy-addon-agent-tokenreview}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: "open-cluster-management:cluster-proxy"}
`

// The service account default/visitor of the hub may read one ConfigMap in the managed cluster.
const spokeObjects = `
apiVersion: v1
kind: ConfigMap
metadata: {name: greeting, namespace: default}
data: {text: hello from the spoke}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: visitor, namespace: default}
rules:
- {apiGroups: [""], resources: [configmaps], resourceNames: [greeting], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: visitor, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: visitor}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: "cluster:hub:system:serviceaccount:default:visitor"}
`

// serviceProxyHost is pkg/util/serviceurl.go, GenerateServiceProxyHost.
func serviceProxyHost(cluster string) string {
	return fmt.Sprintf("cluster-%x", sha256.Sum256([]byte(cluster)))[:64-len("cluster-")] + ".open-cluster-management.proxy"
}

// chartValues are what the addon manager gives its chart (pkg/proxyagent/agent: agent.go, GetClusterProxyValueFunc;
// additional_values.go), with an entrypoint of type Hostname.
func (s *ocmSite) chartValues(t *testing.T, entrypoint string) map[string]any {
	t.Helper()
	certificate, key, err := s.authority.Issue(serviceProxyHost(managed))
	controlplanetest.Require(t, err)
	return map[string]any{
		"clusterName": managed, "includeNamespaceCreation": true,
		"registry": "quay.io/open-cluster-management", "image": "cluster-proxy", "tag": "v0.10.0",
		"proxyAgentImage":   "quay.io/open-cluster-management/cluster-proxy:v0.10.0",
		"serviceEntryPoint": entrypoint, "serviceEntryPointPort": 8091, "serviceDomain": "svc.cluster.local",
		"serviceProxyHost": serviceProxyHost(managed), "agentIdentifiers": "host=" + serviceProxyHost(managed),
		"addonAgentArgs": []string{
			"--hub-kubeconfig=/etc/kubeconfig/kubeconfig", "--cluster-name=" + managed, "--proxy-server-namespace=" + hubNamespace,
		},
		"base64EncodedCAData":    base64.StdEncoding.EncodeToString(s.authority.PEM()),
		"enableServiceProxy":     true,
		"serviceProxySecretCert": base64.StdEncoding.EncodeToString(certificate),
		"serviceProxySecretKey":  base64.StdEncoding.EncodeToString(key),
	}
}

// agent installs the addon's chart in the site's namespace, with what the hub and the registration agent add to it, and
// returns the pod that the Deployment asks for. More values, each over the one before, are the hub's.
func (s *ocmSite) agent(t *testing.T, entrypoint string, more ...any) []byte {
	t.Helper()
	chart := filepath.Join(t.TempDir(), "chart")
	if output, err := exec.CommandContext(t.Context(), build(t, tools.ClusterProxyChart), chart).CombinedOutput(); err != nil {
		t.Fatalf("write the chart: %v\n%s", err, output)
	}
	manifest, err := helm.Template(t.Context(), helm.Release{
		Chart: chart, Name: "cluster-proxy", Namespace: s.namespace, Values: append([]any{s.chartValues(t, entrypoint)}, more...),
	})
	controlplanetest.Require(t, err)
	s.secrets(t, manifest)
	return manifestOf(t, podOf(t, manifest, "cluster-proxy-proxy-agent"))
}

// secrets are those that the chart does not bring: of the registration agent, which has them signed on the hub, of the
// controller manager, for the volume of the pods' tokens, and of the replicator.
func (s *ocmSite) secrets(t *testing.T, manifest []byte) {
	t.Helper()
	certificate, key, err := s.authority.Issue("proxy-agent")
	controlplanetest.Require(t, err)
	hub, err := s.hub.User("open-cluster-management:cluster-proxy:addon-agent", "open-cluster-management:cluster-proxy")
	controlplanetest.Require(t, err)
	hub.Host = "https://" + hubAPI
	file, err := s.hub.Kubeconfig(hub)
	controlplanetest.Require(t, err)
	kubeconfig, err := os.ReadFile(file)
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, s.cp.Apply(t.Context(), manifest))
	controlplanetest.Require(t, policies.Serve(t.Context(), s.cp, s.namespace))
	s.put(t, s.namespace, "cluster-proxy-open-cluster-management.io-proxy-agent-signer-client-cert", map[string][]byte{"tls.crt": certificate, "tls.key": key})
	s.put(t, s.namespace, "cluster-proxy-hub-kubeconfig", map[string][]byte{"kubeconfig": kubeconfig})
	s.putConfig(t, s.namespace, "kube-root-ca.crt", map[string]string{"ca.crt": string(s.cp.Admin().CAData)})
	s.setSecret(t, s.namespace, plainURL(credential))
}

// userServerPod is that of the hub's chart, with what it mounts.
func (s *ocmSite) userServerPod(t *testing.T) *corev1.Pod {
	t.Helper()
	dir, err := tools.ModuleDir(t.Context(), tools.ClusterProxy.Module, "open-cluster-management.io/cluster-proxy")
	controlplanetest.Require(t, err)
	manifest, err := helm.Template(t.Context(), helm.Release{
		Chart: filepath.Join(dir, "charts", "cluster-proxy"), Name: "cluster-proxy", Namespace: hubNamespace,
		Values: []any{map[string]any{"enableServiceProxy": true, "userServer": map[string]any{"enabled": true}}},
	})
	controlplanetest.Require(t, err)
	account := "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: cluster-proxy, namespace: " + hubNamespace + "}\n"
	controlplanetest.Require(t, policies.Serve(t.Context(), s.cp, hubNamespace))
	controlplanetest.Require(t, s.cp.Apply(t.Context(), []byte(account)))
	s.putConfig(t, hubNamespace, "kube-root-ca.crt", map[string]string{"ca.crt": string(s.cp.Admin().CAData)})
	for name, host := range map[string]string{"cluster-proxy-user-serving-cert": userServer, "proxy-client": "proxy-client"} {
		certificate, key, err := s.authority.Issue(host)
		controlplanetest.Require(t, err)
		s.put(t, hubNamespace, name, map[string][]byte{"tls.crt": certificate, "tls.key": key})
	}
	s.put(t, hubNamespace, "proxy-server-ca", map[string][]byte{"ca.crt": s.authority.PEM()})
	pod := podOf(t, manifest, "cluster-proxy-addon-user")
	pod.Labels["policies.kyverno.io/inject-proxy-env"] = "include" // as all pods are where the chart's optIn is false
	return pod
}
