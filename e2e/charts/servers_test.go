package charts_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/kubelet"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// server is a control plane with somebody who evaluates policies, and a namespace for pods.
type server struct {
	engine  string
	cp      *controlplane.ControlPlane
	kyverno *kyverno.Kyverno // with that engine
	client  client.Client
	clients kubernetes.Interface
	pods    string
}

func startServer(t *testing.T, engine string) server {
	t.Helper()
	options := controlplane.Options{}
	if engine == "Kyverno" {
		options.Content = kyverno.Content
	}
	cp := controlplanetest.Start(t, options)
	controlplanetest.Require(t, cp.StartControllerManager(t.Context(), controlplane.ServiceAccounts))
	s := server{engine: engine, cp: cp, client: controlplanetest.Client(t, cp.Admin(), nil), clients: controlplanetest.Clients(t, cp)}
	s.pods = controlplanetest.Namespace(t, cp)
	if engine == "Kyverno" {
		var err error
		s.kyverno, err = kyverno.Start(t.Context(), cp, kyverno.Options{})
		controlplanetest.Require(t, err)
	}
	return s
}

func TestTheChartOnBothEngines(t *testing.T) {
	tier.Full(t)
	for _, engine := range []string{"Kyverno", "Native"} {
		t.Run(engine, func(t *testing.T) {
			s := startServer(t, engine)
			t.Run("ALiteralPasswordArrives", s.testLiteral)
			t.Run("CoreClusterAPIIsLeftAloneAndInfrastructureProvidersAreNot", s.testControllers)
			if engine == "Kyverno" {
				t.Run("TheAPIServerTakesEveryCombinationOfValues", s.testCombinations)
			}
		})
	}
}

// create is a dry run: what would be stored, and by whom it would be refused.
func (s server) create(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	return s.clients.CoreV1().Pods(s.pods).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
}

// hostile are URLs and lists as nobody would write them by hand; each is both, but for the scheme.
var hostile = []string{
	"http://me:" + printable() + "@proxy.example:3128",
	"http://me:$(HOME)$$(HOME)$$$(HOME)$HOME${HOME}$(HTTP_PROXY)$$$$(" + "@proxy.example:3128",
	`http://me:'"''""'''"""\'\"\\\n\u0041\x41\101\` + "`id`@proxy.example:3128",
	"http://me:é€😀\u00a0\u2028\u2029\ufeff\u200b<>&%40%%%@proxy.example:3128",
	"http://me:{{ .Values.proxy }}{{{ {% raw %} ${x} #{y} : - # ! & * | > ? [a] {b: c}@proxy.example:3128",
}

func printable() string {
	var all strings.Builder
	for c := byte(' '); c <= '~'; c++ {
		all.WriteByte(c)
	}
	return all.String()
}

// unspaced can be in a list: no entry has a blank in it.
func unspaced(text string) string { return strings.ReplaceAll(text, " ", "") }

func TestASecretHasHostilePasswordsByteForByte(t *testing.T) {
	for _, text := range hostile {
		noProxy := "a," + unspaced(text)
		objects := render(t, values{"proxy": proxy(text, text, noProxy)})
		if diff := cmp.Diff(environment(text, text, noProxy), objects.data(t, "Secret/"+policies.Secret)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

func (s server) testLiteral(t *testing.T) {
	for i, text := range append(hostile, "") {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			noProxy := ""
			if text != "" {
				noProxy = fmt.Sprintf("%d.example,%s", i, unspaced(text))
			}
			controlplanetest.Require(t, policies.Install(t.Context(), s.cp, values{
				"engine": s.engine, "carry": "Literal", "proxy": proxy(text, text, noProxy),
			}))
			want := environment(text, text, noProxy)
			s.awaitPod(t, "what was meant", func(env []corev1.EnvVar) (bool, error) {
				if len(env) != len(want) {
					return false, fmt.Errorf("%d variables", len(env))
				}
				diff := cmp.Diff(want, expanded(t, env))
				return controlplanetest.Holds(diff == "", "-want +got:\n%s", diff)
			})
		})
	}
}

// expanded returns the variables as the kubelet expands them, by its own code.
func expanded(t *testing.T, env []corev1.EnvVar) map[string]string {
	t.Helper()
	var variables []kubelet.Variable
	for _, e := range env {
		variables = append(variables, kubelet.Variable{Name: e.Name, Value: e.Value})
	}
	texts, err := kubelet.Expand(t.Context(), variables)
	controlplanetest.Require(t, err)
	found := map[string]string{}
	for i, e := range env {
		found[e.Name] = texts[i]
	}
	return found
}

func (s server) testControllers(t *testing.T) {
	controlplanetest.Require(t, policies.Install(t.Context(), s.cp, policies.Values(), values{"engine": s.engine}))
	s.awaitPod(t, "the policy", func(env []corev1.EnvVar) (bool, error) {
		return controlplanetest.Holds(len(env) == 6 && env[0].ValueFrom != nil, "the pod has %v", env)
	})
	pods, injected := controllerPods(t)
	for name, pod := range pods {
		stored, err := s.create(t.Context(), pod)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := len(pod.Spec.Containers[0].Env)
		if injected[name] {
			want += 6
		}
		if got := len(stored.Spec.Containers[0].Env); got != want {
			t.Errorf("%s: pod %s with labels %v has %d variables, want %d", name, pod.Name, pod.Labels, got, want)
		}
	}

	// All of them are looked through for all patterns, and what that costs is limited.
	labels := map[string]string{}
	for i := range 200 {
		labels[fmt.Sprintf("%s.example/%03d", strings.Repeat("p", 50), i)] = strings.Repeat("v", 63)
	}
	if stored, err := s.create(t.Context(), noPod("labelled", labels)); err != nil || len(stored.Spec.Containers[0].Env) != 6 {
		t.Errorf("a pod with %d labels: %v", len(labels), err)
	}
}

func (s server) testCombinations(t *testing.T) {
	none := values{"defaults": values{"namespaces": []string{}, "names": []string{}, "labels": []string{}}}
	tried := 0
	try := func(given ...any) {
		tried++
		for name, object := range render(t, append([]any{policies.Values()}, given...)...) {
			dryRun := client.ApplyConfigurationFromUnstructured(object)
			if err := s.client.Apply(t.Context(), dryRun, client.FieldOwner("charts"), client.ForceOwnership, client.DryRunAll); err != nil {
				t.Errorf("%v: %s: %v", given, name, err)
			}
		}
	}
	for _, engine := range []string{"Kyverno", "Native"} {
		for _, policy := range []values{{"failurePolicy": "Fail", "optIn": false}, {"failurePolicy": "Ignore", "optIn": true}} {
			for _, exclude := range []values{{}, {"exclude": none}} {
				for _, carry := range []string{"SecretRef", "Literal", "Relay"} {
					try(policy, exclude, values{"engine": engine, "carry": carry})
				}
				try(policy, exclude, values{"engine": engine, "trustedCA": values{"enabled": true, "bundle": certificate}})
			}
		}
	}
	if tried != 32 {
		t.Errorf("%d combinations", tried)
	}
}

// helm runs a command of the real Helm on the release.
func (s server) helm(t *testing.T, verb string, args ...string) error {
	t.Helper()
	t.Setenv("KUBECACHEDIR", t.TempDir()) // another test may have had the port before
	_, err := helm.Run(t.Context(), append([]string{
		verb, policies.Release, "--kubeconfig", s.cp.AdminKubeconfig(), "--namespace", policies.Namespace,
	}, args...)...)
	return err
}

func (s server) mustHelm(t *testing.T, verb string, args ...string) {
	t.Helper()
	controlplanetest.Require(t, s.helm(t, verb, args...))
}

func valuesFile(t *testing.T, given values) string {
	t.Helper()
	content, err := yaml.Marshal(given)
	controlplanetest.Require(t, err)
	file := filepath.Join(t.TempDir(), "values.yaml")
	controlplanetest.Require(t, os.WriteFile(file, content, 0o600))
	return file
}

// secret returns the data that pods get by reference, in the release's namespace.
func (s server) secret(t *testing.T) map[string][]byte {
	t.Helper()
	secret, err := s.clients.CoreV1().Secrets(policies.Namespace).Get(t.Context(), policies.Secret, metav1.GetOptions{})
	controlplanetest.Require(t, err)
	return secret.Data
}

// awaitVariables waits until a new pod gets that many.
func (s server) awaitVariables(t *testing.T, count int) {
	t.Helper()
	s.awaitPod(t, "new pods as they should be", func(env []corev1.EnvVar) (bool, error) {
		return controlplanetest.Holds(len(env) == count, "%d variables", len(env))
	})
}

// awaitPod tries a pod until its container has the variables that are wanted.
func (s server) awaitPod(t *testing.T, what string, wanted func(env []corev1.EnvVar) (bool, error)) {
	t.Helper()
	controlplanetest.Await(t, what, func(ctx context.Context) (bool, error) {
		pod, err := s.create(ctx, noPod("web", nil))
		if err != nil {
			return false, err
		}
		return wanted(pod.Spec.Containers[0].Env)
	})
}
