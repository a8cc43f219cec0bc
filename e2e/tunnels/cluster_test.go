package tunnels_test

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

// The proxy's user. The passwords need care in a URL, and in a variable of a pod.
const (
	user           = "tunnel@corp.example"
	password       = `p@ss %2F$$x$(HOME):/?#"\ü`
	credential     = "tunnel%40corp.example:p%40ss%20%252F$$x$(HOME)%3A%2F%3F%23%22%5C%C3%BC"
	wrong          = "tunnel%40corp.example:another"
	next           = "n:xt@2"
	nextCredential = "tunnel%40corp.example:n%3Axt%402"
)

const noProxy = "100.64.0.0/13,127.0.0.1,localhost,.svc,.cluster.local"

// agents is where vendors put agents of konnectivity. Kyverno keeps away from it unless it is told otherwise.
const agents = "kube-system"

// exclude is the label of a pod that no policy changes.
const exclude = "policies.kyverno.io/inject-proxy-env"

// plainURL returns the URL of squid, as corp sees it.
func plainURL(credential string) string {
	return "http://" + credential + "@" + net.JoinHostPort(machine.ProxyAddress, strconv.Itoa(machine.ProxyPort))
}

// secureURL returns the URL of squid's port for TLS, by the name that corp knows.
func secureURL(credential string) string {
	return "https://" + credential + "@" + net.JoinHostPort(machine.ProxyName, strconv.Itoa(machine.ProxyTLSPort))
}

func proxyValues(url string) map[string]any {
	return map[string]any{"http": url, "https": url, "noProxy": noProxy}
}

// cluster is a spoke's API server, with Kyverno and the chart's policies where those are wanted.
type cluster struct {
	stage     stage
	cp        *controlplane.ControlPlane
	clients   kubernetes.Interface
	authority *machine.Authority // of the hub, the agents and squid
	values    map[string]any     // of the chart
	hub       *controlplane.ControlPlane
}

func newCluster(t *testing.T, on stage, options controlplane.Options, values func(*machine.Authority) map[string]any) *cluster {
	t.Helper()
	authority, err := machine.NewAuthority("Example Corp")
	controlplanetest.Require(t, err)
	c := newPlainCluster(t, options, authority, values(authority))
	c.stage = on
	c.startKyverno(t, kyverno.Options{})
	return c
}

// newPlainCluster has what the agents need, and nothing of ours but what the replicator would bring.
func newPlainCluster(t *testing.T, options controlplane.Options, authority *machine.Authority, values map[string]any) *cluster {
	t.Helper()
	cp := controlplanetest.Start(t, options)
	c := &cluster{cp: cp, clients: controlplanetest.Clients(t, cp), authority: authority, values: values}
	controlplanetest.Require(t, cp.StartControllerManager(t.Context(), controlplane.ServiceAccounts))
	certificate, key, err := authority.Issue("konnectivity-agent")
	controlplanetest.Require(t, err)
	_, err = cp.ServiceAccount(t.Context(), agents, "konnectivity-agent")
	controlplanetest.Require(t, err)
	ca := map[string]string{"ca.crt": string(authority.PEM())}
	c.putConfig(t, agents, "kube-root-ca.crt", ca) // of kube-controller-manager, which is not told of this authority
	c.putConfig(t, agents, "konnectivity-ca-bundle", ca)
	c.put(t, agents, "konnectivity-agent", map[string][]byte{"tls.crt": certificate, "tls.key": key})
	c.setSecret(t, agents, plainURL(credential))
	return c
}

// startKyverno starts it with the chart's policies, and with kube-system, which it does not see by default.
func (c *cluster) startKyverno(t *testing.T, options kyverno.Options) {
	t.Helper()
	k, err := kyverno.Start(t.Context(), c.cp, options)
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, k.Configure(t.Context(), func(data map[string]string) {
		data["webhooks"] = strings.Replace(data["webhooks"], `"values":["kube-system"]`, `"values":["kube-public"]`, 1)
		data["resourceFilters"] = strings.Replace(data["resourceFilters"], "[*/*,kube-system,*]", "", 1)
	}))
	controlplanetest.Require(t, policies.Install(t.Context(), c.cp, c.values))
	controlplanetest.Require(t, policies.Serve(t.Context(), c.cp, agents))
}

// namespace has what the replicator keeps there, and the files of agents.
func (c *cluster) namespace(t *testing.T, url string) string {
	t.Helper()
	namespace := controlplanetest.Namespace(t, c.cp)
	c.setSecret(t, namespace, url)
	certificate, key, err := c.authority.Issue("agent")
	controlplanetest.Require(t, err)
	c.put(t, namespace, "agent", map[string][]byte{"ca.crt": c.authority.PEM(), "tls.crt": certificate, "tls.key": key})
	c.putConfig(t, namespace, policies.TrustedCA, map[string]string{"ca.crt": string(c.authority.PEM())})
	return namespace
}

// setSecret is the replicator, which brings the six variables.
func (c *cluster) setSecret(t *testing.T, namespace, url string) {
	t.Helper()
	data := map[string][]byte{"NO_PROXY": []byte(noProxy), "no_proxy": []byte(noProxy)}
	for _, key := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		data[key] = []byte(url)
	}
	c.put(t, namespace, policies.Secret, data)
}

// put makes or changes a Secret.
func (c *cluster) put(t *testing.T, namespace, name string, data map[string][]byte) {
	t.Helper()
	_, err := c.clients.CoreV1().Secrets(namespace).Apply(t.Context(), corev1apply.Secret(name, namespace).WithData(data), byForce)
	controlplanetest.Require(t, err)
}

// putConfig makes or changes a ConfigMap.
func (c *cluster) putConfig(t *testing.T, namespace, name string, data map[string]string) {
	t.Helper()
	_, err := c.clients.CoreV1().ConfigMaps(namespace).Apply(t.Context(), corev1apply.ConfigMap(name, namespace).WithData(data), byForce)
	controlplanetest.Require(t, err)
}

var byForce = metav1.ApplyOptions{FieldManager: "tunnels", Force: true}

// as is the pod of a manifest as an engine makes it: stored by Kyverno, or stored as fairlead mutate prints it. Both are
// made, and are the same.
func (c *cluster) as(t *testing.T, by engine, namespace string, manifest []byte) *corev1.Pod {
	t.Helper()
	printed, stored := c.printed(t, namespace, manifest, c.values), c.stored(t, namespace, podOf(t, manifest))
	if diff := gocmp.Diff(programsOf(stored), programsOf(printed)); diff != "" {
		t.Errorf("the pod as Kyverno (-) and as fairlead mutate makes it (+):\n%s", diff)
	}
	if by == byMutate {
		return printed
	}
	return stored
}

// printed is the pod that fairlead mutate makes with values of the chart, stored as it is.
func (c *cluster) printed(t *testing.T, namespace string, manifest []byte, values map[string]any) *corev1.Pod {
	t.Helper()
	return c.excluded(t, namespace, podOf(t, mutate(t, manifest, values)))
}

func mutate(t *testing.T, manifest []byte, values map[string]any, flags ...string) []byte {
	t.Helper()
	out, err := policies.Mutate(t.Context(), manifest, []any{values}, flags...)
	controlplanetest.Require(t, err)
	return out
}

// stored is the pod as the API server has it, once Kyverno changes it.
func (c *cluster) stored(t *testing.T, namespace string, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	var stored *corev1.Pod
	controlplanetest.Await(t, "a pod that the policy has changed", func(ctx context.Context) (bool, error) {
		dry, err := c.clients.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil || !relayed(dry) && !referring(dry) {
			return false, err
		}
		stored, err = c.create(ctx, namespace, pod)
		return err == nil, err
	})
	return stored
}

func (c *cluster) create(ctx context.Context, namespace string, pod *corev1.Pod) (*corev1.Pod, error) {
	return c.clients.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
}

// excluded is the pod stored as it is.
func (c *cluster) excluded(t *testing.T, namespace string, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	pod = pod.DeepCopy()
	pod.Labels[exclude] = "exclude"
	stored, err := c.create(t.Context(), namespace, pod)
	controlplanetest.Require(t, err)
	for i, container := range pod.Spec.Containers {
		has := stored.Spec.Containers[i]
		if diff := gocmp.Diff(container.Args, has.Args) + gocmp.Diff(names(container), names(has)); diff != "" {
			t.Fatalf("the pod that is excluded is stored otherwise (-given +stored):\n%s", diff)
		}
	}
	return stored
}

// names returns the names of a container's variables.
func names(container corev1.Container) []string {
	var all []string
	for _, e := range container.Env {
		all = append(all, e.Name)
	}
	return all
}

// referring: a container has a variable from the Secret.
func referring(pod *corev1.Pod) bool {
	for _, container := range pod.Spec.Containers {
		for _, e := range container.Env {
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && e.ValueFrom.SecretKeyRef.Name == policies.Secret {
				return true
			}
		}
	}
	return false
}

// relayed: it has the relay beside it, be that in the place of its target or a proxy.
func relayed(pod *corev1.Pod) bool {
	return len(pod.Spec.InitContainers) > 0 && pod.Spec.InitContainers[0].Name == "fairlead-relay"
}

// programs are what the containers of a pod are started with, but for the company's authorities, which another policy adds.
type programs struct {
	Containers []corev1.Container
	Aliases    []corev1.HostAlias
}

func programsOf(pod *corev1.Pod) programs {
	p := programs{Aliases: pod.Spec.HostAliases}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		env := slices.DeleteFunc(slices.Clone(c.Env), func(e corev1.EnvVar) bool { return strings.HasPrefix(e.Value, "/etc/fairlead/ca/") })
		p.Containers = append(p.Containers, corev1.Container{Name: c.Name, Image: c.Image, Command: c.Command, Args: c.Args, Env: env, EnvFrom: c.EnvFrom})
	}
	return p
}

// podOf is the pod of a manifest, or of its first workload of one of these names.
func podOf(t *testing.T, manifest []byte, called ...string) *corev1.Pod {
	t.Helper()
	objects, err := controlplane.Parse(manifest)
	controlplanetest.Require(t, err)
	for _, object := range objects {
		var pod corev1.Pod
		var set appsv1.DaemonSet // as a Deployment, as far as it matters
		switch kind := object.GetKind(); {
		case len(called) > 0 && called[0] != object.GetName():
			continue
		case kind == "Pod":
			controlplanetest.Require(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &pod))
		case kind == "DaemonSet" || kind == "Deployment":
			controlplanetest.Require(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &set))
			pod = corev1.Pod{ObjectMeta: set.Spec.Template.ObjectMeta, Spec: set.Spec.Template.Spec}
			pod.Namespace = set.Namespace
		default:
			continue
		}
		pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		pod.Name, pod.GenerateName = "", strings.TrimSuffix(cmp.Or(pod.GenerateName, object.GetName()), "-")+"-"
		return &pod
	}
	t.Fatalf("the manifest has no workload %s", called)
	return nil
}

func manifestOf(t *testing.T, object any) []byte {
	t.Helper()
	manifest, err := yaml.Marshal(object)
	controlplanetest.Require(t, err)
	return manifest
}

// first is the ConfigMap with which a manifest begins.
func first(t *testing.T, manifest []byte) *corev1.ConfigMap {
	t.Helper()
	objects, err := controlplane.Parse(manifest)
	controlplanetest.Require(t, err)
	config := &corev1.ConfigMap{}
	controlplanetest.Require(t, runtime.DefaultUnstructuredConverter.FromUnstructured(objects[0].Object, config))
	return config
}
