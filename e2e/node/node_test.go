package node_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
	"github.com/fairlead-io/fairlead/e2e/node"
)

func TestAContainerHasTheEnvironmentAndArgumentsOfItsPodAndNoOther(t *testing.T) {
	t.Setenv("http_proxy", "http://somebody.else:8080")
	n := newNode(t, secret(map[string]string{"url": "http://$(HOME)", "HOME": "/from"}), configMap(map[string]string{"LEVEL": "4", "MY_HOME": "/later"}))
	n.ServiceEnv = map[string]string{"KUBERNETES_SERVICE_HOST": "100.64.0.1", "LEVEL": "0"}
	n.Programs = map[string]string{"/agent": "/usr/bin/python3"}
	c := corev1.Container{
		Name: "agent", Image: "agent:1", WorkingDir: "/opt/agent/work",
		Command: []string{"/agent", "-c", "import os, sys; print(os.getcwd()); print(sys.argv[1:]); [print(k, v, sep='=') for k, v in os.environ.items() if k != 'LC_CTYPE']"},
		Args:    []string{"--url=$(URL)", "$$(URL)", "$(UNKNOWN)", "$(KUBERNETES_SERVICE_HOST)"},
		EnvFrom: []corev1.EnvFromSource{
			{Prefix: "MY_", SecretRef: &corev1.SecretEnvSource{LocalObjectReference: ref}},
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: ref}},
		},
		Env: []corev1.EnvVar{
			{Name: "NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
			{Name: "URL", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: ref, Key: "url"}}},
			{Name: "BOTH", Value: "$(NAME) at $(MY_HOME)"},
		},
	}
	pod := pod(corev1.PodSpec{InitContainers: []corev1.Container{c}})
	output, err := n.Run(t.Context(), pod, "agent")
	controlplanetest.Require(t, err)
	want := `/opt/agent/work
['--url=http://$(HOME)', '$(URL)', '$(UNKNOWN)', '100.64.0.1']
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
KUBERNETES_SERVICE_HOST=100.64.0.1
MY_url=http://$(HOME)
LEVEL=4
MY_HOME=/later
NAME=agent-0
URL=http://$(HOME)
BOTH=agent-0 at /later
`
	if diff := cmp.Diff(want, output); diff != "" {
		t.Errorf("what the program was given (-want +got):\n%s", diff)
	}
	if _, err := os.Stat("/opt/agent"); err == nil {
		t.Error("the working directory is on this machine's disk")
	}
}

func TestAContainerSeesHostAliasesAndVolumes(t *testing.T) {
	n := newNode(t, secret(map[string]string{"tls.key": "one", "ca.crt": "authority"}), configMap(map[string]string{"agent.toml": "port = 1"}))
	mode := int32(0o400)
	p := pod(corev1.PodSpec{
		HostAliases: []corev1.HostAlias{{IP: machine.ProxyAddress, Hostnames: []string{"proxy", "proxy.alias.example"}}},
		Volumes: []corev1.Volume{
			{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
				SecretName: ref.Name, DefaultMode: &mode, Items: []corev1.KeyToPath{{Key: "tls.key", Path: "private/key"}},
			}}},
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: ref}}},
			{Name: "all", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{Secret: &corev1.SecretProjection{LocalObjectReference: ref, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca"}}}},
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: ref}},
			}}}},
			{Name: "empty", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		},
	})
	mounts := []corev1.VolumeMount{
		{Name: "tls", MountPath: "/tls/"},
		{Name: "config", MountPath: "/etc/fairlead-agent/agent.toml", SubPath: "agent.toml"},
		{Name: "all", MountPath: "/var/run/secrets/agent"},
		{Name: "empty", MountPath: "/opt/state"},
	}
	const look = `getent ahosts proxy.alias.example | head -n1; stat -Lc %a /tls/private/key; cat /tls/private/key /etc/fairlead-agent/agent.toml
		cat /var/run/secrets/agent/ca /var/run/secrets/agent/agent.toml; ls /tls /opt/state; getent ahosts web.shop.svc | head -n1; touch /opt/state/seen`
	const watch = `until grep -q two /tls/private/key; do sleep .05; done; ls /opt/state; cat /etc/fairlead-agent/agent.toml`
	for name, script := range map[string]string{"look": look, "watch": watch} {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: name, Command: []string{"sh", "-c", script}, VolumeMounts: mounts})
	}
	watching, err := n.Start(t.Context(), p, "watch")
	controlplanetest.Require(t, err)
	output, err := n.Run(t.Context(), p, "look")
	controlplanetest.Require(t, err)
	want := "192.168.52.220  STREAM proxy\n400\noneport = 1authorityport = 1/opt/state:\n\n/tls:\nprivate\n100.64.0.10     STREAM web.shop.svc\n"
	if diff := cmp.Diff(want, output); diff != "" {
		t.Errorf("what it sees (-want +got):\n%s", diff)
	}
	for _, folder := range []string{"/tls", "/etc/fairlead-agent", "/opt/state", "/var/run/secrets/agent"} {
		if _, err := os.Stat(folder); err == nil {
			t.Errorf("%s is on this machine's disk", folder)
		}
	}
	changed := secret(map[string]string{"tls.key": "two", "ca.crt": "authority"})
	_, err = n.Clients.CoreV1().Secrets(namespace).Update(t.Context(), changed, metav1.UpdateOptions{})
	controlplanetest.Require(t, err)
	_, err = n.Clients.CoreV1().ConfigMaps(namespace).Update(t.Context(), configMap(map[string]string{"agent.toml": "port = 2"}), metav1.UpdateOptions{})
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, n.Refresh(t.Context(), p))
	controlplanetest.Require(t, watching.Wait(t.Context()))
	if log, err := watching.Log(); log != "seen\nport = 1" { // a subPath stays as it was
		t.Errorf("the other container sees %q (%v)", log, err)
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	n := newNode(t, secret(map[string]string{"url": "x"}))
	key := func(name, key string) []corev1.EnvVar {
		selector := &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key}
		return []corev1.EnvVar{{Name: "URL", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: selector}}}
	}
	for want, c := range map[string]corev1.Container{
		"container c: CreateContainerConfigError: env URL: couldn't find key k in Secret " + namespace + "/agent": {Env: key("agent", "k")},
		`container c: CreateContainerConfigError: env URL: secrets "other" not found`:                             {Env: key("other", "k")},
		`container c: volumeMount v: the pod has no such volume`:                                                  {VolumeMounts: []corev1.VolumeMount{{Name: "v"}}},
		`container c: command[0]: exec: "/agent"`:                                                                 {Command: []string{"/agent"}},
	} {
		c.Name = "c"
		if c.Command == nil {
			c.Command = []string{"true"}
		}
		if _, err := n.Run(t.Context(), pod(corev1.PodSpec{Containers: []corev1.Container{c}}), "c"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	p := pod(corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Command: []string{"true"}}},
		Volumes:    []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "other"}}}},
	})
	if _, err := n.Run(t.Context(), p, "c"); err == nil || !strings.Contains(err.Error(), `MountVolume.SetUp failed for volume "v": secrets "other" not found`) {
		t.Errorf("the error is %v", err)
	}
}

const namespace = "tunnels"

var ref = corev1.LocalObjectReference{Name: "agent"}

func secret(data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: ref.Name}, Data: map[string][]byte{}}
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	return s
}

func configMap(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: ref.Name}, Data: data}
}

func pod(spec corev1.PodSpec) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "agent-0"}, Spec: spec}
}

func newNode(t *testing.T, objects ...runtime.Object) *node.Node {
	t.Helper()
	return &node.Node{Network: machinetest.Network(t), Clients: fake.NewClientset(objects...)}
}
