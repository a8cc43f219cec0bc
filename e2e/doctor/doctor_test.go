// Package doctor_test runs the command fairlead doctor tunnel on a real control plane with the real native policies.
package doctor_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/e2e/command"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/internal/agents/doctor"
	"github.com/fairlead-io/fairlead/internal/core/lint"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

const (
	namespace  = "open-cluster-management-cluster-proxy"
	deployment = "cluster-proxy-proxy-agent"
	password   = "mySuperSecretPassword"
)

type fixture struct {
	*testing.T
	cp      *controlplane.ControlPlane
	clients kubernetes.Interface
	values  string // of the cluster, as the policies have them
}

// newFixture is a control plane with the agent of Open Cluster Management, its CRDs and what a hub says.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, cp: controlplanetest.Start(t, controlplane.Options{})}
	controlplanetest.Require(t, f.cp.StartControllerManager(t.Context(), controlplane.ServiceAccounts, "deployment-controller", "replicaset-controller"))
	f.clients = controlplanetest.Clients(t, f.cp)
	_, err := f.clients.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	_, err = f.clients.CoreV1().ServiceAccounts(namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "cluster-proxy"}}, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, f.cp.Apply(t.Context(),
		moduleFile(t, "open-cluster-management.io/cluster-proxy", "charts/cluster-proxy/crds/managedproxyconfigurations.yaml"),
		moduleFile(t, "open-cluster-management.io/api", "addon/v1alpha1/0000_02_addon.open-cluster-management.io_addondeploymentconfigs.crd.yaml"),
		controlplanetest.ReadFile(t, "../../internal/agents/tunnel/testdata/cluster-proxy.yaml"), controlplanetest.ReadFile(t, "testdata/ocm.yaml")))
	f.values = filepath.Join(t.TempDir(), "values.yaml")
	text := "proxy: {http: 'http://myProxyUser:" + password + "@192.168.52.220:3128', https: 'http://myProxyUser:" + password + "@192.168.52.220:3128', noProxy: internal.corpdomain.net}\n"
	controlplanetest.Require(t, os.WriteFile(f.values, []byte(text), 0o600))
	return f
}

func moduleFile(t *testing.T, module, path string) []byte {
	t.Helper()
	dir, err := tools.ModuleDir(t.Context(), tools.ClusterProxy.Module, module)
	controlplanetest.Require(t, err)
	return controlplanetest.ReadFile(t, filepath.Join(dir, path))
}

// ask runs the built program as somebody. It must not print the password.
func (f *fixture) ask(as *rest.Config, args ...string) doctor.Report {
	f.Helper()
	out, stderr := f.run(as, append([]string{"-o", "json"}, args...)...)
	var said doctor.Report
	if err := json.Unmarshal([]byte(out), &said); err != nil {
		f.Fatalf("%v: %s%s", err, out, stderr)
	}
	return said
}

func (f *fixture) run(as *rest.Config, args ...string) (string, string) {
	f.Helper()
	kubeconfig, err := f.cp.Kubeconfig(as)
	controlplanetest.Require(f, err)
	_, stdout, stderr := command.Run(f, nil, append([]string{"doctor", "tunnel", "--kubeconfig", kubeconfig, "-n", namespace}, args...)...)
	if strings.Contains(stdout+stderr, password) {
		f.Error("it prints a password")
	}
	return stdout, stderr
}

// ways returns how the agents leave, and the codes of their problems.
func ways(said doctor.Report) string {
	var all []string
	for _, pod := range said.Pods {
		for _, c := range pod.Containers {
			all = append(all, c.Container+" "+string(c.Through))
			for _, f := range c.Findings {
				if f.Severity != lint.Info {
					all = append(all, string(f.Code))
				}
			}
		}
	}
	return strings.Join(all, ", ")
}

// awaitPods waits for the deployment's pods, those with a variable of the proxy or those without.
func (f *fixture) awaitPods(injected bool) {
	f.Helper()
	controlplanetest.Await(f, "the agent's pod", func(ctx context.Context) (bool, error) {
		pods, err := f.clients.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil || len(pods.Items) != 1 || pods.Items[0].DeletionTimestamp != nil {
			return false, err
		}
		agent := pods.Items[0].Spec.Containers[0]
		has := slices.ContainsFunc(agent.Env, func(e corev1.EnvVar) bool { return e.Name == "HTTPS_PROXY" })
		kept := slices.ContainsFunc(slices.Concat(agent.Command, agent.Args), func(a string) bool { return strings.HasPrefix(a, "--keepalive-time") })
		if has != injected || injected && !kept { // older than one of the policies, which do not come into force at the same moment
			return false, f.clients.CoreV1().Pods(namespace).Delete(ctx, pods.Items[0].Name, metav1.DeleteOptions{})
		}
		return true, nil
	})
}

func TestATunnelIsJudgedByThePodsThatTheClusterHas(t *testing.T) {
	f := newFixture(t)
	f.awaitPods(false)
	const nothing = "proxy-agent Direct, NoProxy, HubPort, Keepalive, addon-agent Direct, NoProxy, service-proxy Direct, NoProxy"
	said := f.ask(f.cp.Admin(), deployment)
	if ways(said) != nothing || said.Pods[0].Object != "Deployment "+namespace+"/"+deployment || len(said.Pods[0].Pods) != 1 || len(said.Notes) != 0 {
		t.Errorf("before the policies: %+v", said)
	}
	f.testConfiguration(said)

	controlplanetest.Require(t, policies.Install(t.Context(), f.cp, policies.Values(), map[string]any{"engine": "Native"}))
	f.awaitPods(true)
	if got := ways(f.ask(f.cp.Admin(), deployment)); got != "proxy-agent Unknown, HubPort, addon-agent Unknown, service-proxy Unknown" {
		t.Errorf("after the policies, without what their Secret has: %s", got)
	}
	settings := []string{"--values", f.values, "--cluster", "../../internal/cli/testdata/common/cluster.yaml", "deployment/" + deployment}
	said = f.ask(f.cp.Admin(), settings...)
	const blocked = "proxy-agent Proxy, NetworkPolicy, HubPort, addon-agent Proxy, NetworkPolicy, service-proxy Proxy, NetworkPolicy"
	if ways(said) != blocked || said.Pods[0].Containers[0].Proxy != "http://192.168.52.220:3128" {
		t.Errorf("after the policies: %+v", said)
	}
	f.testScaled()
	f.testRestricted(settings)
}

// testConfiguration: the hub's object is judged as the real CRD stores it, with its defaults.
func (f *fixture) testConfiguration(said doctor.Report) {
	f.Helper()
	if len(said.Configurations) != 1 {
		f.Fatalf("%+v", said.Configurations)
	}
	c := said.Configurations[0]
	if c.Object != "ManagedProxyConfiguration cluster-proxy" || !slices.Equal(c.AdditionalArgs, []string{"--v=4", "--keepalive-time=30s"}) ||
		len(c.Findings) != 2 || !strings.Contains(c.Findings[1].Why, "port 8091") {
		f.Errorf("%+v", c)
	}
}

// testScaled checks that identical pods give one answer, asked for by the workload's name or by the name of one pod.
func (f *fixture) testScaled() {
	f.Helper()
	scale, err := f.clients.AppsV1().Deployments(namespace).GetScale(f.Context(), deployment, metav1.GetOptions{})
	controlplanetest.Require(f, err)
	scale.Spec.Replicas = 3
	_, err = f.clients.AppsV1().Deployments(namespace).UpdateScale(f.Context(), deployment, scale, metav1.UpdateOptions{})
	controlplanetest.Require(f, err)
	var one string
	controlplanetest.Await(f, "three pods", func(context.Context) (bool, error) {
		said := f.ask(f.cp.Admin(), "deployments/"+deployment)
		if len(said.Pods) != 1 || len(said.Pods[0].Pods) != 3 {
			return controlplanetest.Holds(false, "it says %+v", said.Pods)
		}
		one = said.Pods[0].Pods[0]
		return true, nil
	})
	if said := f.ask(f.cp.Admin(), "pod/"+one); len(said.Pods) != 1 || said.Pods[0].Object != "Pod "+namespace+"/"+one {
		f.Errorf("%+v", said)
	}
	for _, name := range []string{"nobody", "daemonset/" + deployment} {
		out, stderr := f.run(f.cp.Admin(), name)
		if out != "" || !strings.Contains(stderr, "there is no pod, Deployment, DaemonSet or StatefulSet \""+name+"\" in the namespace \""+namespace+"\"") {
			f.Errorf("%s: %s%s", name, out, stderr)
		}
	}
}

// testRestricted: what may not be listed is said, and no Secret is asked for, whoever asks.
func (f *fixture) testRestricted(settings []string) {
	f.Helper()
	controlplanetest.Role(f, f.clients, "reader",
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}},
		rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"list"}},
	)
	user, err := f.cp.User("reader")
	controlplanetest.Require(f, err)
	said := f.ask(user, append([]string{"--fail-on", "never"}, settings...)...)
	want := []string{
		"cannot tell whether a NetworkPolicy is in the way: may not list networkpolicies",
		"cannot read the configuration of agents: may not list configmaps",
		"cannot tell what the hub is told: may not list managedproxyconfigurations",
		"cannot tell what the hub is told: may not list addondeploymentconfigs",
		"cannot tell which Services are named without a dot: may not list services",
	}
	if !slices.Equal(said.Notes, want) || !strings.HasPrefix(ways(said), "proxy-agent Proxy") {
		f.Errorf("%q: %s", said.Notes, ways(said))
	}
	events, err := f.cp.AuditEvents(0, controlplane.ByUserAgent("fairlead/"))
	controlplanetest.Require(f, err)
	for _, e := range events {
		if e.ObjectRef.Resource == "secrets" || e.Verb != "list" {
			f.Errorf("%s %s", e.Verb, e.RequestURI)
		}
	}
	if len(events) == 0 {
		f.Error("no request is in the log: the search is blind")
	}
}
