package tunnels_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// ocmSite has the managed cluster in corp, and the hub in internet: a real API server, proxy server and user server.
type ocmSite struct {
	*site
}

const userServer = "cluster-proxy-addon-user." + hubNamespace + ".svc"

// ocmSite is without the hub's servers.
func (c *cluster) ocmSite(t *testing.T, namespace string) *ocmSite {
	t.Helper()
	s := &ocmSite{site: c.site(t, "open-cluster-management-"+namespace, 8091, 8090, 6443)}
	// The image of v0.10.0 has the agent and server of apiserver-network-proxy 0.30.2 (its cmd/Dockerfile); 0.31.4 is the
	// nearest here, with the same dialer.
	for command, tool := range map[string]tools.Tool{
		"/proxy-agent": tools.ANPAgent031, "/agent": tools.ClusterProxyAddonAgent, "/cluster-proxy": tools.ClusterProxy,
	} {
		s.node.Programs[command] = controlplanetest.Tool(t, tool)
	}
	hosts, err := os.OpenFile(s.network.Path("/etc/hosts"), os.O_APPEND|os.O_WRONLY, 0)
	controlplanetest.Require(t, err)
	_, err = fmt.Fprintln(hosts, machine.ServiceAddress, "kubernetes.default.svc")
	controlplanetest.Require(t, errors.Join(err, hosts.Close()))
	s.serveAPI(t)
	s.bridge(t, machine.Internet, machine.HubAddress+":6443", c.hub)
	s.ask = s.reach
	return s
}

// startHub runs the hub's proxy server with the arguments of pkg/proxyserver/controllers/manifests.go, and its user server with
// those of charts/cluster-proxy/templates/user-deployment.yaml.
func (s *ocmSite) startHub(t *testing.T) {
	t.Helper()
	ca, certificate, key := s.issue(t, machine.HubName, "localhost")
	s.start(t, machine.Internet, "", process.Spec{Name: "proxy-server", Path: controlplanetest.Tool(t, tools.ANPServer031), Args: []string{
		"--server-count=1", "--proxy-strategies=destHost",
		"--server-ca-cert=" + ca, "--server-cert=" + certificate, "--server-key=" + key,
		"--cluster-ca-cert=" + ca, "--cluster-cert=" + certificate, "--cluster-key=" + key,
	}})
	hub := s.hub.Admin()
	hub.Host = "https://" + machine.HubAddress + ":6443"
	kubeconfig, err := s.hub.Kubeconfig(hub)
	controlplanetest.Require(t, err)
	_, clientCertificate, clientKey := s.issue(t, "user-server")
	_, certificate, key = s.issue(t, userServer)
	s.start(t, machine.Internet, "", process.Spec{
		Name: "user-server", Env: []string{"KUBECONFIG=" + kubeconfig}, Path: s.node.Programs["/cluster-proxy"], Args: []string{
			"user-server", "--host=localhost", "--port=8090", "--proxy-ca-cert=" + ca, "--proxy-cert=" + clientCertificate, "--proxy-key=" + clientKey,
			"--server-port=9092", "--server-cert=" + certificate, "--server-key=" + key, "--service-proxy-ca-cert=" + ca,
			"--agent-install-namespace=open-cluster-management-agent-addon",
		},
	})
}

// get asks the user server, as somebody on the hub. What the answer is, if it is not 200, is the error.
func (s *ocmSite) get(ctx context.Context, path string, headers ...string) (string, error) {
	dial := s.dial(machine.Internet, machine.HubAddress+":9092")
	status, body, err := get(ctx, dial, &tls.Config{RootCAs: s.authority.Pool()}, "https://"+userServer+":9092/"+managed+path, headers...)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%d: %s", status, body)
	}
	return body, err
}

// reach asks for something of the managed cluster, by a path that was never asked for.
func (s *ocmSite) reach(ctx context.Context) error {
	nonce := rand.Text()
	body, err := s.get(ctx, "/api/v1/namespaces/shop/services/http:web:80/proxy-service/"+nonce)
	return expect(nonce, body, err)
}

// checkHubUser: service-proxy has somebody's token reviewed, first by its own cluster and then by the hub. Who is of
// the hub alone reads what they may of the managed cluster.
func (s *ocmSite) checkHubUser(t *testing.T) error {
	t.Helper()
	visitor, err := s.hub.ServiceAccount(t.Context(), "default", "visitor")
	controlplanetest.Require(t, err)
	body, err := s.get(t.Context(), "/api/v1/namespaces/default/configmaps/greeting", "Authorization", "Bearer "+visitor.BearerToken)
	if err == nil && !strings.Contains(body, "hello from the spoke") {
		err = fmt.Errorf("the answer is %s", body)
	}
	return err
}

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

// chartValues returns the values that the addon manager gives its chart (pkg/proxyagent/agent: agent.go,
// GetClusterProxyValueFunc; additional_values.go), with an entrypoint of type Hostname.
func (s *ocmSite) chartValues(t *testing.T) map[string]any {
	t.Helper()
	certificate, key, err := s.authority.Issue(serviceProxyHost(managed))
	controlplanetest.Require(t, err)
	return map[string]any{
		"clusterName": managed, "includeNamespaceCreation": true,
		"registry": "quay.io/open-cluster-management", "image": "cluster-proxy", "tag": "v0.10.0",
		"proxyAgentImage":   "quay.io/open-cluster-management/cluster-proxy:v0.10.0",
		"serviceEntryPoint": machine.HubName, "serviceEntryPointPort": 8091, "serviceDomain": "svc.cluster.local",
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
func (s *ocmSite) agent(t *testing.T, more ...any) []byte {
	t.Helper()
	dir, err := tools.ModuleDir(t.Context(), tools.ClusterProxy.Module, "open-cluster-management.io/cluster-proxy")
	controlplanetest.Require(t, err)
	chart := filepath.Join(dir, "pkg/proxyagent/agent/manifests/charts/addon-agent")
	manifest, err := helm.Template(t.Context(), helm.Release{
		Chart: chart, Name: "cluster-proxy", Namespace: s.namespace, Values: append([]any{s.chartValues(t)}, more...),
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
	kubeconfig := controlplanetest.ReadFile(t, file)
	controlplanetest.Require(t, s.cp.Apply(t.Context(), manifest))
	controlplanetest.Require(t, policies.Serve(t.Context(), s.cp, s.namespace))
	s.put(t, s.namespace, "cluster-proxy-open-cluster-management.io-proxy-agent-signer-client-cert", map[string][]byte{"tls.crt": certificate, "tls.key": key})
	s.put(t, s.namespace, "cluster-proxy-hub-kubeconfig", map[string][]byte{"kubeconfig": kubeconfig})
	s.putConfig(t, s.namespace, "kube-root-ca.crt", map[string]string{"ca.crt": string(s.cp.Admin().CAData)})
	s.setSecret(t, s.namespace, plainURL(credential))
}
