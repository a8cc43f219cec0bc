package lifecycle_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/command"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/deployment"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/repository"
)

// teams are namespaces whose pods get the settings.
var teams = []string{"team-a", "team-b"}

// An imported cluster, as EKS or AKS: nothing of Cluster API, no operator, no Kyverno, and the three values of the
// installation.
func TestPoliciesAloneFromAFailedInstallToAReinstall(t *testing.T) {
	r := newRelease(t, controlplanetest.Start(t, controlplane.Options{}), "fairlead-policies")
	controlplanetest.Require(t, r.cp.StartControllerManager(t.Context(), controlplane.ServiceAccounts))
	for _, team := range teams {
		controlplanetest.Require(t, r.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}))
	}
	secrets := record(t, controlplanetest.Clients(t, r.cp))

	r.failedInstall([]string{"/proxy", "htttp"}, "--set", "engine=Native")
	replicator := r.upgradeFromBeforeTunnels()
	pods := r.settingsOfPods()
	r.uninstallPolicies(replicator, pods)
	r.reinstallPolicies(pods)

	crds := &apiextensionsv1.CustomResourceDefinitionList{}
	controlplanetest.Require(t, r.client.List(t.Context(), crds))
	if len(crds.Items) != 0 {
		t.Errorf("there are %d CRDs, the first %s: this is no such cluster", len(crds.Items), crds.Items[0].Name)
	}
	if seen := secrets.check(t, ofPods, lackingForPods); seen < 4*len(teams) {
		t.Errorf("only %d versions of the Secret for pods were seen", seen)
	}
}

// native are the flags for a cluster without Kyverno.
func native(chart, file string) []string {
	return []string{chart, "--values", file, "--set", "engine=Native"}
}

// upgradeFromBeforeTunnels begins with a release whose values and templates know no tunnels.
func (r *release) upgradeFromBeforeTunnels() *deployment.Replica {
	r.Helper()
	older := previous(r, r.chart, "tunnels", "tunnels.yaml", "audit-tunnels.yaml")
	r.mustHelm("install", append(native(older, example()), "--create-namespace")...)
	replicator := r.start("fairlead-replicator")
	r.awaitCopies(teams, "HTTP_PROXY", examplePassword)

	r.refused("upgrade", []string{r.chart, "--reuse-values"}, "missing property", "tunnels")
	before := r.ofPods()
	r.mustHelm("upgrade", r.chart, "--reset-then-reuse-values")
	controlplanetest.Require(r, replicator.Stop())
	replicator = r.start("fairlead-replicator")
	r.awaitCopies(teams, "HTTP_PROXY", examplePassword)
	r.idle(replicator)
	after := r.ofPods()
	delete(before, namespace) // has the chart's version among its labels
	delete(after, namespace)
	r.same("an upgrade that changes no setting", before, after)
	r.mustHelm("upgrade", r.chart, "--reuse-values")
	return replicator
}

// settingsOfPods changes the settings in every way that Helm has, and returns pods that refer to the Secret.
func (r *release) settingsOfPods() []*corev1.Pod {
	r.Helper()
	var pods []*corev1.Pod
	for _, team := range teams {
		pods = append(pods, r.pod(team, 6))
	}
	r.mustHelm("upgrade", native(r.chart, r.changed(exampleNoProxy+",new.example"))...)
	changed := r.revision()
	r.awaitCopies(teams, "HTTP_PROXY", changedPassword)
	asText := r.ofPods()
	r.mustHelm("upgrade", native(r.chart, r.changed(append(strings.Split(exampleNoProxy, ","), "new.example")))...)
	r.refused("upgrade", append(native(r.chart, r.changed("")), "--set", "proxy.noProxy="), "noProxy", "is empty")
	r.same("noProxy as a list, and then refused, before as text", dataOf(asText), dataOf(r.ofPods()))
	r.mustHelm("upgrade", native(r.chart, example())...)
	r.awaitCopies(teams, "HTTP_PROXY", examplePassword)
	r.mustHelm("rollback", changed)
	r.awaitCopies(teams, "HTTP_PROXY", changedPassword)
	r.startAgain(pods)
	return pods
}

func (r *release) uninstallPolicies(replicator *deployment.Replica, pods []*corev1.Pod) {
	r.Helper()
	r.idle(replicator)
	before := r.ofPods()
	r.mustHelm("uninstall")
	controlplanetest.Require(r, replicator.Stop())
	r.same("uninstalled", before, r.ofPods())
	r.gone()
	r.startAgain(pods)
	r.pod(teams[0], 0)
}

func (r *release) reinstallPolicies(pods []*corev1.Pod) {
	r.Helper()
	before := r.ofPods()
	other := *r
	other.name = "proxy"
	other.refused("install", native(r.chart, example()), `Secret "fairlead-proxy"`, `must equal "proxy": current value is "fairlead-policies"`)
	r.same("a release of another name was refused, and changed", before, r.ofPods())

	r.mustHelm("install", native(r.chart, example())...)
	replicator := r.start("fairlead-replicator")
	r.awaitCopies(teams, "HTTP_PROXY", examplePassword)
	r.pod(teams[0], 6)
	r.mustHelm("uninstall")
	controlplanetest.Require(r, replicator.Stop())

	described := repository.Path("examples", "imported", "eks.yaml") // an imported cluster
	rendered := command.Output(r, nil, "render", "--values", example(), "--cluster", described, "-o", "helm-values")
	other.mustHelm("install", append(native(r.chart, write(r, "values.yaml", rendered)), "--take-ownership")...)
	replicator = r.start("fairlead-replicator")
	for _, entry := range []string{".svc", "172.20.0.0/16", "10.40.0.0/16", "169.254.170.23", "0123456789abcdef.gr7.eu-central-1.eks.amazonaws.com"} {
		r.awaitCopies(teams, "NO_PROXY", entry+",")
	}
	controlplanetest.Require(r, replicator.Stop())
	r.startAgain(pods)
}

// ofPods chooses the Secrets for pods.
func ofPods(secret *corev1.Secret) bool { return secret.Name == policies.Secret }

// lackingForPods says what a version of one of them lacks, if anything.
func lackingForPods(secret *corev1.Secret) string {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		if !bytes.HasSuffix(secret.Data[name], []byte("@192.168.52.220:3128")) {
			return name + " is not the proxy"
		}
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		if !bytes.Contains(secret.Data[name], []byte("internal.corpdomain.net")) {
			return name + " is not the list"
		}
	}
	return ""
}

// ofPods are the Secrets for pods, by namespace.
func (r *release) ofPods() map[string]corev1.Secret {
	r.Helper()
	list := &corev1.SecretList{}
	controlplanetest.Require(r, r.client.List(r.Context(), list, client.MatchingFields{"metadata.name": policies.Secret}))
	found := map[string]corev1.Secret{}
	for _, secret := range list.Items {
		found[secret.Namespace] = secret
	}
	return found
}

func dataOf(secrets map[string]corev1.Secret) map[string]map[string][]byte {
	data := map[string]map[string][]byte{}
	for name, secret := range secrets {
		data[name] = secret.Data
	}
	return data
}

// awaitCopies awaits that a key of the Secret has this text, in these namespaces and in its source.
func (r *release) awaitCopies(in []string, key, text string) {
	r.Helper()
	controlplanetest.Await(r, "the copies", func(context.Context) (bool, error) {
		found := r.ofPods()
		for _, name := range append([]string{namespace}, in...) {
			if !strings.Contains(string(found[name].Data[key]), text) {
				return false, fmt.Errorf("not in %s, of %v", name, slices.Sorted(maps.Keys(found)))
			}
		}
		return true, nil
	})
}

// pod awaits that new pods of a namespace get that many variables, and returns one.
func (r *release) pod(team string, variables int) *corev1.Pod {
	r.Helper()
	var pod *corev1.Pod
	controlplanetest.Await(r, "a new pod", func(ctx context.Context) (bool, error) {
		pod = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: team, GenerateName: "web-"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
		}
		if err := r.client.Create(ctx, pod); err != nil {
			return false, err
		}
		got := len(pod.Spec.Containers[0].Env)
		return controlplanetest.Holds(got == variables, "it has %d variables", got)
	})
	return pod
}

// startAgain holds what the kubelet asks of containers: all that their environment refers to is there
// (k8s.io/kubernetes, pkg/kubelet/kubelet_pods.go, makeEnvironmentVariables).
func (r *release) startAgain(pods []*corev1.Pod) {
	r.Helper()
	secrets := r.ofPods()
	for _, pod := range pods {
		for _, env := range pod.Spec.Containers[0].Env {
			ref := env.ValueFrom.SecretKeyRef
			if ref == nil || ref.Name != policies.Secret {
				r.Errorf("%s refers to %v", env.Name, env.ValueFrom)
			} else if _, there := secrets[pod.Namespace].Data[ref.Key]; !there {
				r.Errorf("pod %s/%s does not start again: %s is missing", pod.Namespace, pod.Name, ref.Key)
			}
		}
	}
}
