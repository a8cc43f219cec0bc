// Package pods_test runs the command fairlead pods on a real control plane with the real native policy.
package pods_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/e2e/command"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

const (
	key      = "policies.kyverno.io/inject-proxy-env"
	password = "mySuperSecretPassword"
)

type fixture struct {
	*testing.T
	cp      *controlplane.ControlPlane
	clients kubernetes.Interface
}

// newFixture is a control plane of the test's own: it counts requests, and says when there is a policy.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, cp: controlplanetest.Start(t, controlplane.Options{})}
	controlplanetest.Require(t, f.cp.StartControllerManager(t.Context(), controlplane.ServiceAccounts))
	f.clients = controlplanetest.Clients(t, f.cp)
	return f
}

// install installs the chart in a later second than that of any earlier object, and returns when pods are
// injected.
func (f *fixture) install() {
	f.Helper()
	f.nextSecond()
	controlplanetest.Require(f, policies.Install(f.Context(), f.cp, policies.Values(), map[string]any{"engine": "Native"}))
	f.awaitVariables(controlplanetest.Namespace(f, f.cp), 6)
}

// awaitVariables tries a pod until it gets that many.
func (f *fixture) awaitVariables(namespace string, count int) {
	f.Helper()
	probe := plain("probe")
	controlplanetest.Await(f, fmt.Sprintf("a pod with %d variables", count), func(ctx context.Context) (bool, error) {
		stored, err := f.clients.CoreV1().Pods(namespace).Create(ctx, &probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && len(stored.Spec.Containers[0].Env) == count, err
	})
}

// nextSecond waits, because times of creation have no parts of a second.
func (f *fixture) nextSecond() {
	f.Helper()
	now := time.Now().Unix()
	controlplanetest.Await(f, "the next second", func(context.Context) (bool, error) {
		return controlplanetest.Holds(time.Now().Unix() > now, "it is still %d", now)
	})
}

func (f *fixture) namespace(name string, labels map[string]string) {
	f.Helper()
	_, err := f.clients.CoreV1().Namespaces().Create(f.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: labels, Annotations: map[string]string{"fairlead.io/served": "true"},
	}}, metav1.CreateOptions{})
	controlplanetest.Require(f, err)
}

// create creates the pod once its namespace has its service account, and returns it as stored.
func (f *fixture) create(namespace string, pod corev1.Pod) *corev1.Pod {
	f.Helper()
	var stored *corev1.Pod
	controlplanetest.Await(f, "the pod "+pod.Name+pod.GenerateName, func(ctx context.Context) (_ bool, err error) {
		stored, err = f.clients.CoreV1().Pods(namespace).Create(ctx, &pod, metav1.CreateOptions{})
		return err == nil, err
	})
	return stored
}

// started writes what a kubelet would: no container runs here.
func (f *fixture) started(pod *corev1.Pod, at time.Time) {
	f.Helper()
	pod.Status.Phase = corev1.PodRunning
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(at)}},
		})
	}
	_, err := f.clients.CoreV1().Pods(pod.Namespace).UpdateStatus(f.Context(), pod, metav1.UpdateOptions{})
	controlplanetest.Require(f, err)
}

// report has the output of the command with -o json.
type report struct {
	Owners []row
	Notes  []string
}

type row struct {
	Namespace, Owner, Finding, Reason, Message string
	Containers, Pods                           []string
}

// run runs the built program as somebody, and returns what it prints. It must not print the password.
func (f *fixture) run(as *rest.Config, args ...string) (string, error) {
	f.Helper()
	if !slices.Contains(args, "-n") {
		args = append(args, "-A")
	}
	kubeconfig, err := f.cp.Kubeconfig(as)
	controlplanetest.Require(f, err)
	status, stdout, stderr := command.Run(f, nil, append([]string{"pods", "--kubeconfig", kubeconfig}, args...)...)
	if strings.Contains(stdout+stderr, password) {
		f.Error("it prints a password")
	}
	if status != 0 {
		err = fmt.Errorf("exit status %d", status)
	}
	return stdout + stderr, err
}

func (f *fixture) report(as *rest.Config, args ...string) report {
	f.Helper()
	out, err := f.run(as, append([]string{"-o", "json"}, args...)...)
	controlplanetest.Require(f, err)
	var said report
	if err := json.Unmarshal([]byte(out), &said); err != nil {
		f.Fatalf("%v: %s", err, out)
	}
	return said
}

func plain(name string, env ...corev1.EnvVar) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web", Env: env}}},
	}
}

func injected(env []corev1.EnvVar) bool {
	return slices.ContainsFunc(env, func(e corev1.EnvVar) bool {
		return e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && e.ValueFrom.SecretKeyRef.Name == policies.Secret
	})
}
