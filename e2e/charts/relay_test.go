package charts_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

const (
	relayName = "fairlead-relay"
	source    = "fairlead-source"
)

// as reads an object that is rendered.
func as[T any](t *testing.T, objects rendered, name string) *T {
	t.Helper()
	found := new(T)
	if objects[name] == nil {
		t.Fatalf("no %s is rendered", name)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(objects[name].Object, found, true); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return found
}

func (r rendered) relay(t *testing.T) *appsv1.DaemonSet {
	t.Helper()
	return as[appsv1.DaemonSet](t, r, "DaemonSet/"+relayName)
}

func relayed(more values) values {
	given := values{"carry": "Relay", "proxy": proxy(url, otherURL, "a")}
	maps.Copy(given, more)
	return given
}

func TestTheSourceHasThePasswordAndNothingElseHas(t *testing.T) {
	before := values{"http": "http://me:before@proxy.example:3128", "https": "https://me:before@proxy.example:3129"}
	given := relayed(values{"cluster": values{"proxy": values{"previous": before}}})
	for _, engine := range []string{"Native", "Kyverno"} {
		objects := render(t, given, values{"engine": engine})
		want := map[string]string{
			"HTTP_PROXY": url, "HTTPS_PROXY": otherURL, "NO_PROXY": "a", "HTTP_PROXY_PREVIOUS": before["http"].(string), "HTTPS_PROXY_PREVIOUS": before["https"].(string),
		}
		if diff := cmp.Diff(want, objects.data(t, "Secret/"+source)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		for name := range objects {
			text := objects.text(t, name)
			if name != "Secret/"+source && (strings.Contains(text, "proxy.example") || strings.Contains(text, "//me:")) {
				t.Errorf("%s has it, too", name)
			}
			if strings.Contains(name, "replicator") || name == "Secret/"+policies.Secret {
				t.Errorf("%s is there", name)
			}
		}
	}
	if got := render(t, relayed(nil)).data(t, "Secret/"+source); len(got) != 3 {
		t.Errorf("without credentials of before: %v", got)
	}
	if got := render(t, values{"carry": "Relay"}).data(t, "Secret/"+source); !cmp.Equal(got, map[string]string{"HTTP_PROXY": "", "HTTPS_PROXY": "", "NO_PROXY": ""}) {
		t.Errorf("without a proxy: %v", got)
	}
	if render(t, relayed(values{"source": values{"existing": true}}))["Secret/"+source] != nil {
		t.Error("there are two who bring it")
	}
}

func TestWhatTheRelayNeedsToLiveOutlivesTheRelease(t *testing.T) {
	given := relayed(values{"relay": values{"startupTaint": true}, "trustedCA": values{"bundle": certificate}})
	needed := 0
	for name, object := range render(t, given) {
		if !strings.HasPrefix(name, "MutatingPolicy/") && !strings.HasPrefix(name, "ValidatingPolicy/") {
			needed++
			if object.GetAnnotations()["helm.sh/resource-policy"] != "keep" {
				t.Errorf("%s goes", name)
			}
		}
	}
	if needed != 14 {
		t.Errorf("%d objects of the relay's", needed)
	}
}

// With another carry, nothing of it is there, unless it is asked for: before, and after.
func TestTheRelayIsThereForWhoAsks(t *testing.T) {
	for _, carry := range []string{"SecretRef", "Literal"} {
		given := values{"carry": carry, "proxy": proxy(url, url, "a")}
		for name := range render(t, given) {
			if strings.Contains(name, relayName) || strings.Contains(name, source) {
				t.Errorf("%s: %s", carry, name)
			}
		}
		objects := render(t, given, values{"relay": values{"enabled": true}})
		objects.relay(t)
		if got := objects.data(t, "Secret/"+source)["HTTPS_PROXY"]; got != url {
			t.Errorf("%s: the source has %q", carry, got)
		}
	}
}

func TestOnlyTheSidecarMayAskTheAPIServerAndForTwoObjects(t *testing.T) {
	objects := render(t, relayed(nil))
	want := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{source}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{policies.TrustedCA}, Verbs: []string{"get", "list", "watch"}},
	}
	if diff := cmp.Diff(want, as[rbacv1.Role](t, objects, "Role/"+relayName).Rules); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if objects["ClusterRole/"+relayName] != nil {
		t.Error("it may do something in the cluster")
	}
	pod := objects.relay(t).Spec.Template.Spec
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		t.Error("each container gets a token")
	}
	mounted := map[string][]string{}
	for _, c := range append(pod.InitContainers, pod.Containers...) {
		for _, m := range c.VolumeMounts {
			mounted[m.Name] = append(mounted[m.Name], c.Name)
		}
	}
	if diff := cmp.Diff(map[string][]string{"settings": {"follow", "relay"}, "policy": {"relay"}, "token": {"follow"}}, mounted); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTheRelaysPodsAreReplacedBeforeTheyEnd(t *testing.T) {
	objects := render(t, relayed(nil))
	daemon := objects.relay(t)
	pod := daemon.Spec.Template
	if pod.Spec.HostNetwork || pod.Labels["policies.kyverno.io/inject-proxy-env"] != "exclude" {
		t.Errorf("%v", pod)
	}
	selector := as[corev1.Service](t, objects, "Service/"+relayName).Spec.Selector
	if diff := cmp.Diff(daemon.Spec.Selector.MatchLabels, selector); diff != "" {
		t.Errorf("the Service selects other pods:\n%s", diff)
	}
}

func TestTheWayOfUpdatesCanBeChosen(t *testing.T) {
	onDelete := values{"updateStrategy": values{"type": "OnDelete"}}
	for _, row := range []struct {
		name, want string
		given      values
	}{
		{"relay", "surge 10%, unavailable 0", values{}},
		{"relay", "surge 3, unavailable 0", values{"maxSurge": 3}},
		{"relay", "OnDelete", onDelete},
		{"node", "surge <nil>, unavailable 10%", values{}},
		{"node", "surge <nil>, unavailable 500", values{"maxUnavailable": 500}},
		{"node", "OnDelete", onDelete},
	} {
		objects := render(t, relayed(nil), values{"node": values{"enabled": true}}, values{row.name: row.given})
		strategy := as[appsv1.DaemonSet](t, objects, "DaemonSet/fairlead-"+row.name).Spec.UpdateStrategy
		got := string(strategy.Type)
		if update := strategy.RollingUpdate; update != nil {
			got = fmt.Sprintf("surge %s, unavailable %s", update.MaxSurge, update.MaxUnavailable)
		}
		if got != row.want {
			t.Errorf("%s with %v: %s, want %s", row.name, row.given, got, row.want)
		}
	}
}

// The relay reads the policy again while it runs. A file of a subPath never changes.
func TestAChangedPolicyReplacesNoPod(t *testing.T) {
	objects, changed := render(t, relayed(nil)), render(t, relayed(values{"relay": values{"denied": []string{"192.0.2.0/24"}}}))
	if cmp.Equal(objects["ConfigMap/"+relayName].Object["data"], changed["ConfigMap/"+relayName].Object["data"]) {
		t.Error("the policy has not changed")
	}
	if diff := cmp.Diff(objects.relay(t).Spec, changed.relay(t).Spec); diff != "" {
		t.Error(diff)
	}
	for _, mount := range objects.relay(t).Spec.Template.Spec.Containers[0].VolumeMounts {
		if mount.SubPath != "" {
			t.Errorf("%v", mount)
		}
	}
}

func TestTheServicePrefersTheSameNodeWhereKubernetesKnowsThat(t *testing.T) {
	for version, want := range map[string]string{"1.30.4": "", "1.31.0": "PreferClose", "1.34.2": "PreferClose", "1.35.0": "PreferSameNode", "1.36.1-gke.5": "PreferSameNode"} {
		manifest, err := helm.Run(t.Context(), "template", policies.Release, policies.Chart(), "--set", "carry=Relay", "--kube-version", version)
		controlplanetest.Require(t, err)
		spec := as[corev1.Service](t, parse(t, manifest), "Service/"+relayName).Spec
		got := ""
		if spec.TrafficDistribution != nil {
			got = *spec.TrafficDistribution
		}
		if got != want || spec.InternalTrafficPolicy != nil {
			t.Errorf("%s: %q", version, got)
		}
	}
}

// A stolen token of the relay's pod frees its own node of one taint, and does nothing else to any node.
func TestTheRelayTakesItsTaintFromItsOwnNodeAndChangesNothingElse(t *testing.T) {
	tier.Full(t)
	cp := controlplanetest.Start(t, controlplane.Options{})
	controlplanetest.Require(t, policies.Install(t.Context(), cp, values{"engine": "Native", "relay": values{"startupTaint": true}}, relayed(nil)))
	admin := controlplanetest.Client(t, cp.Admin(), nil)
	taints := []corev1.Taint{
		{Key: "fairlead.io/relay", Effect: corev1.TaintEffectNoSchedule}, {Key: "fairlead.io/relay", Effect: corev1.TaintEffectNoExecute}, {Key: "dedicated", Effect: corev1.TaintEffectNoSchedule},
	}
	for _, name := range []string{"own", "other"} {
		controlplanetest.Require(t, admin.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Taints: taints}}))
	}
	config := cp.Admin()
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + policies.Namespace + ":" + relayName, Groups: []string{"system:serviceaccounts", "system:authenticated"},
		Extra: map[string][]string{"authentication.kubernetes.io/node-name": {"own"}},
	}
	relay := controlplanetest.Client(t, config, nil)
	patch := func(node, text string, options ...client.PatchOption) error {
		return relay.Patch(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, client.RawPatch(types.MergePatchType, []byte(text)), options...)
	}
	const notReady = `{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}` // the API server adds it
	const without = `{"spec": {"taints": [{"key": "dedicated", "effect": "NoSchedule"}, ` + notReady + `]}}`
	controlplanetest.Await(t, "the cage", func(context.Context) (bool, error) {
		err := patch("other", without, client.DryRunAll)
		return controlplanetest.Holds(apierrors.IsForbidden(err), "it says %v", err)
	})
	for what, test := range map[string]struct{ node, text string }{
		"another node":                      {"other", without},
		"another taint":                     {"own", `{"spec": {"taints": [{"key": "fairlead.io/relay", "effect": "NoSchedule"}, ` + notReady + `]}}`},
		"all taints":                        {"own", `{"spec": {"taints": null}}`},
		"a taint more":                      {"own", `{"spec": {"taints": [{"key": "dedicated", "effect": "NoSchedule"}, ` + notReady + `, {"key": "x", "effect": "NoExecute"}]}}`},
		"a label beside it":                 {"own", `{"metadata": {"labels": {"a": "b"}}, "spec": {"taints": [{"key": "dedicated", "effect": "NoSchedule"}, ` + notReady + `]}}`},
		"whether pods are scheduled at all": {"own", `{"spec": {"unschedulable": true, "taints": [{"key": "dedicated", "effect": "NoSchedule"}, ` + notReady + `]}}`},
	} {
		err := patch(test.node, test.text, client.DryRunAll)
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "fairlead-relay-taint") {
			t.Errorf("%s: %v", what, err)
		}
	}
	const one = `{"spec": {"taints": [{"key": "fairlead.io/relay", "effect": "NoExecute"}, {"key": "dedicated", "effect": "NoSchedule"}, ` + notReady + `]}}`
	controlplanetest.Require(t, patch("own", one)) // each by itself
	controlplanetest.Require(t, patch("own", without))
	if err := relay.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "own"}}); !apierrors.IsForbidden(err) {
		t.Errorf("it may take nodes away: %v", err)
	}
}
