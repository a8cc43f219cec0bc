package charts_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
)

const probeName = "fairlead-probe"

func probed(more values) values {
	given := values{"proxy": proxy(url, otherURL, "a"), "probe": values{"enabled": true}}
	maps.Copy(given, more)
	return given
}

// The ServiceMonitor selects the Service, and the Service the pod.
func TestTheProbesMetricsAreFoundWhereThatIsAskedFor(t *testing.T) {
	asked := values{"enabled": true, "metrics": values{"serviceMonitor": values{"enabled": true, "interval": "30s", "labels": values{"release": "prometheus"}}}}
	objects := render(t, probed(values{"probe": asked}))
	service, pod := as[corev1.Service](t, objects, "Service/"+probeName+"-metrics"), as[appsv1.Deployment](t, objects, "Deployment/"+probeName).Spec.Template
	if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels)) || service.Spec.Ports[0].TargetPort.String() != pod.Spec.Containers[0].Ports[0].Name {
		t.Errorf("the Service %+v does not select the pod %v", service.Spec, pod.Labels)
	}
	monitor := "ServiceMonitor/" + probeName
	if !labels.SelectorFromSet(objects.labels(t, monitor, "spec", "selector", "matchLabels")).Matches(labels.Set(service.Labels)) {
		t.Errorf("it does not select the Service %v", service.Labels)
	}
	if got := objects.labels(t, monitor, "metadata", "labels"); got["release"] != "prometheus" || got["app.kubernetes.io/name"] != "fairlead-policies" {
		t.Errorf("its labels are %v", got)
	}
	if objects := render(t, probed(nil)); objects[monitor] != nil || objects["Service/"+probeName+"-metrics"] != nil {
		t.Error("there is one that nobody asked for")
	}
}

// It mounts the Secret that is there already. Only with Literal there is none.
func TestTheProbeReadsTheSettingsThatPodsOrRelaysHave(t *testing.T) {
	for carry, want := range map[string]string{"SecretRef": "fairlead-proxy", "Relay": "fairlead-source", "Literal": probeName} {
		objects := render(t, probed(values{"carry": carry}))
		deployment := as[appsv1.Deployment](t, objects, "Deployment/"+probeName)
		pod := deployment.Spec.Template.Spec
		if got := pod.Volumes[0].Projected.Sources[0].Secret.Name; got != want {
			t.Errorf("%s: Secret %s, want %s", carry, got, want)
		}
		if own := objects["Secret/"+probeName] != nil; own != (carry == "Literal") {
			t.Errorf("%s: a Secret of its own: %v", carry, own)
		}
		if asks := slices.ContainsFunc(pod.Containers[0].Args, func(arg string) bool { return strings.HasPrefix(arg, "--relay-selector=") }); asks != (carry == "Relay") {
			t.Errorf("%s: %q", carry, pod.Containers[0].Args)
		}
		if *deployment.Spec.Replicas != 1 || deployment.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
			t.Errorf("%s: there may be two writers", carry)
		}
	}
}

// With carry Relay, e2e/probe asks the API server what it may.
func TestTheProbeMayReadNoMoreThanItIsToFind(t *testing.T) {
	rules := func(more values) (namespaced, everywhere []rbacv1.PolicyRule) {
		objects := render(t, probed(more))
		if objects["ClusterRole/"+probeName] != nil {
			everywhere = as[rbacv1.ClusterRole](t, objects, "ClusterRole/"+probeName).Rules
		}
		return as[rbacv1.Role](t, objects, "Role/"+probeName).Rules, everywhere
	}
	reads := func(resource string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"list"}}
	}
	_, everywhere := rules(nil)
	if diff := cmp.Diff([]rbacv1.PolicyRule{reads("nodes"), reads("pods")}, everywhere); diff != "" {
		t.Error(diff)
	}
	result := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{probeName}, Verbs: []string{"get", "update"}}
	namespaced, everywhere := rules(values{"probe": values{"enabled": true, "discover": false}})
	if diff := cmp.Diff([]rbacv1.PolicyRule{result}, namespaced); diff != "" || everywhere != nil {
		t.Errorf("%s, and everywhere %v", diff, everywhere)
	}
}

// Each family of agents is one selector, as kubectl takes it.
func TestTheProbeLooksForTheAgentsOfAllFamilies(t *testing.T) {
	objects := render(t, probed(nil))
	found := 0
	for _, argument := range as[appsv1.Deployment](t, objects, "Deployment/"+probeName).Spec.Template.Spec.Containers[0].Args {
		text, is := strings.CutPrefix(argument, "--agent-selector=")
		if _, err := labels.Parse(text); is && err != nil {
			t.Error(err)
		}
		if is {
			found++
		}
		if is && strings.Contains(text, "konnectivity-agent") && text != "k8s-app in (konnectivity-agent)" && text != "app in (konnectivity-agent)" {
			t.Error(text)
		}
	}
	if found < 10 {
		t.Errorf("%d selectors", found)
	}
}

// The operator's targets come with the cluster's values, people's with the chart's.
func TestTheProbeTriesTheTargetsOfBoth(t *testing.T) {
	operators, peoples := values{"url": "https://a.example", "expect": "Reachable", "route": "Proxied"}, values{"url": "tcp://b.example:25", "expect": "Unreachable"}
	objects := render(t, probed(values{
		"cluster": values{"probes": values{"targets": []any{operators}, "credentials": values{"current": "0123456789abcdef"}}},
		"probe":   values{"enabled": true, "targets": []any{peoples, operators}},
	}))
	want := "- expect: Reachable\n  route: Proxied\n  url: https://a.example\n- expect: Unreachable\n  url: tcp://b.example:25\n"
	if diff := cmp.Diff(want, as[corev1.ConfigMap](t, objects, "ConfigMap/"+probeName+"-targets").Data["targets.yaml"]); diff != "" {
		t.Error(diff)
	}
	if data := objects["ConfigMap/"+probeName].Object["data"]; data != nil {
		t.Errorf("an upgrade would take the result away: %v", data)
	}
}
