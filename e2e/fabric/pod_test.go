package fabric_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/process"
)

// pod is a network namespace with an address, and an object in the API server if it is behind a Service.
type pod struct {
	fabric          *fabric
	namespace, name string
	address         string
	process         *process.Process
}

func (p *pod) network() machine.Namespace { return machine.Namespace(p.name) }

var addresses = 10

// wire makes the network of a pod as many plugins do: two ends, and a route to each pod on its node.
func (f *fabric) wire(namespace, name string) *pod {
	f.t.Helper()
	addresses++
	p := &pod{fabric: f, namespace: namespace, name: name, address: fmt.Sprintf("10.244.0.%d", addresses)}
	far := fmt.Sprintf("veth%d", addresses)
	for _, command := range []string{
		"ip netns add " + name,
		"ip link add " + far + " netns corp type veth peer name eth0 netns " + name,
		"ip -n corp address add " + gateway + "/32 dev " + far,
		"ip -n corp link set " + far + " up",
		"ip -n corp route add " + p.address + "/32 dev " + far,
		"ip -n " + name + " link set lo up",
		"ip -n " + name + " address add " + p.address + "/32 dev eth0",
		"ip -n " + name + " link set eth0 up",
		"ip -n " + name + " route add " + gateway + " dev eth0",
		"ip -n " + name + " route add default via " + gateway,
	} {
		f.run(machine.Corp, strings.Fields(command)...)
	}
	return p
}

// publish makes the Pod object of a Service, ready.
func (p *pod) publish(service string) {
	p.fabric.t.Helper()
	p.fabric.podObject(p.namespace, p.name, p.address, map[string]string{"app": service})
	p.awaitProgrammed(true)
}

// podObject makes the Pod of a process on the node.
func (f *fabric) podObject(namespace, name, address string, labels map[string]string, ports ...corev1.ContainerPort) {
	f.t.Helper()
	made, err := f.clients.CoreV1().Pods(namespace).Create(f.t.Context(), podOnNode(name, labels, ports...), metav1.CreateOptions{})
	controlplanetest.Require(f.t, err)
	f.runs(made, address)
}

// podOnNode is a Pod that somebody has scheduled.
func podOnNode(name string, labels map[string]string, ports ...corev1.ContainerPort) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			NodeName: node, AutomountServiceAccountToken: new(bool), ServiceAccountName: "default",
			Containers: []corev1.Container{{Name: "main", Image: "registry.example/main:1", Ports: ports}},
		},
	}
}

// runs says what the kubelet says of a pod whose containers have just started.
func (f *fabric) runs(pod *corev1.Pod, address string) {
	f.t.Helper()
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
		})
	}
	_, err := f.clients.CoreV1().Pods(pod.Namespace).UpdateStatus(f.t.Context(), pod, metav1.UpdateOptions{})
	controlplanetest.Require(f.t, err)
}

// fails writes the status as the kubelet does when a pod does not answer its probe any more.
func (p *pod) fails() {
	t := p.fabric.t
	of := p.fabric.clients.CoreV1().Pods(p.namespace)
	found, err := of.Get(t.Context(), p.name, metav1.GetOptions{})
	controlplanetest.Require(t, err)
	found.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	_, err = of.UpdateStatus(t.Context(), found, metav1.UpdateOptions{})
	controlplanetest.Require(t, err)
}

// ends is the deletion of a pod: the API server gives it half a minute, and meanwhile it is terminating.
func (p *pod) ends() {
	controlplanetest.Require(p.fabric.t, p.fabric.clients.CoreV1().Pods(p.namespace).Delete(p.fabric.t.Context(), p.name, metav1.DeleteOptions{}))
}

// awaitProgrammed returns when kube-proxy's rules have the pod's address, or have it no more for new connections.
func (p *pod) awaitProgrammed(there bool) {
	f := p.fabric
	controlplanetest.Await(f.t, fmt.Sprintf("rules with %s: %v", p.address, there), func(ctx context.Context) (bool, error) {
		rules, err := f.network.Run(ctx, machine.Corp, nil, "nft", "list", "table", "ip", "kube-proxy")
		used := regexp.MustCompile(`\d+ : ` + regexp.QuoteMeta(p.address) + ` \. \d`)
		return controlplanetest.Holds(err == nil && used.Match(rules) == there, "the rules are (%v)\n%s", err, rules) // at first there is no table
	})
}

// listen is a server of the pod's.
func (p *pod) listen(number int) net.Listener {
	listener, err := p.fabric.network.Listen(p.fabric.t.Context(), p.network(), net.JoinHostPort(p.address, fmt.Sprint(number)))
	controlplanetest.Require(p.fabric.t, err)
	return listener
}

// startRelay starts the relay in the pod, as its DaemonSet does.
func (p *pod) startRelay(policy string, args ...string) {
	f := p.fabric
	f.t.Helper()
	file := filepath.Join(f.t.TempDir(), "policy.yaml")
	write(f.t, file, policy)
	p.process = p.start(process.Spec{
		Name: p.name, Path: f.relay,
		Args:  append([]string{"--listen=:3128", "--proxy=" + f.folder, "--policy=" + file}, args...),
		Env:   []string{"KUBERNETES_SERVICE_HOST=" + api, "HOST_IPS=" + machine.CorpAddress},
		Ready: f.network.Answers(p.network(), net.JoinHostPort(p.address, "3128")),
	})
	relay := p.process
	f.t.Cleanup(func() {
		if log, err := relay.Log(); f.t.Failed() {
			f.t.Logf("%s: %v\n%s", p.name, err, strings.Join(withoutAccess(log), "\n"))
		}
	})
}

// withoutAccess returns what a relay logs beside requests that went well.
func withoutAccess(log string) []string {
	return slices.DeleteFunc(strings.Split(log, "\n"), func(line string) bool { return strings.Contains(line, "msg=access") })
}

// start starts a program in the pod.
func (p *pod) start(spec process.Spec) *process.Process {
	p.fabric.t.Helper()
	return p.fabric.start(p.network(), spec)
}
