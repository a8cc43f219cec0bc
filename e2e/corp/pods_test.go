package corp_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
)

// client is a program that a pod runs; it gets a URL and prints the content.
type client struct {
	name    string
	command []string
}

// target is a destination of a client, with the expected output.
type target struct {
	name, url string
	says      string
	asked     machine.Request // of squid; nobody, if it is in the cluster
}

func targets() []target {
	tunnel := func(host string) machine.Request {
		return machine.Request{User: username, Method: "CONNECT", Target: host + ":443", Status: 200}
	}
	const plain = "http://" + machine.InternetName + "/"
	return []target{
		{"https", "https://" + machine.InternetName + "/", outside, tunnel(machine.InternetName)},
		{"address", "https://" + machine.InternetAddress + "/", outside, tunnel(machine.InternetAddress)},
		{"http", plain, outside, machine.Request{User: username, Method: "GET", Target: plain, Status: 200}},
		{"service", "https://" + machine.ServiceAddress + "/", inside, machine.Request{}},
		{"service-name", "http://" + machine.ServiceName + "/", inside, machine.Request{}},
	}
}

// clients: curl reads http_proxy in lower case only, Go prefers upper case, Python and wget do not understand CIDRs.
func clients(t *testing.T, caFile string) []client {
	t.Helper()
	fetch := filepath.Join(t.TempDir(), "fetch")
	if output, err := exec.CommandContext(t.Context(), "go", "build", "-o", fetch, "./fetch").CombinedOutput(); err != nil {
		t.Fatalf("build fetch: %v\n%s", err, output)
	}
	const python = "import sys, urllib.request as u; sys.stdout.write(u.urlopen(sys.argv[1], timeout=20).read().decode())"
	return []client{
		{"curl", []string{"curl", "--fail", "--silent", "--show-error", "--max-time", "20"}},
		{"go", []string{fetch}},
		{"python", []string{"/usr/bin/python3", "-c", python}},
		{"wget", []string{"wget", "--quiet", "--output-document=-", "--tries=1", "--timeout=20", "--ca-certificate=" + caFile}},
	}
}

// container runs one client for one target. Nobody pulls its image: its program is one of this machine, and so is
// the file with the authority of the web sites.
func container(prefix string, c client, to target, caFile string) corev1.Container {
	return corev1.Container{
		Name: prefix + c.name + "-" + to.name, Image: "registry.example/" + c.name + ":1",
		Command: slices.Concat(c.command, []string{to.url}),
		Env:     []corev1.EnvVar{{Name: "SSL_CERT_FILE", Value: caFile}},
	}
}

// fetching is a pod that fetches every target with every client, and as init container and native sidecar with
// one each.
func fetching(clients []client, caFile string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "fetching-"}}
	for _, to := range targets() {
		for _, c := range clients {
			pod.Spec.Containers = append(pod.Spec.Containers, container("", c, to, caFile))
		}
		sidecar := container("sidecar-", clients[1], to, caFile)
		sidecar.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, sidecar, container("init-", clients[0], to, caFile))
	}
	return pod
}

// of returns the target of a container, which container made.
func of(t *testing.T, c corev1.Container) target {
	t.Helper()
	url := c.Command[len(c.Command)-1]
	i := slices.IndexFunc(targets(), func(to target) bool { return to.url == url })
	if i < 0 {
		t.Fatalf("container %s fetches %s", c.Name, url)
	}
	return targets()[i]
}

// create returns the pod as the API server stored it. Nobody makes the ConfigMap kube-root-ca.crt, without which the
// volume of its token cannot be.
func (h *harness) create(t *testing.T, namespace string, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	pod.Spec.AutomountServiceAccountToken = new(bool)
	created, err := h.clients.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	stored, err := h.clients.CoreV1().Pods(namespace).Get(t.Context(), created.Name, metav1.GetOptions{})
	controlplanetest.Require(t, err)
	return stored
}

func allContainers(pod *corev1.Pod) []corev1.Container {
	return slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
}
