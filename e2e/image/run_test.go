package image_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/ports"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/repository"
)

// deployment returns a Deployment of a chart with its defaults, but for the proxy, which both charts
// must be told.
func deployment(t *testing.T, chart, name string, values any) *appsv1.Deployment {
	t.Helper()
	manifests, err := helm.Template(t.Context(), helm.Release{
		Chart: repository.Path("charts", chart), Name: chart, Namespace: operator.Namespace,
		Values: []any{values},
	})
	controlplanetest.Require(t, err)
	for _, document := range bytes.Split(manifests, []byte("\n---\n")) {
		var found appsv1.Deployment
		if yaml.Unmarshal(document, &found) == nil && found.Kind == "Deployment" && found.Name == name {
			return &found
		}
	}
	t.Fatalf("chart %s has no Deployment %s", chart, name)
	return nil
}

// operatorsDeployment returns the operator's Deployment.
func operatorsDeployment(t *testing.T) *appsv1.Deployment {
	t.Helper()
	return deployment(t, "fairlead", "fairlead-operator", policies.Values()["cluster"]) // proxy: …
}

// relayPod is a pod that the policy has put the relay into.
func relayPod(t *testing.T) *corev1.Pod {
	t.Helper()
	content := controlplanetest.ReadFile(t, filepath.Join(policies.Folder(), "tunnel-relay", ".kyverno-test", "patched.yaml"))
	for _, document := range bytes.Split(content, []byte("---\n")) {
		var pod corev1.Pod
		controlplanetest.Require(t, yaml.Unmarshal(document, &pod))
		if len(pod.Spec.InitContainers) > 0 && pod.Spec.InitContainers[0].Name == "fairlead-relay" {
			return &pod
		}
	}
	t.Fatal("no pod has the relay")
	return nil
}

func TestTheOperatorsImageBecomesReadyAsItsDeploymentSays(t *testing.T) {
	cp := controlplanetest.Shared(t, operator.Content...)
	controlplanetest.Require(t, operator.Install(t.Context(), cp))
	pod := operatorsDeployment(t).Spec.Template.Spec
	account, err := cp.ServiceAccount(t.Context(), operator.Namespace, pod.ServiceAccountName)
	controlplanetest.Require(t, err)
	host, port, _ := strings.Cut(strings.TrimPrefix(account.Host, "https://"), ":")

	spec := *pod.Containers[0].DeepCopy()
	spec.Env = append(spec.Env, corev1.EnvVar{Name: "KUBERNETES_SERVICE_HOST", Value: host}, corev1.EnvVar{Name: "KUBERNETES_SERVICE_PORT", Value: port})
	metrics, probes := reserve(t), reserve(t) // it shares the host's ports, because the API server listens there
	spec.Args = append(spec.Args, "--metrics-bind-address="+metrics.Address(), "--health-probe-bind-address="+probes.Address())
	running := container{
		image: "fairlead-operator", spec: spec, pod: pod.SecurityContext, hostNetwork: true,
		mounts: map[string]string{"/var/run/secrets/kubernetes.io/serviceaccount": folder(t, map[string]string{
			"token": account.BearerToken, "ca.crt": string(account.CAData), "namespace": operator.Namespace,
		})},
		ready: process.Answers("http://" + probes.Address() + "/readyz"),
	}.start(t)

	checkConfined(t, running)
	clients := controlplanetest.Clients(t, cp)
	controlplanetest.Await(t, "the lease of the container", func(ctx context.Context) (bool, error) {
		leases, err := clients.CoordinationV1().Leases(operator.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		holds := slices.ContainsFunc(leases.Items, func(l coordinationv1.Lease) bool {
			return strings.HasPrefix(ptr.Deref(l.Spec.HolderIdentity, ""), "fairlead-operator_") // the host's name is the pod's
		})
		return controlplanetest.Holds(holds, "there are %+v", leases.Items)
	})
}

func TestTheRelaysImageAnswersItsProbeBesideAnAgent(t *testing.T) {
	pod := relayPod(t)
	security := pod.Spec.SecurityContext
	if security == nil {
		security = &corev1.PodSecurityContext{}
	}
	// For the port of its target, as policies/tunnel-relay/README.md says of such pods.
	security.Sysctls = []corev1.Sysctl{{Name: "net.ipv4.ip_unprivileged_port_start", Value: "0"}}
	relay := container{
		image: "fairlead-relay", spec: pod.Spec.InitContainers[0], pod: security,
		mounts: map[string]string{"/run/fairlead-proxy": folder(t, map[string]string{"HTTPS_PROXY": "http://proxy.example:3128"})},
	}
	running := relay.start(t)
	probe := relay.spec.StartupProbe.HTTPGet
	var program int
	controlplanetest.Await(t, "the relay's "+probe.Path, func(ctx context.Context) (_ bool, err error) {
		if program, err = inside(running); err != nil {
			return false, err
		}
		url := "http://127.0.0.1:" + probe.Port.String() + probe.Path
		out, err := exec.CommandContext(ctx, "nsenter", "--net=/proc/"+strconv.Itoa(program)+"/ns/net", "curl", "--noproxy", "*", "-sS", "--fail", url).CombinedOutput()
		if err != nil {
			log, _ := running.Log()
			return false, errors.Join(err, errors.New(string(out)+log))
		}
		return true, nil
	})
	checkConfined(t, running)
}

func TestTheImageOfTheCommandLineRendersTheExample(t *testing.T) {
	got := container{
		image: "fairlead", pod: &corev1.PodSecurityContext{},
		spec: corev1.Container{
			Args: []string{"render", "--values", "/input/secret-values.yaml", "--cluster", "/input/cluster.yaml", "-o", "noproxy"},
			SecurityContext: &corev1.SecurityContext{
				ReadOnlyRootFilesystem: ptr.To(true), AllowPrivilegeEscalation: ptr.To(false),
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		},
		mounts: map[string]string{"/input": repository.Path("examples")},
	}.output(t)
	readme := controlplanetest.ReadFile(t, repository.Path("README.md"))
	if got = strings.TrimSpace(got); !strings.HasPrefix(got, "100.64.0.0/13,") || !strings.Contains(string(readme), got) {
		t.Errorf("README.md does not show what it prints: %s", got)
	}
}

// checkConfined asks the kernel what the program may.
func checkConfined(t *testing.T, running *process.Process) {
	t.Helper()
	program, err := inside(running)
	controlplanetest.Require(t, err)
	content := controlplanetest.ReadFile(t, "/proc/"+strconv.Itoa(program)+"/status")
	status := map[string]string{}
	for line := range strings.Lines(string(content)) {
		key, value, _ := strings.Cut(line, ":")
		status[key] = strings.Join(strings.Fields(value), " ")
	}
	const user, none = "65532 65532 65532 65532", "0000000000000000"
	for key, want := range map[string]string{
		"Uid": user, "Gid": user, "NoNewPrivs": "1",
		"CapInh": none, "CapPrm": none, "CapEff": none, "CapBnd": none, "CapAmb": none,
	} {
		if status[key] != want {
			t.Errorf("%s is %q, want %q", key, status[key], want)
		}
	}
	mounts := controlplanetest.ReadFile(t, "/proc/"+strconv.Itoa(program)+"/mounts")
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); fields[1] == "/" && !strings.HasPrefix(fields[3], "ro") {
			t.Errorf("its root is %s", fields[3])
		}
	}
}

// inside is the program that runc has started: its own child.
func inside(running *process.Process) (int, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", running.PID()))
	if err != nil {
		return 0, err
	}
	for _, thread := range threads {
		children, err := os.ReadFile(thread)
		if err == nil && len(bytes.TrimSpace(children)) > 0 {
			return strconv.Atoi(strings.Fields(string(children))[0])
		}
	}
	return 0, errors.New("runc has started nothing yet")
}

func reserve(t *testing.T) *ports.Port {
	t.Helper()
	port, err := ports.Reserve()
	controlplanetest.Require(t, err)
	t.Cleanup(func() { _ = port.Release() })
	return port
}

// folder writes the files as the kubelet does for a pod with runAsUser: that user can read them.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fairlead-image-")
	controlplanetest.Require(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	controlplanetest.Require(t, os.Chmod(dir, 0o755))
	for name, content := range files {
		path := filepath.Join(dir, name)
		controlplanetest.Require(t, os.WriteFile(path, []byte(content), 0o600))
		controlplanetest.Require(t, os.Chown(path, 65532, 65532))
	}
	return dir
}
