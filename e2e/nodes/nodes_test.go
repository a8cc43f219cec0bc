// Package nodes goes the whole way, with the example that users copy from: a CorporateProxy, the operator, the
// Secret, the kubeadm bootstrap provider, cloud-init, systemd, containerd, squid, a registry.
package nodes_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/clusterapi"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

const (
	username = `nodes@corp.example`
	password = `p%40ss "w\ö/rd#$:n {{ 7*7 }}`
	image    = "hello:1"
)

func TestAMachineOfTheExamplePullsThroughTheProxy(t *testing.T) {
	site := newSite(t)
	fleet := newFleet(t, site.authority.PEM(), v1alpha1.NodeSettings{Files: []string{"EnvironmentFile", "StaticPods"}, Base64Twins: true})
	data := fleet.bootstrapData(t, exampleSpec(t, "kubeadm-debian.yaml"))

	t.Run("not without its drop-in", func(t *testing.T) {
		m := site.boot(t, data, nil)
		run(t, m, "rm /etc/systemd/system/containerd.service.d/http-proxy.conf; systemctl daemon-reload; systemctl restart containerd")
		if err := m.Pull(t.Context(), machine.InternetName+"/"+image); err == nil || !strings.Contains(err.Error(), "network is unreachable") {
			t.Errorf("pulling from the internet: %v", err)
		}
		controlplanetest.Require(t, m.Pull(t.Context(), machine.ServiceAddress+"/"+image)) // all else is well
		controlplanetest.Require(t, m.PowerOff(t.Context()))
		if requests := site.requests(t); len(requests) != 0 {
			t.Errorf("squid was asked: %+v", requests)
		}
	})
	t.Run("as it is", func(t *testing.T) {
		m := site.boot(t, data, nil)
		for _, host := range []string{machine.ServiceAddress, machine.EndpointAddress, machine.InternetName} {
			controlplanetest.Require(t, m.Pull(t.Context(), host+"/"+image))
		}
		checkContainerd(t, m)
		// There is no kubelet here, and its drop-in does no harm.
		_, err := m.ReadFile("/etc/systemd/system/kubelet.service.d/http-proxy.conf")
		controlplanetest.Require(t, err)
		if state, err := m.Run(t.Context(), "systemctl", "show", "--property=LoadState,ActiveState", "kubelet.service"); state != "LoadState=not-found\nActiveState=inactive\n" {
			t.Errorf("kubelet.service is %q (%v)", state, err)
		}
		checkStaticPods(t, m)
		checkFiles(t, m)
		controlplanetest.Require(t, site.squid.SetPassword(t.Context(), "another"))
		if err := m.Pull(t.Context(), machine.InternetName+"/"+image); err == nil || !strings.Contains(err.Error(), ": Proxy Authentication Required") {
			t.Errorf("with the password of before: %v", err)
		}
		controlplanetest.Require(t, m.PowerOff(t.Context())) // ends the tunnels
		tunnel := machine.Request{User: username, Method: "CONNECT", Target: machine.InternetName + ":443", Status: 200}
		controlplanetest.Await(t, "the tunnel in squid's log", func(context.Context) (bool, error) {
			requests := site.requests(t)
			return controlplanetest.Holds(slices.Contains(requests, tunnel), "it has %+v", requests)
		})
		for _, request := range site.requests(t) {
			if request.Target != tunnel.Target {
				t.Errorf("squid was asked for what is to be reached directly: %+v", request)
			}
		}
	})
}

// exampleSpec returns the KubeadmConfigSpec of the control plane in an example of examples/nodes.
func exampleSpec(t *testing.T, name string) bootstrapv1.KubeadmConfigSpec {
	t.Helper()
	content := controlplanetest.ReadFile(t, filepath.Join("..", "..", "examples", "nodes", name))
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		var object struct {
			Kind string
			Spec struct{ KubeadmConfigSpec bootstrapv1.KubeadmConfigSpec }
		}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		if object.Kind == "KubeadmControlPlane" {
			spec := object.Spec.KubeadmConfigSpec
			// kubeadm looks for it by the default route, and corp has none.
			spec.InitConfiguration.LocalAPIEndpoint.AdvertiseAddress = "192.168.52.10"
			return spec
		}
	}
	t.Fatal("the example has no KubeadmControlPlane")
	return bootstrapv1.KubeadmConfigSpec{}
}

// checkContainerd: the process has the variables, and who asks systemd for the unit's environment sees nothing.
func checkContainerd(t *testing.T, m *machine.Machine) {
	t.Helper()
	environment := run(t, m, "cat /proc/$(pidof containerd)/environ")
	for _, want := range []string{"HTTPS_PROXY=http://nodes%40corp.example:p%2540ss", "NO_PROXY=", "100.64.0.0/13", machine.EndpointAddress} {
		if !strings.Contains(environment, want) {
			t.Errorf("containerd lacks %s", want)
		}
	}
	shown := run(t, m, "systemctl show containerd.service")
	if strings.Contains(shown, "p%2540ss") || !strings.Contains(shown, "/etc/fairlead/proxy.env") {
		t.Error("systemctl show shows the password to everyone, or does not read the file")
	}
	wantPrivate(t, m, "/etc/fairlead/proxy.env")
}

func wantPrivate(t *testing.T, m *machine.Machine, file string) {
	t.Helper()
	if permissions := run(t, m, "stat --format='%a %U' "+file); permissions != "600 root\n" {
		t.Errorf("%s: %q", file, permissions)
	}
}

// checkFiles: the password is nowhere else, also not where cloud-init keeps and logs what it did. (Its copy of
// the user data has it in base64, and is root's.)
func checkFiles(t *testing.T, m *machine.Machine) {
	t.Helper()
	const find = "find / -xdev -path /usr -prune -o -type f -exec grep -lF 'p%2540ss' {} +"
	found, err := m.Run(t.Context(), "sh", "-c", find)
	if found != "/etc/fairlead/proxy.env\n" { // 0600, see checkContainerd
		t.Errorf("the password is in %q (%v)", found, err)
	}
}

// checkStaticPods: kubeadm runs with the proxy's variables, as it does where it pulls images itself, and its
// manifests have none of them. No kubelet can run here, so this phase of kubeadm init is run by itself.
func checkStaticPods(t *testing.T, m *machine.Machine) {
	t.Helper()
	run(t, m, "systemd-run --quiet --pipe --wait --property=EnvironmentFile=/etc/fairlead/proxy.env "+
		"/usr/local/bin/kubeadm init phase control-plane all --config /run/kubeadm/kubeadm.yaml")
	manifests := run(t, m, "cat /etc/kubernetes/manifests/kube-*.yaml")
	if strings.Count(manifests, "kind: Pod") != 3 || strings.Contains(strings.ToLower(manifests), "_proxy") {
		t.Errorf("the manifests of the control plane are\n%s", manifests)
	}
}

// site is the company: its networks, its proxy, and the destinations.
type site struct {
	network   *machine.Network
	squid     *machine.Squid
	authority *machine.Authority
	internet  *machine.Registry
}

func newSite(t *testing.T) *site {
	t.Helper()
	authority, err := machine.NewAuthority("Example Corp Root CA")
	controlplanetest.Require(t, err)
	n := machinetest.Network(t)
	s := &site{network: n, authority: authority}
	for address, where := range map[string]machine.Namespace{
		machine.InternetAddress: machine.Internet, machine.ServiceAddress: machine.Cluster, machine.EndpointAddress: machine.Cluster,
	} {
		registry, err := n.StartRegistry(t.Context(), where, address, s.authority, machine.InternetName)
		controlplanetest.Require(t, err)
		controlplanetest.Require(t, registry.Push(t.Context(), image))
		if where == machine.Internet {
			s.internet = registry
		}
	}
	s.squid, err = n.StartSquid(t.Context(), machine.SquidOptions{User: username, Password: password})
	controlplanetest.Require(t, err)
	return s
}

// boot starts a machine from the very bytes of the bootstrap data, with these files in its image.
func (s *site) boot(t *testing.T, data clusterapi.BootstrapData, baked map[string]string) *machine.Machine {
	t.Helper()
	kubeadm := controlplanetest.Tool(t, tools.Kubeadm)
	m, err := s.network.Boot(t.Context(), machine.Options{UserData: data.Value, Programs: []string{kubeadm}, Baked: baked, Progress: os.Stderr})
	controlplanetest.Require(t, err)
	t.Cleanup(func() { _ = m.Kill() }) // if the test has failed: the next one has a machine of its own
	result, err := m.AwaitCloudInit(t.Context())
	controlplanetest.Require(t, err)
	for _, failure := range result.Errors {
		if !strings.Contains(failure, "scripts") { // kubeadm init, which finds no kubelet
			t.Errorf("cloud-init says: %s", failure)
		}
	}
	return m
}

func (s *site) requests(t *testing.T) []machine.Request {
	t.Helper()
	requests, err := s.squid.Requests()
	controlplanetest.Require(t, err)
	return requests
}

// run runs a script, which must succeed, and returns its output.
func run(t *testing.T, m *machine.Machine, script string) string {
	t.Helper()
	out, err := m.Run(t.Context(), "sh", "-euc", script)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}
