// Package ocm is about Open Cluster Management's cluster-proxy v0.10.0: the pod of the chart that its addon manager has
// inside, as the policies change it, and the real programs of its three containers behind squid. The hub is a real
// API server, proxy server and user server on the other side.
package ocm_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tunnels"
)

// The addon's namespace is a setting of the hub's; each test has one of its own.
const addonNamespace = "open-cluster-management-cluster-proxy"

var containers = []string{"proxy-agent", "addon-agent", "service-proxy"}

func TestTheAgentLeavesThroughTheProxy(t *testing.T) {
	tunnels.Complete(t)
	f := sharedFleet(t)
	t.Parallel()
	pod := store(t, controlplanetest.Clients(t, f.spoke), f.agent(t, f.spoke, addonNamespace, machine.HubName))
	c := newCompany(t, f, f.spoke, machine.SquidOptions{ReadTimeout: tunnels.Patience})
	c.startHub(t)
	all := c.run(t, pod, containers...)
	c.awaitReach(t, "with the pod as Kyverno has made it")
	c.squid.Kill() // what was open is never noted
	if err := c.reach(t.Context()); err == nil {
		t.Error("there is a way without squid")
	}
	controlplanetest.Require(t, c.squid.Start(t.Context()))
	c.awaitReach(t, "after squid was killed and started again")
	if err := c.checkHubUser(t); err != nil {
		t.Errorf("somebody of the hub: %v", err)
	}
	c.checkGRPC(t)
	c.checkIdle(t)
	stop(t, all)
	c.awaitAsked(t, connect(hubAPI), connect(hubTunnel))
	checkLeaseOnTheSpoke(t, f)
	tunnels.Record(t, shown(tunnels.Kyverno))
}

// shown is what this package shows of the agent.
func shown(engine tunnels.Engine) tunnels.Row {
	return tunnels.Row{
		Agent: "OCM cluster-proxy", Version: "v0.10.0", Way: tunnels.Environment, Engine: engine, Result: "passes",
		Set: "six variables on proxy-agent, addon-agent and service-proxy; `--keepalive-time=30s` on proxy-agent. " +
			"proxy-agent is apiserver-network-proxy 0.31.4, its image has 0.30.2",
		CannotWork: "`https://` proxies; addon-agent and service-proxy by AddOnDeploymentConfig alone, which does not reach them",
	}
}

// checkIdle: the connection survives squid's patience. squid notes a connection that has ended.
func (c *company) checkIdle(t *testing.T) {
	t.Helper()
	tunnels.Stays(t, func() {
		time.Sleep(tunnels.Idle) // nothing happens: that is the subject
		c.awaitReach(t, "after idle time")
	}, func() int { return c.ended(t, hubTunnel) })
}

// checkGRPC: who speaks gRPC with the proxy server, without a user server, gets to what the agent reaches.
func (c *company) checkGRPC(t *testing.T) {
	t.Helper()
	listener, err := c.network.Listen(t.Context(), machine.Corp, "127.0.0.1:8081") // the agent's pod has an alias for it
	controlplanetest.Require(t, err)
	c.answer(t, listener)
	certificate, key := c.issue(t, "konnectivity-client")
	nonce := rand.Text()
	p, err := c.network.Start(t.Context(), machine.Internet, process.Spec{
		Name: "test-client", Path: c.programs["test-client"], Args: []string{
			"--mode=grpc", "--proxy-host=localhost", "--proxy-port=8090",
			"--ca-cert=" + c.ca(t), "--client-cert=" + certificate, "--client-key=" + key,
			"--request-host=" + serviceProxyHost(cluster), "--request-port=8081", "--request-path=" + nonce, "--v=4",
		},
	})
	controlplanetest.Require(t, err)
	awaitLog(t, p, c.secret+"/"+nonce)
}

// checkHubUser: service-proxy has somebody's token reviewed, first by its own cluster and then by the hub. Who is of
// the hub alone reads what they may of the managed cluster.
func (c *company) checkHubUser(t *testing.T) error {
	t.Helper()
	visitor, err := c.hub.ServiceAccount(t.Context(), "default", "visitor")
	controlplanetest.Require(t, err)
	answer, err := c.get(t.Context(), "/api/v1/namespaces/default/configmaps/greeting", visitor.BearerToken)
	if err == nil && !strings.Contains(answer, "hello from the spoke") {
		err = fmt.Errorf("the answer is %s", answer)
	}
	return err
}

// checkLeaseOnTheSpoke: where the managed cluster has Leases, that is where addon-agent renews its own, and not
// through the proxy.
func checkLeaseOnTheSpoke(t *testing.T, f *fleet) {
	t.Helper()
	if _, err := lease(t, f.spoke, addonNamespace); err != nil {
		t.Errorf("the lease on the spoke: %v", err)
	}
}

func lease(t *testing.T, cp *controlplane.ControlPlane, namespace string) (time.Time, error) {
	t.Helper()
	lease, err := controlplanetest.Clients(t, cp).CoordinationV1().Leases(namespace).Get(t.Context(), "cluster-proxy", metav1.GetOptions{})
	if err != nil {
		return time.Time{}, err
	}
	return lease.Spec.RenewTime.Time, nil
}

// The lease is on the hub where the managed cluster has none (addon-framework, pkg/lease/lease_controller.go).
func TestAddonAgentRenewsItsLeaseOnTheHubThroughTheProxy(t *testing.T) {
	f := sharedFleet(t)
	t.Parallel()
	const namespace = addonNamespace + "-old"
	c := newCompany(t, f, f.old, machine.SquidOptions{})
	f.agent(t, f.old, namespace, machine.HubName)
	template := f.agent(t, f.spoke, namespace, machine.HubName, proxyConfig(t, "--with-credentials"))
	spoke := controlplanetest.Clients(t, f.spoke)

	alone := c.run(t, store(t, spoke, unmutated(template)), "addon-agent")
	awaitLog(t, alone[0], "Failed to update lease")
	stop(t, alone)
	if renewed, err := lease(t, f.hub, cluster); !apierrors.IsNotFound(err) {
		t.Errorf("with AddOnDeploymentConfig alone: renewed %s (%v)", renewed, err)
	}
	if requests := c.asked(t); len(requests) != 0 {
		t.Errorf("squid was asked %+v", requests)
	}

	pod := store(t, spoke, template)
	var before time.Time
	for _, when := range []string{"made", "renewed"} {
		all := c.run(t, pod, "addon-agent")
		controlplanetest.Await(t, "the lease to be "+when, func(context.Context) (bool, error) {
			renewed, err := lease(t, f.hub, cluster)
			if err != nil || !renewed.After(before) {
				return false, err
			}
			before = renewed
			return true, nil
		})
		stop(t, all)
	}
	c.awaitAsked(t, connect(hubAPI))
}

func TestWithAddOnDeploymentConfigAloneServiceProxyCannotAskTheHub(t *testing.T) {
	f := sharedFleet(t)
	t.Parallel()
	c := newCompany(t, f, f.spoke, machine.SquidOptions{})
	c.startHub(t)
	pod := unmutated(f.agent(t, f.spoke, addonNamespace+"-alone", machine.HubName, proxyConfig(t, "--with-credentials")))
	all := c.run(t, store(t, controlplanetest.Clients(t, f.spoke), pod), containers...)
	c.awaitReach(t, "with AddOnDeploymentConfig alone")
	if err := c.checkHubUser(t); err == nil || !strings.Contains(err.Error(), "hub cluster auth error") {
		t.Errorf("somebody of the hub is known: %v", err)
	}
	stop(t, all)
	c.awaitAsked(t, connect(hubTunnel))
}

// Many may read an AddOnDeploymentConfig: it has no password. The policy puts the one with it in its place.
func TestAddOnDeploymentConfigWithoutCredentialsAndThePolicyGoTogether(t *testing.T) {
	f := sharedFleet(t)
	t.Parallel()
	c := newCompany(t, f, f.spoke, machine.SquidOptions{})
	c.startHub(t)
	template := f.agent(t, f.spoke, addonNamespace+"-both", machine.HubName, proxyConfig(t))
	clients := controlplanetest.Clients(t, f.spoke)

	all := c.run(t, store(t, clients, unmutated(template)), "proxy-agent", "service-proxy")
	c.awaitAsked(t, refused(hubTunnel))
	if err := c.reach(t.Context()); err == nil {
		t.Error("squid lets somebody through without a password")
	}
	stop(t, all)

	all = c.run(t, store(t, clients, template), containers...)
	c.awaitReach(t, "with AddOnDeploymentConfig and the policy")
	if err := c.checkHubUser(t); err != nil {
		t.Errorf("somebody of the hub: %v", err)
	}
	stop(t, all)
	c.awaitAsked(t, refused(hubTunnel), connect(hubAPI), connect(hubTunnel))
}

func TestWithoutThePolicyOrWithAWrongPasswordThereIsNoTunnel(t *testing.T) {
	f := sharedFleet(t)
	t.Parallel()
	c := newCompany(t, f, f.spoke, machine.SquidOptions{})
	c.startHub(t)
	const namespace = addonNamespace + "-not"
	template := f.agent(t, f.spoke, namespace, machine.HubName)
	clients := controlplanetest.Clients(t, f.spoke)

	all := c.run(t, store(t, clients, unmutated(template)), containers...)
	awaitLog(t, all[0], "lookup "+machine.HubName)
	if err := c.reach(t.Context()); err == nil {
		t.Error("there is a tunnel without the policy")
	}
	stop(t, all)
	if requests := c.asked(t); len(requests) != 0 {
		t.Errorf("squid was asked %+v", requests)
	}

	secret, err := clients.CoreV1().Secrets(namespace).Get(t.Context(), policies.Secret, metav1.GetOptions{})
	controlplanetest.Require(t, err)
	for key, value := range secret.Data {
		secret.Data[key] = []byte(strings.ReplaceAll(string(value), "p%40ss", "old"))
	}
	_, err = clients.CoreV1().Secrets(namespace).Update(t.Context(), secret, metav1.UpdateOptions{})
	controlplanetest.Require(t, err)
	all = c.run(t, store(t, clients, template), containers...)
	wrong := refused(hubTunnel)
	wrong.User = user
	c.awaitAsked(t, wrong)
	if err := c.reach(t.Context()); err == nil {
		t.Error("there is a tunnel with a wrong password")
	}
	stop(t, all)
}
