package ocm_test

import (
	"context"
	"crypto/tls"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/e2e/tunnels"
)

const (
	entrypoint    = "proxy-entrypoint." + hubNamespace // the default for agents that are in the hub itself
	entrypointSvc = entrypoint + ".svc"                // what the hub's chart gives the user server
)

// A hub in the company's network is a cluster whose pods get the variables like others. What its clients of the tunnel
// dial is in the hub, and so is the agent of the hub's own cluster: squid must not be asked. The pod of the user server
// is stored where the policies are, and runs in corp with the proxy server and that agent. service-proxy and the user
// server want the same port 8000, and all containers here share one network: the test itself answers for
// service-proxy.
func TestClientsOnTheHubDialTheProxyServerDirectly(t *testing.T) {
	tier.Full(t)
	tunnels.Complete(t)
	f := sharedFleet(t)
	t.Parallel()
	c := newCompany(t, f, f.spoke, machine.SquidOptions{Hosts: map[string]string{entrypoint: machine.HubAddress}}) // where nobody is
	c.users = userAddress{machine.Corp, machine.CorpAddress + ":9092"}
	c.name(t, machine.CorpAddress, entrypoint+" "+entrypointSvc)
	c.startProxyServer(t, machine.Corp)
	c.standInForServiceProxy(t)
	template := f.userServer(t)
	clients := controlplanetest.Clients(t, f.spoke)
	const namespace = addonNamespace + "-hub"
	agent := f.agent(t, f.spoke, namespace, entrypoint)

	f.setVariables(t, hubNamespace, f.variables(t))
	all := c.run(t, store(t, clients, withHost(template, entrypoint)), "user-server")
	c.checkAsksSquid(t, entrypoint+":8090") // .svc does not cover the name
	stop(t, all)

	before := c.ended(t, entrypoint+":8090")
	for _, ns := range []string{hubNamespace, namespace} {
		f.setVariables(t, ns, hubVariables(t))
	}
	c.run(t, store(t, clients, agent), "proxy-agent")
	for _, host := range []string{entrypoint, entrypointSvc} {
		all := c.run(t, store(t, clients, withHost(template, host)), "user-server")
		c.awaitReach(t, "with the user server's --host="+host)
		stop(t, all)
	}
	asked := c.asked(t)
	if after := c.ended(t, entrypoint+":8090"); after != before || len(asked) != 1 {
		t.Errorf("squid was asked %d times more: %+v", after-before, asked)
	}
	tunnels.Record(t, tunnels.Row{
		Agent: "OCM cluster-proxy, user-server on the hub", Version: "v0.10.0", Way: tunnels.Environment,
		Engine: tunnels.Kyverno, Result: "stays direct",
		Set:        "six variables by inject-proxy-env, the proxy server's namespace in NO_PROXY",
		CannotWork: "`proxy-entrypoint.<namespace>` with `.svc` alone in NO_PROXY",
	})
}

// checkAsksSquid: the user server goes there through squid, for whom nobody is there.
func (c *company) checkAsksSquid(t *testing.T, target string) {
	t.Helper()
	controlplanetest.Await(t, "squid to be asked for "+target, func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if err := c.reach(ctx); err == nil {
			t.Error("the user server reaches the agent")
		}
		return controlplanetest.Holds(c.ended(t, target) > 0, "no tunnel has ended")
	})
	c.awaitAsked(t, machine.Request{User: user, Method: "CONNECT", Target: target, Status: 503})
}

func (c *company) standInForServiceProxy(t *testing.T) {
	t.Helper()
	certificate, key, err := c.authority.Issue(serviceProxyHost(cluster))
	controlplanetest.Require(t, err)
	pair, err := tls.X509KeyPair(certificate, key)
	controlplanetest.Require(t, err)
	listener, err := c.network.Listen(t.Context(), machine.Corp, "127.0.0.1:7443")
	controlplanetest.Require(t, err)
	c.answer(t, tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{pair}}))
}

// userServer is the pod of the hub's chart, and what it mounts.
func (f *fleet) userServer(t *testing.T) *corev1.Pod {
	t.Helper()
	dir, err := tools.ModuleDir(t.Context(), tools.ClusterProxy.Module, "open-cluster-management.io/cluster-proxy")
	controlplanetest.Require(t, err)
	manifest, err := helm.Template(t.Context(), helm.Release{
		Chart: filepath.Join(dir, "charts", "cluster-proxy"), Name: "cluster-proxy", Namespace: hubNamespace,
		Values: []any{map[string]any{"enableServiceProxy": true, "userServer": map[string]any{"enabled": true}}},
	})
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, f.spoke.Apply(t.Context(), []byte(strings.ReplaceAll(hubNamespaceObjects, "NAME", hubNamespace))))
	f.rootCA(t, f.spoke, hubNamespace)
	for name, host := range map[string]string{"cluster-proxy-user-serving-cert": userServer, "proxy-client": "proxy-client"} {
		certificate, key, err := f.authority.Issue(host)
		controlplanetest.Require(t, err)
		f.put(t, f.spoke, hubNamespace, name, map[string][]byte{"tls.crt": certificate, "tls.key": key})
	}
	f.put(t, f.spoke, hubNamespace, "proxy-server-ca", map[string][]byte{"ca.crt": f.authority.PEM()})
	f.put(t, f.spoke, hubNamespace, policies.Secret, nil)
	pod := podOf(t, manifest, hubNamespace, "cluster-proxy-addon-user")
	pod.Labels["policies.kyverno.io/inject-proxy-env"] = "include" // as all pods are where the chart's optIn is false
	return pod
}

const hubNamespaceObjects = `
apiVersion: v1
kind: Namespace
metadata: {name: NAME}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: cluster-proxy, namespace: NAME}
`

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
func hubVariables(t *testing.T) map[string][]byte {
	t.Helper()
	manifest, err := policies.Render(t.Context(), policyValues(), map[string]any{
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

// setVariables is the replicator.
func (f *fleet) setVariables(t *testing.T, namespace string, data map[string][]byte) {
	t.Helper()
	secrets := controlplanetest.Clients(t, f.spoke).CoreV1().Secrets(namespace)
	secret, err := secrets.Get(t.Context(), policies.Secret, metav1.GetOptions{})
	controlplanetest.Require(t, err)
	secret.Data = data
	_, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
	controlplanetest.Require(t, err)
}
