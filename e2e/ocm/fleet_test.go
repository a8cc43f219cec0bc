package ocm_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8") // they wait more than they work; -parallel says otherwise
	controlplanetest.Main(m)
}

// The managed cluster. A name that is a number in YAML is a name all the same.
const (
	cluster      = "4711"
	hubNamespace = "open-cluster-management-addon"
)

// Who squid lets through.
const (
	user     = "spoke@corp.example"
	password = `p@ss:/$(HOME)`
	userinfo = `spoke%40corp.example:p%40ss%3A%2F$(HOME)`
)

// fleet is what the tests share: a hub, and a managed cluster with Kyverno and the policies.
type fleet struct {
	hub, spoke *controlplane.ControlPlane
	authority  *machine.Authority // the addon manager's signer
	programs   map[string]string
	anpServer  string
}

var shared struct {
	sync.Once
	*fleet
	err error
}

// sharedFleet starts it for the first test that asks.
func sharedFleet(t *testing.T) *fleet {
	t.Helper()
	shared.Do(func() { shared.fleet, shared.err = newFleet(context.Background()) })
	controlplanetest.Require(t, shared.err)
	return shared.fleet
}

func newFleet(ctx context.Context) (*fleet, error) {
	f := &fleet{}
	if err := f.build(ctx); err != nil {
		return nil, err
	}
	var err error
	if f.authority, err = machine.NewAuthority("proxy-agent-signer"); err != nil {
		return nil, err
	}
	for _, start := range []struct {
		cp      **controlplane.ControlPlane
		options controlplane.Options
	}{
		{&f.hub, controlplane.Options{Hosts: []string{machine.HubName, machine.HubAddress}}},
		{&f.spoke, controlplane.Options{Hosts: []string{machine.ServiceAddress}, Content: kyverno.Content}},
	} {
		start.options.Progress = os.Stderr
		if *start.cp, err = controlplane.Start(ctx, start.options); err != nil {
			return nil, err
		}
		controlplanetest.Keep(*start.cp)
	}
	if err := f.hub.Apply(ctx, []byte(hubObjects)); err != nil {
		return nil, err
	}
	if err := f.spoke.Apply(ctx, []byte(spokeObjects)); err != nil {
		return nil, err
	}
	return f, f.installPolicies(ctx)
}

// build makes the programs. The image of v0.10.0 has the agent and server of apiserver-network-proxy 0.30.2 (its
// cmd/Dockerfile); 0.31.4 is the nearest here, with the same dialer.
func (f *fleet) build(ctx context.Context) error {
	f.programs = map[string]string{}
	for command, tool := range map[string]tools.Tool{
		"/proxy-agent": tools.ANPAgent031, "/agent": tools.ClusterProxyAddonAgent, "/cluster-proxy": tools.ClusterProxy,
		"server": tools.ANPServer031, "test-client": tools.ANPTestClient034, "chart": tools.ClusterProxyChart,
	} {
		path, err := tools.Build(ctx, tool, os.Stderr)
		if err != nil {
			return err
		}
		f.programs[command] = path
	}
	f.anpServer = f.programs["server"]
	return nil
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

// installPolicies: the tunnels' own are to do it. inject-proxy-env has only those that ask for it.
func (f *fleet) installPolicies(ctx context.Context) error {
	k, err := kyverno.Start(ctx, f.spoke, kyverno.Options{Progress: os.Stderr})
	if err != nil {
		return err
	}
	if err := policies.Install(ctx, f.spoke, policyValues()); err != nil {
		return err
	}
	for _, policy := range []string{"tunnel-environment-component-name-af473853", policies.InjectProxyEnv, "mark-new-namespaces"} {
		if err := k.Await(ctx, policy); err != nil {
			return err
		}
	}
	return policies.Serve(ctx, f.spoke, addonNamespace)
}

// policyValues are those of charts/fairlead-policies.
func policyValues() map[string]any {
	proxy := "http://" + userinfo + "@" + proxyAddress
	return map[string]any{"optIn": true, "proxy": map[string]any{
		"http": proxy, "https": proxy,
		"noProxy": []string{"100.64.0.0/13", "127.0.0.1", "localhost", ".svc", ".cluster.local"},
	}}
}

// serviceProxyHost is pkg/util/serviceurl.go, GenerateServiceProxyHost.
func serviceProxyHost(cluster string) string {
	return fmt.Sprintf("cluster-%x", sha256.Sum256([]byte(cluster)))[:64-len("cluster-")] + ".open-cluster-management.proxy"
}

// values are what the addon manager gives its chart (pkg/proxyagent/agent: agent.go, GetClusterProxyValueFunc;
// additional_values.go), with an entrypoint of type Hostname.
func (f *fleet) values(entrypoint string) (map[string]any, error) {
	certificate, key, err := f.authority.Issue(serviceProxyHost(cluster))
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"clusterName": cluster, "includeNamespaceCreation": true,
		"registry": "quay.io/open-cluster-management", "image": "cluster-proxy", "tag": "v0.10.0",
		"proxyAgentImage":   "quay.io/open-cluster-management/cluster-proxy:v0.10.0",
		"serviceEntryPoint": entrypoint, "serviceEntryPointPort": 8091, "serviceDomain": "svc.cluster.local",
		"serviceProxyHost": serviceProxyHost(cluster), "agentIdentifiers": "host=" + serviceProxyHost(cluster),
		"addonAgentArgs": []string{
			"--hub-kubeconfig=/etc/kubeconfig/kubeconfig", "--cluster-name=" + cluster, "--proxy-server-namespace=" + hubNamespace,
		},
		"base64EncodedCAData":    base64.StdEncoding.EncodeToString(f.authority.PEM()),
		"enableServiceProxy":     true,
		"serviceProxySecretCert": base64.StdEncoding.EncodeToString(certificate),
		"serviceProxySecretKey":  base64.StdEncoding.EncodeToString(key),
	}, nil
}

// agent installs the addon's chart in a namespace of a cluster, with what the hub and the registration agent add to
// it, and returns the pod that the Deployment asks for. More values, each over the one before, are the hub's.
func (f *fleet) agent(t *testing.T, cp *controlplane.ControlPlane, namespace, entrypoint string, more ...any) *corev1.Pod {
	t.Helper()
	values, err := f.values(entrypoint)
	controlplanetest.Require(t, err)
	chart := filepath.Join(t.TempDir(), "chart")
	if output, err := exec.CommandContext(t.Context(), f.programs["chart"], chart).CombinedOutput(); err != nil {
		t.Fatalf("write the chart: %v\n%s", err, output)
	}
	manifest, err := helm.Template(t.Context(), helm.Release{Chart: chart, Name: "cluster-proxy", Namespace: namespace, Values: append([]any{values}, more...)})
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, cp.Apply(t.Context(), manifest))
	f.secrets(t, cp, namespace)
	return podOf(t, manifest, namespace, "cluster-proxy-proxy-agent")
}

// podOf is the pod of a Deployment.
func podOf(t *testing.T, manifest []byte, namespace, name string) *corev1.Pod {
	t.Helper()
	for _, document := range strings.Split(string(manifest), "\n---\n") {
		var deployment appsv1.Deployment
		controlplanetest.Require(t, yaml.Unmarshal([]byte(document), &deployment))
		if deployment.Kind == "Deployment" && deployment.Name == name {
			pod := &corev1.Pod{ObjectMeta: deployment.Spec.Template.ObjectMeta, Spec: deployment.Spec.Template.Spec}
			pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
			pod.Namespace, pod.GenerateName = namespace, deployment.Name+"-"
			return pod
		}
	}
	t.Fatalf("the chart has no Deployment %s", name)
	return nil
}

// secrets are those that the chart does not bring: of the registration agent, which has them signed on the hub, of the
// controller manager, and of the replicator.
func (f *fleet) secrets(t *testing.T, cp *controlplane.ControlPlane, namespace string) {
	t.Helper()
	certificate, key, err := f.authority.Issue("proxy-agent")
	controlplanetest.Require(t, err)
	hub, err := f.hub.User("open-cluster-management:cluster-proxy:addon-agent", "open-cluster-management:cluster-proxy")
	controlplanetest.Require(t, err)
	hub.Host = "https://" + hubAPI
	file, err := f.hub.Kubeconfig(hub)
	controlplanetest.Require(t, err)
	kubeconfig, err := os.ReadFile(file)
	controlplanetest.Require(t, err)
	f.put(t, cp, namespace, "cluster-proxy-open-cluster-management.io-proxy-agent-signer-client-cert", map[string][]byte{"tls.crt": certificate, "tls.key": key})
	f.put(t, cp, namespace, "cluster-proxy-hub-kubeconfig", map[string][]byte{"kubeconfig": kubeconfig})
	f.put(t, cp, namespace, policies.Secret, f.variables(t))
	f.rootCA(t, cp, namespace)
}

// rootCA is what the controller manager puts into every namespace, for the volume of the pods' tokens.
func (f *fleet) rootCA(t *testing.T, cp *controlplane.ControlPlane, namespace string) {
	t.Helper()
	rootCA := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kube-root-ca.crt"}, Data: map[string]string{"ca.crt": string(cp.Admin().CAData)}}
	_, err := controlplanetest.Clients(t, cp).CoreV1().ConfigMaps(namespace).Create(t.Context(), rootCA, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
}

// variables are the six that the policies' chart has made.
func (f *fleet) variables(t *testing.T) map[string][]byte {
	t.Helper()
	secret, err := controlplanetest.Clients(t, f.spoke).CoreV1().Secrets(policies.Namespace).Get(t.Context(), policies.Secret, metav1.GetOptions{})
	controlplanetest.Require(t, err)
	return secret.Data
}

func (f *fleet) put(t *testing.T, cp *controlplane.ControlPlane, namespace, name string, data map[string][]byte) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
	_, err := controlplanetest.Clients(t, cp).CoreV1().Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
}

// store creates the pod and returns it as the API server has it then.
func store(t *testing.T, clients kubernetes.Interface, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	created, err := clients.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	return created
}

// unmutated is the same pod with a label by which it is spared.
func unmutated(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.Labels["policies.kyverno.io/inject-proxy-env"] = "exclude"
	return pod
}
