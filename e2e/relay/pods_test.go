package relay_test

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/machine"
)

// agentPod is a pod of an agent that has its files from the Secret of that name.
func agentPod(name string, labels map[string]string, container corev1.Container) *corev1.Pod {
	container.Image = "registry.example/" + container.Name + ":1"
	container.VolumeMounts = []corev1.VolumeMount{{Name: "agent", MountPath: "/etc/agent", ReadOnly: true}}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: new(bool),
			Containers:                   []corev1.Container{container},
			Volumes: []corev1.Volume{{Name: "agent", VolumeSource: corev1.VolumeSource{
				Secret: &corev1.SecretVolumeSource{SecretName: "agent"},
			}}},
		},
	}
}

// konnectivity is an agent of the apiserver-network-proxy, whose gRPC cannot speak TLS with a proxy.
func konnectivity(name string, labels map[string]string) *corev1.Pod {
	return agentPod(name, labels, corev1.Container{
		Name:    "konnectivity-agent",
		Command: []string{"/proxy-agent"},
		Args: []string{
			"--logtostderr=true", "--ca-cert=/etc/agent/ca.crt", "--agent-cert=/etc/agent/tls.crt", "--agent-key=/etc/agent/tls.key",
			"--proxy-server-host=" + machine.HubName, "--proxy-server-port=8091", "--sync-interval=500ms", "--sync-interval-cap=1s",
			"--agent-identifiers=default-route=true",
		},
	})
}

// chisel is an agent that knows of no proxy, unless an argument names one. It makes the hub listen for the spoke's
// service.
func chisel(name string, labels, annotations map[string]string) *corev1.Pod {
	pod := agentPod(name, labels, corev1.Container{
		Name:    "chisel",
		Command: []string{"/chisel", "client"},
		Args: []string{
			"--tls-ca=/etc/agent/ca.crt", "--max-retry-interval=1s", "https://" + machine.HubName,
			"R:" + machine.HubAddress + ":8000:" + machine.ServiceAddress + ":80",
		},
	})
	pod.Annotations = annotations
	return pod
}
