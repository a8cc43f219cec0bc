// Package bootstrap makes a management cluster in the order of docs/how-to/bootstrap.md, whose commands run here: two
// real API servers, the real Kyverno, Helm and operator, and a company's network around them. Clients in pods say in the
// end what they reach, and squid whom it was asked for. There is no infrastructure, so the management cluster's Cluster
// is applied, not moved; cert-manager's chart is a stand-in, and Cluster API is there by its kinds.
package bootstrap_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/deployment"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/replicator"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// The page's sections.
const (
	printSettings = "Print the settings"
	withHelm      = "cert-manager and Kyverno"
	thePolicies   = "The policies"
	fairlead      = "Fairlead"
	itsOwn        = "The management cluster as its own workload cluster"
	fromSecret    = "From the Secret"
)

// What the page names and this machine does not reach, with the stand-ins.
const (
	certManagersChart = "oci://quay.io/jetstack/charts/cert-manager"
	kyvernosChart     = "kyverno kyverno --repo https://kyverno.github.io/kyverno --version 3.9.1"
)

func TestAManagementClusterIsBootstrappedInTheDocumentedOrder(t *testing.T) {
	c := newCompany(t)
	if diff := cmp.Diff([]string{printSettings, withHelm, thePolicies, fairlead, itsOwn, fromSecret}, c.page.Titles()); diff != "" {
		t.Fatalf("the page's sections (-want +got):\n%s", diff)
	}

	c.run(t, printSettings)
	t.Run("containerd gets the list of the management cluster", c.checkDropIn)
	standIn, err := filepath.Abs("testdata/cert-manager")
	controlplanetest.Require(t, err)
	// There are no nodes for Kyverno's Deployments, so nothing can be waited for.
	c.run(t, withHelm, certManagersChart, standIn, kyvernosChart, "kyverno "+c.kyvernoChart(t), " --create-namespace --wait\n", " --create-namespace\n")
	_, err = kyverno.Start(t.Context(), c.mgmt, kyverno.Options{Installed: true})
	controlplanetest.Require(t, err)
	c.run(t, thePolicies)
	_, err = replicator.Start(t.Context(), c.mgmt, "--leader-elect=false")
	controlplanetest.Require(t, err)
	c.awaitPolicy(t)
	t.Run("cert-manager has the settings before there is an operator", c.checkCertManager)

	c.run(t, fairlead)
	// What clusterctl init and move would leave. The operator waits for it.
	controlplanetest.Require(t, c.mgmt.Install(t.Context(), controlplane.ClusterAPI))
	_, err = deployment.Start(t.Context(), c.mgmt, "fairlead-system", "fairlead-operator", "--leader-elect=false")
	controlplanetest.Require(t, err)
	c.shell(t, "kubectl apply -f mgmt.yaml")
	controlplanetest.Require(t, c.mgmt.Apply(t.Context(), fmt.Appendf(nil, workload, machine.EndpointAddress)))
	controlplanetest.Require(t, c.workload.Apply(t.Context(), []byte("{apiVersion: v1, kind: Namespace, metadata: {name: "+onlyThere+"}}")))
	c.run(t, itsOwn)
	c.shell(t, "kubectl wait proxyreport/workload --namespace org-acme --for condition=Ready --timeout 60s")

	t.Run("the hand-over to the Secret changes nothing", c.checkHandOver)
	t.Run("operator and core Cluster API are left alone", c.checkLeftAlone)
	t.Run("pods reach the workload cluster directly and the web by the proxy", func(t *testing.T) { c.checkDirect(t, c.create(t, c.client())) })
	t.Run("without the override the condition says it, and then it is so", c.checkWithoutOverride)
}

const workload = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: workload, namespace: org-acme}
spec:
  clusterNetwork:
    services: {cidrBlocks: [100.64.0.0/13]}
    pods: {cidrBlocks: [100.96.0.0/11]}
  controlPlaneEndpoint: {host: %s, port: 6443}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VSphereCluster, name: workload}
`

// awaitPolicy awaits that pods are changed, and that the replicator has brought what they refer to.
func (c *company) awaitPolicy(t *testing.T) {
	t.Helper()
	controlplanetest.Await(t, "a pod with the variables", func(ctx context.Context) (bool, error) {
		pod, err := c.clients.CoreV1().Pods(c.pods).Create(ctx, c.client(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && len(pod.Spec.Containers[0].Env) == 6, err
	})
	c.awaitNoProxy(t, func(list string) bool { return list != "" })
}

// awaitNoProxy awaits the list in the copy that the pods refer to.
func (c *company) awaitNoProxy(t *testing.T, ok func(string) bool) {
	t.Helper()
	controlplanetest.Await(t, "NO_PROXY of the pods", func(ctx context.Context) (bool, error) {
		secret, err := c.clients.CoreV1().Secrets(c.pods).Get(ctx, policies.Secret, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		list := string(secret.Data["NO_PROXY"])
		return controlplanetest.Holds(ok(list), "it is %q", list)
	})
}

func covers(list string) bool { return slices.Contains(strings.Split(list, ","), "178.170.32.0/24") }

// checkCertManager looks at the pod that its Deployment has made.
func (c *company) checkCertManager(t *testing.T) {
	env := c.podOf(t, "cert-manager", "app=cert-manager").Spec.Containers[0].Env
	if len(env) != 3 || env[0].Name != "HTTP_PROXY" || env[2].Name != "NO_PROXY" || !covers(env[2].Value) {
		t.Errorf("%+v", env)
	}
}

// kyvernoChart is a chart with Kyverno's own manifest. The project's chart is not whole in its module: other repositories have
// parts of it. The kinds, with all their descriptions, are more than Helm keeps of a release: they are applied.
func (c *company) kyvernoChart(t *testing.T) string {
	t.Helper()
	manifest, err := kyverno.Manifest(t.Context(), false)
	controlplanetest.Require(t, err)
	var kinds, rest []string
	for document := range strings.SplitSeq(string(manifest), kyverno.Separator) {
		if strings.Contains(document, "\nkind: CustomResourceDefinition\n") {
			kinds = append(kinds, document)
		} else {
			rest = append(rest, document)
		}
	}
	controlplanetest.Require(t, c.mgmt.Apply(t.Context(), []byte(strings.Join(kinds, kyverno.Separator))))
	dir := t.TempDir()
	controlplanetest.Require(t, os.Mkdir(filepath.Join(dir, "templates"), 0o755))
	for name, content := range map[string]string{
		"Chart.yaml": "{apiVersion: v2, name: kyverno, version: 3.9.1}",
		"manifest":   strings.Join(rest, kyverno.Separator), "templates/manifest.yaml": `{{ .Files.Get "manifest" }}`,
	} {
		controlplanetest.Require(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	return dir
}

// checkDropIn looks at the file for containerd of machines that somebody makes by hand.
func (c *company) checkDropIn(t *testing.T) {
	content := controlplanetest.ReadFile(t, c.page.File("http-proxy.conf"))
	for _, line := range strings.Split(string(content), "\n") {
		if list, is := strings.CutPrefix(line, `Environment="NO_PROXY=`); is && covers(strings.TrimSuffix(list, `"`)) {
			return
		}
	}
	t.Error("no NO_PROXY with the networks of the override") // not what it is: the password is in the file
}

// podOf is a pod that the controllers of a Deployment have made.
func (c *company) podOf(t *testing.T, namespace, selector string) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	controlplanetest.Await(t, "a pod with "+selector, func(ctx context.Context) (bool, error) {
		pods, err := c.clients.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil || len(pods.Items) == 0 {
			return false, err
		}
		pod = &pods.Items[0]
		return true, nil
	})
	return pod
}

// checkHandOver runs the upgrade from the Secret: the installed objects and an injected pod are the same as before.
func (c *company) checkHandOver(t *testing.T) {
	installed := func() string {
		return c.shell(t, "helm get manifest fairlead-policies --namespace fairlead-system; helm get values fairlead-policies --namespace fairlead-system -o json")
	}
	versions := func() string {
		return c.shell(t, `kubectl get mutatingpolicies,deployments,secrets --selector app.kubernetes.io/instance=fairlead-policies --all-namespaces \
  -o jsonpath='{range .items[*]}{.kind} {.metadata.name} {.metadata.generation}{"\n"}{end}'
kubectl get secret fairlead-proxy --namespace fairlead-system -o jsonpath='{.metadata.resourceVersion} {.data}'`)
	}
	before, beforeVersions, beforePod := installed(), versions(), c.create(t, c.client(), metav1.DryRunAll).Spec
	c.run(t, fromSecret)
	if installed() != before {
		t.Error("manifest or values are others") // not which: the password is in them
	}
	if versions() != beforeVersions {
		t.Error("the upgrade has changed an object")
	}
	if diff := cmp.Diff(beforePod, c.create(t, c.client(), metav1.DryRunAll).Spec); diff != "" {
		t.Errorf("a pod (-before +after):\n%s", diff)
	}
}

func (c *company) checkLeftAlone(t *testing.T) {
	for _, env := range c.podOf(t, "fairlead-system", "app.kubernetes.io/component=operator").Spec.Containers[0].Env {
		if strings.HasSuffix(strings.ToLower(env.Name), "_proxy") {
			t.Errorf("the operator's pod: %+v", env)
		}
	}
	pod := c.client()
	pod.GenerateName, pod.Labels = "", map[string]string{"cluster.x-k8s.io/provider": "cluster-api"}
	pod.Name = "capi-controller-manager-6c9b8f7d5-x"
	if env := c.create(t, pod).Spec.Containers[0].Env; len(env) != 0 {
		t.Errorf("the pod of core Cluster API: %+v", env)
	}
}

// checkDirect starts the pod's containers as they are.
func (c *company) checkDirect(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	if env := pod.Spec.Containers[0].Env; len(env) != 6 || env[0].ValueFrom == nil {
		t.Fatalf("the policy's variables: %+v", env)
	}
	requests := c.asked(t, func() {
		for container, want := range map[string]string{"endpoint": onlyThere, "outside": outside} {
			if output, err := c.node.Run(t.Context(), pod, container); err != nil || !strings.Contains(output, want) {
				t.Errorf("%s: %q, %v, want %s", container, output, err, want)
			}
		}
	})
	want := []machine.Request{{User: user, Method: "CONNECT", Target: outside, Status: 200}}
	if diff := cmp.Diff(want, requests); diff != "" {
		t.Errorf("what squid was asked (-want +got):\n%s", diff)
	}
}

// checkWithoutOverride is the control. It mends it in the end by the chart, which the operator does not know.
func (c *company) checkWithoutOverride(t *testing.T) {
	pod := c.create(t, c.client())
	const await = "kubectl wait proxyreport/mgmt --namespace org-acme --timeout 60s --for condition=EndpointsDirect"
	const awaitFalse = await + "=False"
	const message = `kubectl get proxyreport/mgmt --namespace org-acme -o jsonpath='{.status.conditions[?(@.type=="EndpointsDirect")].message}'`

	// A cluster that comes, and goes, is reason enough to look again.
	another := strings.ReplaceAll(fmt.Sprintf(workload, "203.0.113.9"), "name: workload", "name: another")
	controlplanetest.Require(t, c.mgmt.Apply(t.Context(), []byte(another)))
	c.shell(t, awaitFalse)
	if said := c.shell(t, message); !strings.HasSuffix(said, ": 203.0.113.9") {
		t.Errorf("the condition says %q", said)
	}
	c.shell(t, "kubectl delete cluster another --namespace org-acme --wait=false")
	c.shell(t, await)

	c.shell(t, "kubectl delete -f mgmt-override.yaml")
	c.shell(t, awaitFalse)
	if said := c.shell(t, message); !strings.HasSuffix(said, ": "+machine.EndpointAddress) {
		t.Errorf("the condition says %q", said)
	}
	c.checkDirect(t, pod) // the alarm is beforehand: pods have what they had

	c.run(t, fromSecret)
	c.awaitNoProxy(t, func(list string) bool { return list != "" && !covers(list) })
	requests := c.asked(t, func() {
		if output, err := c.node.Run(t.Context(), pod, "endpoint"); err == nil {
			t.Errorf("squid reaches the workload cluster, so this shows nothing: %q", output)
		}
	})
	for _, request := range requests {
		if request.Target != endpoint || request.Method != "CONNECT" || request.Status == 200 {
			t.Errorf("squid was asked %+v", request)
		}
	}

	c.shell(t, "helm upgrade fairlead-policies charts/fairlead-policies --namespace fairlead-system --reuse-values --set managementCluster.enabled=true --set 'managementCluster.endpointRanges={178.170.32.0/24}'")
	c.awaitNoProxy(t, covers)
	c.checkDirect(t, pod)
	c.shell(t, awaitFalse)
}
