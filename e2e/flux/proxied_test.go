package flux_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
	"github.com/fairlead-io/fairlead/e2e/node"
	"github.com/fairlead-io/fairlead/e2e/process"
)

// What source-controller writes into the URLs of artifacts: its --storage-adv-addr in Flux' own manifests.
const (
	sourceHost    = "source-controller.flux-system.svc.cluster.local"
	sourceHostDot = sourceHost + "."
)

// checkOwnCharts: helm-controller's own pod gets the policies that it has just installed, with the values that have
// come all the way. It runs in the company's network with the environment of that pod.
func (s *site) checkOwnCharts(t *testing.T) {
	network := machinetest.Network(t)
	squid, err := network.StartSquid(t.Context(), machine.SquidOptions{
		User: user, Password: third,
		Hosts: map[string]string{sourceHost: machine.InternetAddress}, // where nobody listens: a name that it asks DNS for takes it long
	})
	controlplanetest.Require(t, err)
	s.enterCluster(t, network)
	n := &node.Node{
		Network: network, Clients: controlplanetest.Clients(t, s.cp),
		Programs: map[string]string{"fluxcd/helm-controller": s.program},
	}
	objects, err := controlplane.Parse([]byte(strings.ReplaceAll(fmt.Sprintf(smallObjects, "own"), namespace, "flux-system")))
	controlplanetest.Require(t, err)
	delete(objects[1].Object["spec"].(map[string]any), "valuesFrom")
	objects[1].Object["spec"].(map[string]any)["values"] = map[string]any{"cluster": map[string]any{"proxy": map[string]any{"noProxy": "own"}}}
	s.source.pack(t, objects[0], smallChart(t), sourceHostDot)
	s.source.publish(t, s, objects[0])
	pod := s.createPod(t)
	s.source.hosts()

	t.Run("with the policies' environment", func(t *testing.T) {
		manager := start(t, n, pod)
		controlplanetest.Require(t, s.cp.ApplyObjects(t.Context(), objects[1]))
		s.awaitRevision(t, "flux-system", "own", 1)
		controlplanetest.Require(t, manager.Stop())
		if hosts := s.source.hosts(); !slices.Equal(hosts, []string{sourceHostDot}) {
			t.Errorf("the source was asked for hosts %v", hosts)
		}
		if requests, err := squid.Requests(); err != nil || len(requests) > 0 {
			t.Errorf("squid was asked: %+v, %v", requests, err)
		}
	})
	t.Run("without its entries that end in a dot", func(t *testing.T) {
		manager := start(t, n, withoutDots(t, pod))
		controlplanetest.Await(t, "squid to be asked for the chart", func(context.Context) (bool, error) {
			requests, err := squid.Requests()
			if err == nil && !slices.ContainsFunc(requests, isForChart) {
				err = fmt.Errorf("it was asked: %+v", requests)
			}
			return err == nil, err
		})
		controlplanetest.Require(t, manager.Stop())
		if hosts := s.source.hosts(); len(hosts) > 0 {
			t.Errorf("and yet the source was asked for hosts %v", hosts)
		}
	})
}

// isForChart: squid takes the final dot of a host away.
func isForChart(r machine.Request) bool {
	return r.User == user && r.Method == "GET" && strings.HasPrefix(r.Target, "http://"+sourceHost+"/ocirepository/flux-system/own/")
}

// start starts helm-controller, and shows what it has said if the test fails.
func start(t *testing.T, n *node.Node, pod *corev1.Pod) *process.Process {
	t.Helper()
	p, err := n.Start(t.Context(), pod, "manager")
	controlplanetest.Require(t, err)
	t.Cleanup(func() {
		_ = p.Stop()
		if text, err := p.Log(); t.Failed() {
			t.Log(text, err)
		}
	})
	return p
}

// enterCluster has the API server and the source answer in the cluster's network.
func (s *site) enterCluster(t *testing.T, network *machine.Network) {
	t.Helper()
	listener, err := network.Listen(t.Context(), machine.Cluster, machine.ServiceAddress+":443")
	controlplanetest.Require(t, err)
	machine.Forward(t.Context(), listener, machine.To(strings.TrimPrefix(s.cp.Admin().Host, "https://")))
	listener, err = network.Listen(t.Context(), machine.Cluster, machine.ServiceAddress+":80")
	controlplanetest.Require(t, err)
	s.source.serve(t, listener)
	kubeconfig, err := clientcmd.LoadFromFile(s.cp.AdminKubeconfig())
	controlplanetest.Require(t, err)
	for _, c := range kubeconfig.Clusters {
		c.Server, c.TLSServerName = "https://"+machine.ServiceAddress, "127.0.0.1"
	}
	text, err := clientcmd.Write(*kubeconfig)
	controlplanetest.Require(t, err)
	s.secret(t, "flux-system", "kubeconfig", map[string]string{"kubeconfig": string(text)})
}

// createPod creates the pod of Flux' own Deployment, once a pod gets the variables. Added are how to reach the API
// server, what a cluster's DNS would say, and that a failure is not tried again at once. Elections are left out, and
// its empty volume at /tmp: there is no image, and the program may be in a checkout below that.
func (s *site) createPod(t *testing.T) *corev1.Pod {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.module, "config", "manager", "deployment.yaml"))
	controlplanetest.Require(t, err)
	var deployment appsv1.Deployment
	controlplanetest.Require(t, yaml.UnmarshalStrict(text, &deployment))
	template := deployment.Spec.Template
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.GenerateName = "flux-system", "helm-controller-"
	no := false
	pod.Spec.AutomountServiceAccountToken = &no
	pod.Spec.HostAliases = []corev1.HostAlias{{IP: machine.ServiceAddress, Hostnames: []string{sourceHost}}}
	pod.Spec.Volumes = []corev1.Volume{{
		Name: "kubeconfig", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "kubeconfig"}},
	}}
	c := &pod.Spec.Containers[0]
	c.Args = slices.DeleteFunc(c.Args, func(arg string) bool { return arg == "--enable-leader-election" })
	c.Args = append(c.Args, "--http-retry=0")
	c.Env = append(c.Env, corev1.EnvVar{Name: "KUBECONFIG", Value: "/etc/flux/kubeconfig"})
	c.VolumeMounts = []corev1.VolumeMount{{Name: "kubeconfig", MountPath: "/etc/flux"}}
	controlplanetest.Await(t, "a pod that gets the variables", func(ctx context.Context) (bool, error) {
		probe := pod.DeepCopy()
		err := s.client.Create(ctx, probe, client.DryRunAll)
		return err == nil && noProxy(probe) != "", err
	})
	controlplanetest.Require(t, s.client.Create(t.Context(), pod))
	return pod
}

func noProxy(pod *corev1.Pod) string {
	for _, variable := range pod.Spec.Containers[0].Env {
		if variable.Name == "NO_PROXY" {
			return variable.Value
		}
	}
	return ""
}

// withoutDots is the pod with a NO_PROXY that does not have the names with a final dot.
func withoutDots(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	pod = pod.DeepCopy()
	removed := 0
	for i, variable := range pod.Spec.Containers[0].Env {
		if !strings.EqualFold(variable.Name, "NO_PROXY") {
			continue
		}
		entries := strings.Split(variable.Value, ",")
		rest := slices.DeleteFunc(slices.Clone(entries), func(entry string) bool { return strings.HasSuffix(entry, ".") })
		removed += len(entries) - len(rest)
		pod.Spec.Containers[0].Env[i].Value = strings.Join(rest, ",")
	}
	if removed == 0 {
		t.Fatal("there is no entry with a final dot")
	}
	return pod
}
