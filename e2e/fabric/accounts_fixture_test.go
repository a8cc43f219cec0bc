package fabric_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/deployment"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

const (
	observationPeriod = 20 * time.Second
	workload          = "workload" // the Cluster
)

// accounts are a management cluster with the operator and observe, and a workload cluster with the replicator, relays
// and the probe. The values of the workload cluster are those that the operator writes.
type accounts struct {
	*fabric
	cp         *controlplane.ControlPlane // of the workload cluster
	management client.Client
	proxy      *v1alpha1.CorporateProxy
	said       *conditions
	installed  string // the values
}

func newAccounts(t *testing.T) *accounts {
	t.Helper()
	a := &accounts{cp: controlplanetest.Start(t, controlplane.Options{})}
	a.fabric = newNode(t, a.cp, machine.SquidOptions{User: user, Password: password, Starts: true})
	controlplanetest.Require(t, a.squid.SetUsers(t.Context(), map[string]string{user: password, nextUser: nextPassword}))
	a.startManagement()
	a.install()
	a.startFollow(a.cp)
	a.startReplicator()
	a.startProbe()
	service, err := a.clients.CoreV1().Services(system).Get(t.Context(), "fairlead-relay", metav1.GetOptions{})
	controlplanetest.Require(t, err)
	a.service = service.Spec.ClusterIP
	return a
}

// startManagement starts the operator and observe, each with its own rights, and makes a Cluster with a CorporateProxy.
func (a *accounts) startManagement() {
	t := a.t
	cp := controlplanetest.Start(t, controlplane.Options{})
	controlplanetest.Require(t, operator.Install(t.Context(), cp))
	controlplanetest.Require(t, cp.ApplyFS(t.Context(), config.Observe))
	_, err := operator.Start(t.Context(), cp, operator.Options{Args: []string{"--leader-elect=false"}})
	controlplanetest.Require(t, err)
	a.management = controlplanetest.Client(t, cp.Admin(), operator.Scheme)

	kubeconfig := controlplanetest.ReadFile(t, a.cp.AdminKubeconfig())
	url := fmt.Sprintf("http://%s:%d", machine.ProxyAddress, machine.ProxyPort)
	a.proxy = &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: "corp"}, Spec: v1alpha1.CorporateProxySpec{
		ClusterSelector: &metav1.LabelSelector{},
		Source:          v1alpha1.ProxySource{URL: &v1alpha1.ProxyURLs{HTTP: url, HTTPS: url, CredentialsRef: &v1alpha1.SecretReference{Name: user}}},
		Rollout:         &v1alpha1.Rollout{Waves: []v1alpha1.Wave{{Name: "all"}}},
		Probes:          &v1alpha1.Probes{},
	}}
	cluster := operator.Cluster("default", workload)
	cluster.Spec.ClusterNetwork.Services.CIDRBlocks, cluster.Spec.ClusterNetwork.Pods.CIDRBlocks = []string{"10.96.0.0/12"}, []string{pods}
	for _, object := range []client.Object{
		secretWith(operator.Namespace, user, map[string]string{"username": user, "password": password}),
		secretWith(operator.Namespace, nextUser, map[string]string{"username": nextUser, "password": nextPassword}),
		secretWith("default", workload+"-kubeconfig", map[string]string{"value": string(kubeconfig)}),
		a.proxy,
		cluster,
	} {
		controlplanetest.Require(t, a.management.Create(t.Context(), object))
	}
	_, err = deployment.Run(t.Context(), cp, deployment.Spec{
		Namespace: operator.Namespace, ServiceAccount: "fairlead-observe",
		Command: []string{"fairlead-operator", "observe", "--period=" + observationPeriod.String(), "--probe-namespace=" + system},
	})
	controlplanetest.Require(t, err)
	a.said = watchCondition(t, a.management, a.proxy)
}

func secretWith(namespace, name string, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: data}
}

// install brings <cluster>-cluster-values to the workload cluster, as Helm does for App CRs and Flux, once they are others than before.
func (a *accounts) install() {
	t := a.t
	t.Helper()
	own := map[string]any{
		"engine": "Native", "relay": map[string]any{"enabled": true}, "tunnels": map[string]any{"enabled": false}, "audit": map[string]any{"enabled": false},
		"probe": map[string]any{"enabled": true, "period": observationPeriod.String()},
	}
	before := a.installed
	controlplanetest.Await(t, "other values", func(ctx context.Context) (bool, error) {
		secret := &corev1.Secret{}
		if err := a.management.Get(ctx, client.ObjectKey{Namespace: "default", Name: workload + render.ValuesSuffix}, secret); err != nil {
			report, found := &v1alpha1.ProxyReport{}, &v1alpha1.CorporateProxy{}
			_ = a.management.Get(ctx, client.ObjectKey{Namespace: "default", Name: workload}, report)
			_ = a.management.Get(ctx, client.ObjectKeyFromObject(a.proxy), found)
			return false, fmt.Errorf("%w; report %+v; proxy %+v", err, report.Status.Conditions, found.Status.Conditions)
		}
		a.installed = string(secret.Data[render.ValuesKey])
		return controlplanetest.Holds(a.installed != before, "they are as before")
	})
	controlplanetest.Require(t, policies.Install(t.Context(), a.cp, own, []byte(a.installed)))
}

// kubeconfig returns the kubeconfig of a service account of the workload cluster.
func (a *accounts) kubeconfig(name string) string {
	a.t.Helper()
	account, err := a.cp.ServiceAccount(a.t.Context(), system, name)
	controlplanetest.Require(a.t, err)
	path, err := a.cp.Kubeconfig(account)
	controlplanetest.Require(a.t, err)
	return path
}

// onNode starts a role of the operator's program on the node, and makes the Pod by which the probe finds it.
func (a *accounts) onNode(name, component string, port int32, args ...string) {
	a.t.Helper()
	a.runOnNode(name, controlplanetest.Program(a.t, "fairlead-operator"), args...)
	a.own(name, component, "metrics", machine.CorpAddress, port)
}

// own makes the Pod object of one of our programs.
func (a *accounts) own(name, component, portName, address string, port int32) {
	a.t.Helper()
	a.podObject(system, name, address, map[string]string{
		"app.kubernetes.io/instance": policies.Release, "app.kubernetes.io/component": component, "policies.kyverno.io/inject-proxy-env": "exclude",
	}, corev1.ContainerPort{Name: portName, ContainerPort: port}, corev1.ContainerPort{Name: "proxy", ContainerPort: 3128})
}

// startReplicator runs what the chart deploys.
func (a *accounts) startReplicator() {
	a.onNode("fairlead-replicator", "replicator", 8080, a.deployed("fairlead-replicator", "--count-credentials")...)
}

// startProbe runs what the chart deploys. It may read no Secret. Its settings are the relays': the chart mounts the same Secret.
func (a *accounts) startProbe() {
	args := a.deployed("fairlead-probe", "--count=copies,relays")
	targets := a.t.TempDir() + "/targets.yaml"
	write(a.t, targets, "[]")
	a.onNode("fairlead-probe", "probe", 8090, append(args, "--folder="+a.folder, "--targets="+targets, "--metrics-bind-address=:8090", "--health-probe-bind-address=:8091")...)
}

// deployed are the arguments of a Deployment that counts, with the kubeconfig of its service account.
func (a *accounts) deployed(name, counts string) []string {
	var found *appsv1.Deployment
	controlplanetest.Await(a.t, "the Deployment "+name, func(ctx context.Context) (_ bool, err error) {
		found, err = a.clients.AppsV1().Deployments(system).Get(ctx, name, metav1.GetOptions{})
		return err == nil, err
	})
	args := found.Spec.Template.Spec.Containers[0].Args
	if !slices.Contains(args, counts) {
		a.t.Fatalf("%s does not count: %v", name, args)
	}
	return append(args, "--kubeconfig="+a.kubeconfig(name))
}

// seen returns the probe's published observations of an account; nothing while it knows none.
func (a *accounts) seen(fingerprint string) (probe.CredentialsSeen, probe.Result) {
	a.t.Helper()
	var result probe.Result
	configMap, err := a.clients.CoreV1().ConfigMaps(system).Get(a.t.Context(), probe.ConfigMapName, metav1.GetOptions{})
	controlplanetest.Require(a.t, err)
	if text := configMap.Data[probe.ResultKey]; text != "" {
		controlplanetest.Require(a.t, json.Unmarshal([]byte(text), &result))
	}
	for _, s := range result.Credentials {
		if s.Fingerprint == fingerprint {
			return s, result
		}
	}
	return probe.CredentialsSeen{}, result
}

// conditions has the states of the condition OldCredentialsUnseen so far.
type conditions struct {
	mutex sync.Mutex
	last  metav1.Condition
	first time.Time // when it was True for the first time
	log   []string
}

// watchCondition asks again and again.
func watchCondition(t *testing.T, from client.Client, proxy *v1alpha1.CorporateProxy) *conditions {
	t.Helper()
	c := &conditions{}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var done sync.WaitGroup
	done.Go(func() {
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			found := &v1alpha1.CorporateProxy{}
			if from.Get(ctx, client.ObjectKeyFromObject(proxy), found) == nil {
				c.note(meta.FindStatusCondition(found.Status.Conditions, v1alpha1.ConditionOldCredentialsUnseen))
			}
		}, 200*time.Millisecond)
	})
	t.Cleanup(func() {
		cancel()
		done.Wait()
		t.Logf("OldCredentialsUnseen:\n%s", strings.Join(c.log, "\n"))
	})
	return c
}

func (c *conditions) note(found *metav1.Condition) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if found == nil {
		found = &metav1.Condition{}
	}
	if found.Status == metav1.ConditionTrue && c.first.IsZero() {
		c.first = time.Now()
	}
	if found.Status != c.last.Status || found.Message != c.last.Message {
		c.log = append(c.log, fmt.Sprintf("%s %s %s", time.Now().Format("15:04:05.0"), found.Status, found.Message))
	}
	c.last = *found
}

func (c *conditions) now() (metav1.Condition, time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.last, c.first
}
