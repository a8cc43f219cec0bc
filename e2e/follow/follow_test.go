// Package follow_test runs fairlead-operator follow with the rights that the chart gives fairlead-node, and looks for the
// password in a cluster whose pods use the relay.
package follow_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/deployment"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/ports"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/rights"
	"github.com/fairlead-io/fairlead/e2e/rights/rightstest"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

const (
	source   = "fairlead-source"
	account  = "fairlead-node"
	user     = "system:serviceaccount:" + account + ":" + account
	password = "Tr0ub4dor"
)

type cluster struct {
	cp      *controlplane.ControlPlane
	clients kubernetes.Interface
}

// install installs the chart, with both engines' own way of reaching no pod but ours: there is no Kyverno.
func install(t *testing.T) *cluster {
	t.Helper()
	cp := controlplanetest.Start(t, controlplane.Options{})
	controlplanetest.Require(t, policies.Install(t.Context(), cp, map[string]any{
		"engine": "Native", "carry": "Relay", "node": map[string]any{"enabled": true}, "cluster": map[string]any{"proxy": map[string]any{
			"http": proxy(password), "https": proxy(password), "noProxy": ".svc,10.96.0.0/12",
		}},
	}))
	controlplanetest.Require(t, cp.StartControllerManager(t.Context(), controlplane.ServiceAccounts))
	return &cluster{cp, controlplanetest.Clients(t, cp)}
}

func proxy(password string) string {
	return (&url.URL{Scheme: "http", User: url.UserPassword("corp", password), Host: "proxy.corp.example:3128"}).String()
}

// setPassword changes the source, as the chart's next upgrade does.
func (c *cluster) setPassword(t *testing.T, password string) {
	t.Helper()
	secret, err := c.clients.CoreV1().Secrets(policies.Namespace).Get(t.Context(), source, metav1.GetOptions{})
	controlplanetest.Require(t, err)
	secret.Data["HTTPS_PROXY"] = []byte(proxy(password))
	_, err = c.clients.CoreV1().Secrets(policies.Namespace).Update(t.Context(), secret, metav1.UpdateOptions{})
	controlplanetest.Require(t, err)
}

// follow starts the container of the DaemonSet fairlead-node.
func (c *cluster) follow(t *testing.T) (folder string, p *process.Process) {
	t.Helper()
	daemons, err := c.clients.AppsV1().DaemonSets(account).Get(t.Context(), account, metav1.GetOptions{})
	controlplanetest.Require(t, err)
	kubeconfig, err := c.cp.Kubeconfig(c.account(t))
	controlplanetest.Require(t, err)
	health, err := ports.Reserve()
	controlplanetest.Require(t, err)
	folder = t.TempDir()
	p, err = deployment.Container(t.Context(), c.cp, daemons.Spec.Template.Spec.Containers, "follow", health.Address(), map[string]string{
		"--folder": folder, "--kubeconfig": kubeconfig,
	})
	controlplanetest.Require(t, err)
	return folder, p
}

// account has the rights of a machine.
func (c *cluster) account(t *testing.T) *rest.Config {
	t.Helper()
	config, err := c.cp.ServiceAccount(t.Context(), account, account)
	controlplanetest.Require(t, err)
	return config
}

func awaitSettings(t *testing.T, folder, password string) {
	t.Helper()
	controlplanetest.Await(t, "settings with "+password, func(context.Context) (bool, error) {
		text, err := os.ReadFile(filepath.Join(folder, "settings"))
		return strings.Contains(string(text), "HTTPS_PROXY="+proxy(password)+"\n"), err
	})
}

func TestAMachineOfACluster(t *testing.T) {
	c := install(t)
	folder, follower := c.follow(t)
	awaitSettings(t, folder, password)
	t.Run("TestWhereThePasswordIsInAClusterWithTheRelay", func(t *testing.T) { c.checkWhere(t, follower) })
	t.Run("TestAMachineMayReadTheSourceAndTheCertificatesAlone", c.checkRights)
	t.Run("TestAMachinesSettingsFollowTheSource", func(t *testing.T) { c.checkSettings(t, folder, follower) })
}

// checkWhere: with the relay, the password is in the two namespaces of ours and nowhere else: no object, no process, no log.
func (c *cluster) checkWhere(t *testing.T, node *process.Process) {
	t.Helper()
	relay, err := deployment.StartRelay(t.Context(), c.cp, policies.Namespace)
	controlplanetest.Require(t, err)
	t.Cleanup(func() { _ = relay.Stop() })
	for _, env := range c.createPod(t).Spec.Containers[0].Env {
		if env.ValueFrom != nil { // the search reads what stands in the pod
			t.Errorf("a pod's %s is not literal", env.Name)
		}
	}
	for range 3 { // the proxy is nowhere: what fails is logged
		if status := ask(relay.Address); status != http.StatusBadGateway {
			t.Errorf("status %d", status)
		}
	}
	found := c.search(t)
	if want := policies.Namespace + "/Secret/" + source; len(found) != 1 || found[0] != want {
		t.Errorf("objects: %q", found)
	}
	for name, p := range map[string]*process.Process{"follow of the node": node, "follow": relay.Follow, "relay": relay.Relay} {
		for _, what := range []string{"environ", "cmdline"} {
			text := controlplanetest.ReadFile(t, fmt.Sprintf("/proc/%d/%s", p.PID(), what))
			if strings.Contains(string(text), password) {
				t.Errorf("it is in %s of %s", what, name)
			}
		}
		log, err := p.Log()
		controlplanetest.Require(t, err)
		if strings.Contains(log, password) {
			t.Errorf("it is in the log of %s", name)
		}
	}

	_, err = c.clients.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "canary"}, Data: map[string]string{"a": "see " + proxy(password)},
	}, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	if found := c.search(t); len(found) != 2 {
		t.Errorf("with a canary: %q", found)
	}
}

func (c *cluster) checkRights(t *testing.T) {
	atHome := rights.Table{"secrets " + source: "get list watch", "configmaps fairlead-trusted-ca": "get list watch"}
	rightstest.May(t, c.cp, c.account(t), atHome, map[string]rights.Table{"default": {}, account: {}, policies.Namespace: atHome})
}

func (c *cluster) checkSettings(t *testing.T, folder string, follower *process.Process) {
	t.Helper()
	mark, err := c.cp.AuditMark()
	controlplanetest.Require(t, err)
	c.setPassword(t, "second")
	awaitSettings(t, folder, "second")
	events, err := c.cp.AuditEvents(mark, controlplane.ByUser(user))
	controlplanetest.Require(t, err)
	for _, e := range events {
		t.Errorf("a change costs a request: %s %s", e.Verb, e.RequestURI)
	}

	controlplanetest.Require(t, c.clients.CoreV1().Secrets(policies.Namespace).Delete(t.Context(), source, metav1.DeleteOptions{}))
	controlplanetest.Await(t, "the log says that the source is gone", func(context.Context) (bool, error) {
		log, err := follower.Log()
		return strings.Contains(log, "it does not exist"), err
	})
	awaitSettings(t, folder, "second")
	_, err = c.clients.CoreV1().Secrets(policies.Namespace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: source}, Data: map[string][]byte{"HTTPS_PROXY": []byte(proxy("third")), "NO_PROXY": nil},
	}, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	awaitSettings(t, folder, "third")

	controlplanetest.Require(t, c.cp.StopAPIServer())
	controlplanetest.Require(t, c.cp.StartAPIServer(t.Context()))
	c.setPassword(t, "fourth")
	awaitSettings(t, folder, "fourth")
	log, err := follower.Log()
	controlplanetest.Require(t, err)
	for _, secret := range []string{password, "second", "third", "fourth"} {
		if strings.Contains(log, "corp:"+secret) {
			t.Errorf("the log has a password:\n%s", log)
		}
	}
}
