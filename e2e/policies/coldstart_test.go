package policies_test

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/replicator"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// networks are the pods by which networks start, in files of testdata/network.
func networks(t *testing.T) []*corev1.Pod {
	t.Helper()
	files, err := filepath.Glob("testdata/network/*.yaml")
	controlplanetest.Require(t, err)
	var pods []*corev1.Pod
	for _, file := range files {
		for document := range bytes.SplitSeq(controlplanetest.ReadFile(t, file), []byte("\n---\n")) {
			pod := &corev1.Pod{}
			controlplanetest.Require(t, yaml.UnmarshalStrict(document, pod))
			pods = append(pods, pod)
		}
	}
	return pods
}

// waits says whether a container of the pod waits for our Secret.
func waits(pod *corev1.Pod) bool {
	return slices.ContainsFunc(everyContainer(&pod.Spec), func(c *corev1.Container) bool {
		return slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool {
			return e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && e.ValueFrom.SecretKeyRef.Name == policies.Secret
		}) || slices.ContainsFunc(c.EnvFrom, ofOurSecret)
	})
}

// coldStart is a cluster whose nodes are all new: etcd has the policies and nothing runs, Kyverno and the replicator
// included. Pods are let in by the real engine; what would run next is decided by what they wait for.
type coldStart struct {
	*testing.T
	*engine
}

func startCold(t *testing.T, name string) coldStart {
	t.Helper()
	e, err := startEngine(t.Context(), name)
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, policies.Install(t.Context(), e.cp, policies.Values(), map[string]any{"engine": name}))
	for _, namespace := range []string{"tigera-operator", "calico-system", "cilium", "kube-flannel", "elsewhere", "shop"} {
		controlplanetest.Require(t, e.createNamespace(t.Context(), namespace, nil))
	}
	if name == withKyverno {
		controlplanetest.Require(t, e.kyverno.Await(t.Context(), policies.InjectProxyEnv))
	}
	controlplanetest.Require(t, e.awaitPolicy(t.Context(), "shop"))
	return coldStart{t, e}
}

// network creates the pods of all networks, in a namespace instead of their own if one is given.
func (c coldStart) network(namespace string) {
	c.Helper()
	for _, pod := range networks(c.T) {
		if namespace != "" {
			pod.Namespace = namespace
		}
		if err := c.create(c.Context(), pod.Namespace, pod); err != nil {
			c.Errorf("%s/%s is refused: %v", pod.Namespace, pod.Name, err)
		} else if waits(pod) {
			c.Errorf("%s/%s waits for a Secret that comes after the network", pod.Namespace, pod.Name)
		}
	}
}

// replicate creates the replicator's pod, and runs it: now there is a network.
func (c coldStart) replicate() {
	c.Helper()
	deployment, err := c.clients.AppsV1().Deployments(policies.Namespace).Get(c.Context(), replicator.Name, metav1.GetOptions{})
	controlplanetest.Require(c, err)
	pod := &corev1.Pod{ObjectMeta: deployment.Spec.Template.ObjectMeta, Spec: deployment.Spec.Template.Spec}
	pod.GenerateName = deployment.Name + "-"
	controlplanetest.Require(c, c.create(c.Context(), deployment.Namespace, pod))
	if waits(pod) || pod.Spec.PriorityClassName != "system-cluster-critical" || *pod.Spec.Priority != 2000000000 {
		c.Errorf("the replicator waits for its own copies: %t; its priority is %s", waits(pod), pod.Spec.PriorityClassName)
	}
	for _, key := range []string{
		"node-role.kubernetes.io/control-plane", "node.cloudprovider.kubernetes.io/uninitialized",
		"node.cluster.x-k8s.io/uninitialized", "node.kubernetes.io/not-ready",
	} {
		taint := corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule}
		if !slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return t.Key == taint.Key && t.Effect == taint.Effect }) {
			c.Errorf("a node with the taint %s gets no replicator", key)
		}
	}
	_, err = replicator.Start(c.Context(), c.cp)
	controlplanetest.Require(c, err)
}

// workload creates a pod off the host network, and awaits what it waits for.
func (c coldStart) workload() {
	c.Helper()
	pod := webPod("web")
	controlplanetest.Require(c, c.create(c.Context(), "shop", pod))
	if !waits(pod) {
		c.Error("a workload is not injected")
	}
	controlplanetest.Await(c, "the Secret", func(ctx context.Context) (bool, error) {
		_, err := c.clients.CoreV1().Secrets("shop").Get(ctx, policies.Secret, metav1.GetOptions{})
		return err == nil, client.IgnoreNotFound(err)
	})
}

func TestAClusterWithTheNativeEngineStarts(t *testing.T) {
	tier.Full(t)
	t.Parallel() // it has a control plane of its own, and much of its time is waiting
	c := startCold(t, native)
	c.network("")
	c.network("elsewhere") // whatever the name
	c.replicate()
	c.workload()
}

func TestAClusterStartsWhoseKyvernoWaitsForTheNetwork(t *testing.T) {
	tier.Full(t)
	t.Parallel()
	c := startCold(t, withKyverno)
	c.kyverno.Kill()
	c.network("")
	controlplanetest.Require(t, c.create(t.Context(), "kyverno", webPod("kyverno-admission-controller")))
	c.replicate()

	// What selectors cannot say is refused, until Kyverno runs.
	elsewhere := networks(t)[0]
	elsewhere.Namespace = "elsewhere"
	if err := c.create(t.Context(), elsewhere.Namespace, elsewhere); err == nil || !strings.Contains(err.Error(), `failed calling webhook "mpol`) {
		t.Errorf("a pod on the network of its node: %v", err)
	}
	controlplanetest.Require(t, c.kyverno.Restart(t.Context()))
	controlplanetest.Require(t, c.awaitPolicy(t.Context(), "shop"))
	c.network("elsewhere")
	c.workload()
}
