package tunnels_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// ocmEnvironment is Open Cluster Management's cluster-proxy: the pod of the chart that its addon manager has inside, and the
// real programs of its three containers.
func ocmEnvironment(t *testing.T, c *cluster, by engine) {
	s := c.ocmSite(t, map[engine]string{byKyverno: "kyverno", byMutate: "mutate"}[by], machine.SquidOptions{})
	s.startHub(t)
	var more []any
	if by == byMutate {
		more = []any{proxyConfig(t)}
	}
	manifest := s.agent(t, machine.HubName, more...)
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
	s.checkGRPC(t)
	want := []machine.Request{granted(hubAPI), granted(s.target)}
	if !tier.Short() && by == byKyverno {
		s.checkIdle(t)
		want = append(want, refused(s.target))
	}
	s.checkAsked(t, want...)
	// Where the managed cluster has Leases, that is where addon-agent renews its own, and not through the proxy.
	if _, err := lease(t, c.cp, s.namespace); err != nil {
		t.Errorf("the lease on the spoke: %v", err)
	}
}

// ocmSidecar: all three containers leave by the sidecar, through a proxy that speaks TLS, too, and none has the password.
func ocmSidecar(t *testing.T, c *cluster, _ engine) {
	c.throughBoth(t, func(t *testing.T, url func(string) string) {
		scheme, _, _ := strings.Cut(url(credential), ":")
		s := c.ocmSite(t, "sidecar-"+scheme, machine.SquidOptions{})
		s.startHub(t)
		manifest := s.agent(t, machine.HubName, proxyConfig(t))
		s.setSecret(t, s.namespace, url(credential))
		s.putConfig(t, s.namespace, policies.TrustedCA, map[string]string{"ca.crt": string(c.authority.PEM())})
		pod := c.printed(t, s.namespace, manifest, map[string]any{
			"optIn": true, "proxy": proxyValues(plainURL(credential)),
			"tunnels": map[string]any{"families": map[string]any{"cluster-proxy": map[string]any{"through": "Sidecar"}}},
		})
		s.run(t, pod)
		s.awaitTunnel(t)
		if err := s.checkHubUser(t); err != nil {
			t.Errorf("somebody of the hub: %v", err)
		}
		s.checkSecrecy(t, pod)
		s.checkAsked(t, granted(hubAPI), granted(s.target))
	})
}

// ocmHub: a hub in the company's network is a cluster whose pods get the variables like others. What its clients of the tunnel
// dial is in the hub, and so is the agent of the hub's own cluster: squid must not be asked. The pod of the user server
// is stored where the policies are, and runs in corp with the proxy server and that agent. service-proxy and the user
// server want the same port 8000, and all containers here share one network: the test itself answers for
// service-proxy.
func ocmHub(t *testing.T, c *cluster, _ engine) {
	s := c.ocmSite(t, "hub", machine.SquidOptions{Hosts: map[string]string{entrypoint: machine.HubAddress}}) // where nobody is
	s.users = s.userServerAt(machine.Corp, machine.CorpAddress)
	s.name(t, machine.CorpAddress, entrypoint+" "+entrypoint+".svc")
	s.startProxyServer(t, machine.Corp)
	s.standInForServiceProxy(t)
	template := s.userServerPod(t)
	agent := c.as(t, byKyverno, s.namespace, s.agent(t, entrypoint))

	c.setSecret(t, hubNamespace, plainURL(credential))
	s.run(t, c.stored(t, hubNamespace, withHost(template, entrypoint)), "user-server")
	s.checkAsksSquid(t, entrypoint+":8090") // .svc does not cover the name
	s.stop(t)

	before := s.asked(t)
	for _, namespace := range []string{hubNamespace, s.namespace} {
		c.put(t, namespace, policies.Secret, c.hubVariables(t))
	}
	_ = s.runContainer(t, agent, "proxy-agent")
	for _, host := range []string{entrypoint, entrypoint + ".svc"} {
		s.run(t, c.stored(t, hubNamespace, withHost(template, host)), "user-server")
		s.awaitTunnel(t)
		s.stop(t)
	}
	if after := s.asked(t); after != before {
		t.Errorf("squid was asked %d times more", after-before)
	}
}

// checkAsksSquid: the user server goes there through squid, for whom nobody is there.
func (s *ocmSite) checkAsksSquid(t *testing.T, to string) {
	t.Helper()
	unreachable := granted(to)
	unreachable.Status = 503
	controlplanetest.Await(t, "squid to be asked for "+to, func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if err := s.ask(ctx); err == nil {
			t.Error("the user server reaches the agent")
		}
		return controlplanetest.Holds(s.asked(t, unreachable) > 0, "no tunnel has ended")
	})
	s.checkAsked(t, unreachable)
}

// entrypoint is the default for agents that are in the hub itself. With .svc it is what the hub's chart gives the user server.
const entrypoint = "proxy-entrypoint." + hubNamespace

// withHost names the proxy server to the user server.
func withHost(pod *corev1.Pod, host string) *corev1.Pod {
	pod = pod.DeepCopy()
	for _, c := range pod.Spec.Containers {
		for i, arg := range c.Args {
			if strings.HasPrefix(arg, "--host=") {
				c.Args[i] = "--host=" + host
			}
		}
	}
	return pod
}

// hubVariables are the six of a chart whose values say that this is a management cluster.
func (c *cluster) hubVariables(t *testing.T) map[string][]byte {
	t.Helper()
	manifest, err := policies.Render(t.Context(), c.values, map[string]any{
		"managementCluster": map[string]any{"enabled": true, "endpointRanges": []string{machine.EndpointAddress}},
	})
	controlplanetest.Require(t, err)
	for _, document := range strings.Split(string(manifest), "\n---\n") {
		var secret corev1.Secret
		if err := yaml.Unmarshal([]byte(document), &secret); err == nil && secret.Kind == "Secret" {
			return secret.Data
		}
	}
	t.Fatal("the chart has no Secret")
	return nil
}

func lease(t *testing.T, cp *controlplane.ControlPlane, namespace string) (time.Time, error) {
	t.Helper()
	lease, err := controlplanetest.Clients(t, cp).CoordinationV1().Leases(namespace).Get(t.Context(), "cluster-proxy", metav1.GetOptions{})
	if err != nil {
		return time.Time{}, err
	}
	return lease.Spec.RenewTime.Time, nil
}

// ocmLease: the lease is on the hub where the managed cluster has none (addon-framework, pkg/lease/lease_controller.go).
func ocmLease(t *testing.T, c *cluster) {
	// An API server that has no Lease.
	old := *c
	old.cp = controlplanetest.Start(t, controlplane.Options{
		Hosts: []string{machine.ServiceAddress}, APIServerArgs: []string{"--runtime-config=coordination.k8s.io/v1=false"},
	})
	old.clients = controlplanetest.Clients(t, old.cp)
	s := old.ocmSite(t, "old", machine.SquidOptions{})
	s.agent(t, machine.HubName)
	at := &ocmSite{site: &site{cluster: c, namespace: s.namespace}} // where the policies are
	manifest := at.agent(t, machine.HubName, proxyConfig(t, "--with-credentials"))

	s.run(t, c.excluded(t, s.namespace, podOf(t, manifest)), "addon-agent")
	s.awaitSaid(t, "Failed to update lease")
	s.stop(t)
	if renewed, err := lease(t, c.hub, managed); !apierrors.IsNotFound(err) {
		t.Errorf("with AddOnDeploymentConfig alone: renewed %s (%v)", renewed, err)
	}
	if asked := s.asked(t); asked != 0 {
		t.Errorf("squid was asked %d times", asked)
	}

	pod := c.stored(t, s.namespace, podOf(t, manifest))
	var before time.Time
	for _, when := range []string{"made", "renewed"} {
		s.run(t, pod, "addon-agent")
		controlplanetest.Await(t, "the lease to be "+when, func(context.Context) (bool, error) {
			renewed, err := lease(t, c.hub, managed)
			if err != nil || !renewed.After(before) {
				return false, err
			}
			before = renewed
			return true, nil
		})
	}
	s.checkAsked(t, granted(hubAPI))
}

// ocmAlone: AddOnDeploymentConfig does not reach service-proxy.
func ocmAlone(t *testing.T, c *cluster) {
	s := c.ocmSite(t, "alone", machine.SquidOptions{})
	s.startHub(t)
	manifest := s.agent(t, machine.HubName, proxyConfig(t, "--with-credentials"))
	s.run(t, c.excluded(t, s.namespace, podOf(t, manifest)))
	s.awaitTunnel(t)
	if err := s.checkHubUser(t); err == nil || !strings.Contains(err.Error(), "hub cluster auth error") {
		t.Errorf("somebody of the hub is known: %v", err)
	}
	s.checkAsked(t, granted(s.target))
}

// ocmBoth: many may read an AddOnDeploymentConfig: it has no password. The policy puts the one with it in its place.
func ocmBoth(t *testing.T, c *cluster) {
	s := c.ocmSite(t, "both", machine.SquidOptions{})
	s.startHub(t)
	manifest := s.agent(t, machine.HubName, proxyConfig(t))
	anonymous := refused(s.target)
	anonymous.User = "-"
	s.run(t, c.excluded(t, s.namespace, podOf(t, manifest)), "proxy-agent", "service-proxy")
	s.awaitSaid(t, "407 Proxy Authentication Required")
	s.checkNoTunnel(t, "without a password")
	s.checkAsked(t, anonymous)

	s.run(t, c.stored(t, s.namespace, podOf(t, manifest)))
	s.awaitTunnel(t)
	if err := s.checkHubUser(t); err != nil {
		t.Errorf("somebody of the hub: %v", err)
	}
	s.checkAsked(t, anonymous, granted(hubAPI), granted(s.target))
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

// addOnDeploymentConfig is what fairlead render prints for the company's proxy and the managed cluster.
func addOnDeploymentConfig(t *testing.T, flags ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	values, object := filepath.Join(dir, "values.yaml"), filepath.Join(dir, "cluster.yaml")
	settings := map[string]any{"proxy": map[string]string{"http": plainURL(credential), "https": plainURL(credential), "noProxy": "corp.example"}}
	controlplanetest.Require(t, os.WriteFile(values, manifestOf(t, settings), 0o600))
	controlplanetest.Require(t, os.WriteFile(object, []byte(capiCluster), 0o600))
	program, err := tools.Program(t.Context(), "fairlead")
	controlplanetest.Require(t, err)
	output, err := exec.CommandContext(t.Context(), program, append([]string{ // it may warn
		"render", "--values", values, "--cluster", object, "-o", "addondeploymentconfig",
	}, flags...)...).Output()
	controlplanetest.Require(t, err)
	return output
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
	dir, err := tools.ModuleDir(t.Context(), tools.ClusterProxy.Module, "open-cluster-management.io/api")
	controlplanetest.Require(t, err)
	crd, err := os.ReadFile(filepath.Join(dir, "addon", "v1alpha1", "0000_02_addon.open-cluster-management.io_addondeploymentconfigs.crd.yaml"))
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, c.hub.Apply(t.Context(), crd))
	hub, err := client.New(c.hub.Admin(), client.Options{})
	controlplanetest.Require(t, err)
	hub = client.WithFieldValidation(hub, "Strict")

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
