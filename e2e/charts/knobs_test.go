package charts_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
)

// knobs are the values that any workload takes, with where each has to be.
var knobs = map[string]struct {
	given any
	found func(workload) any
}{
	"podLabels":         {texts, func(w workload) any { return w.Spec.Template.Labels["team"] }},
	"podAnnotations":    {texts, func(w workload) any { return w.Spec.Template.Annotations["team"] }},
	"nodeSelector":      {texts, func(w workload) any { return w.pod().NodeSelector["team"] }},
	"annotations":       {texts, func(w workload) any { return w.Annotations["team"] }},
	"serviceAccount":    {values{"annotations": texts}, func(w workload) any { return w.account["team"] }},
	"priorityClassName": {"mine", func(w workload) any { return w.pod().PriorityClassName }},
	"imagePullSecrets": {[]any{values{"name": "mine"}}, func(w workload) any {
		return cmp.Equal(w.pod().ImagePullSecrets, []corev1.LocalObjectReference{{Name: "mine"}})
	}},
	"tolerations": {[]any{values{"key": "mine"}}, func(w workload) any { return len(w.pod().Tolerations) == 1 && w.pod().Tolerations[0].Key == "mine" }},
	"revisionHistoryLimit": {0, func(w workload) any { // not written, it is 10
		if limit := w.Spec.RevisionHistoryLimit; limit == nil || *limit != 0 {
			return limit
		}
		return "mine"
	}},
	"extraEnv": {[]any{values{"name": "MINE", "value": "mine"}}, func(w workload) any {
		for _, container := range w.containers() {
			if !slices.Contains(container.Env, corev1.EnvVar{Name: "MINE", Value: "mine"}) {
				return container.Name + " has it not"
			}
		}
		return "mine"
	}},
	"affinity": {values{"podAffinity": values{"preferredDuringSchedulingIgnoredDuringExecution": []any{}}}, func(w workload) any {
		return w.pod().Affinity != nil && w.pod().Affinity.PodAffinity != nil
	}},
	"topologySpreadConstraints": {[]any{values{"topologyKey": "mine", "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule"}}, func(w workload) any {
		if spread := w.pod().TopologySpreadConstraints; len(spread) == 1 && cmp.Equal(spread[0].LabelSelector, w.Spec.Selector) {
			return spread[0].TopologyKey
		}
		return w.pod().TopologySpreadConstraints
	}},
}

var texts = values{"team": "mine"}

// workload is a Deployment or a DaemonSet.
type workload struct {
	appsv1.Deployment
	account map[string]string // annotations of its service account
}

func (w workload) pod() *corev1.PodSpec { return &w.Spec.Template.Spec }

func (w workload) containers() []corev1.Container {
	return slices.Concat(w.pod().InitContainers, w.pod().Containers)
}

// workloads are all that have a pod template, whatever their kind.
func (r rendered) workloads(t *testing.T) []workload {
	t.Helper()
	var all []workload
	for name, object := range r {
		spec, _ := object.Object["spec"].(map[string]any)
		if template, _ := spec["template"].(map[string]any); template == nil || template["spec"] == nil {
			continue
		}
		w := workload{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &w.Deployment); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		account := r["ServiceAccount/"+w.pod().ServiceAccountName]
		if account == nil || account.GetNamespace() != w.Namespace {
			t.Fatalf("%s has no service account", name)
		}
		w.account = account.GetAnnotations()
		all = append(all, w)
	}
	return all
}

// workloadValues are the values of each workload of a chart, switched on; "" are those at the root.
func workloadValues(t *testing.T, chart string) map[string]values {
	t.Helper()
	type schema struct {
		Properties map[string]schema `json:"properties"`
	}
	var all schema
	controlplanetest.Require(t, json.Unmarshal(controlplanetest.ReadFile(t, filepath.Join(chartFolder(chart), "values.schema.json")), &all))
	found := map[string]values{}
	for name, below := range all.Properties {
		if _, is := below.Properties["extraEnv"]; is {
			found[name] = values{}
			if _, is := below.Properties["enabled"]; is {
				found[name]["enabled"] = true
			}
		}
	}
	if _, is := all.Properties["extraEnv"]; is {
		found[""] = values{}
	}
	return found
}

// everything is a chart with all its workloads, and with this in the values of each.
func everything(t *testing.T, chart string, key string, value any) rendered {
	t.Helper()
	given := values{"proxy": proxy(url, url, "a")}
	for name, of := range workloadValues(t, chart) {
		if key != "" {
			of[key] = value
		}
		if name == "" {
			maps.Copy(given, of)
		} else {
			given[name] = of
		}
	}
	objects := template(t, chart, given)
	if got, want := len(objects.workloads(t)), workloadsIn(t, chart); got != want || want < 4 {
		t.Fatalf("%s: %d workloads are rendered, and there are %d", chart, got, want)
	}
	return objects
}

var kinds = regexp.MustCompile(`(?m)^kind: (Deployment|DaemonSet|StatefulSet|ReplicaSet|Job|CronJob|Pod)$`)

// workloadsIn counts the workloads in a chart's templates, whatever switches them on.
func workloadsIn(t *testing.T, chart string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(chartFolder(chart), "templates", "*"))
	controlplanetest.Require(t, err)
	found := 0
	for _, file := range files {
		found += len(kinds.FindAll(controlplanetest.ReadFile(t, file), -1))
	}
	return found
}

func TestEveryWorkloadTakesEveryKnob(t *testing.T) {
	for chart := range both {
		for key, knob := range knobs {
			for _, w := range everything(t, chart, key, knob.given).workloads(t) {
				if got := knob.found(w); got != "mine" && got != true {
					t.Errorf("%s: %s has not got its %s: %v", chart, w.Name, key, got)
				}
			}
		}
	}
}

// A knob that is in the schema alone is none.
func TestEveryKnobOfTheSchemaIsTried(t *testing.T) {
	for _, line := range strings.Split(string(controlplanetest.ReadFile(t, filepath.Join(chartFolder("gen"), "workload.yaml"))), "\n") {
		if key, _, is := strings.Cut(line, ":"); is && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "#") && knobs[key].found == nil {
			t.Errorf("%s is not tried", key)
		}
	}
}

// What concerns everything is in one place.
func TestWhatTheReleaseSaysHoldsForAll(t *testing.T) {
	for chart := range both {
		given := values{
			"commonLabels": values{"team": "ours", "app.kubernetes.io/part-of": "proxies"},
			"global":       values{"imageRegistry": "registry.example/mirror/", "imagePullSecrets": []any{"ours", values{"name": "theirs"}}, "vcdConfig": values{"site": "x"}},
		}
		for name, of := range workloadValues(t, chart) {
			if name != "" {
				given[name] = of
			}
		}
		given["proxy"] = proxy(url, otherURL, "a")
		objects := template(t, chart, given)
		for name, object := range objects {
			if labels := object.GetLabels(); labels["team"] != "ours" || labels["app.kubernetes.io/part-of"] != "proxies" {
				t.Errorf("%s: the labels of %s are %v", chart, name, labels)
			}
		}
		for _, w := range objects.workloads(t) {
			if w.Spec.Template.Labels["team"] != "ours" || w.Spec.Selector.MatchLabels["team"] != "" {
				t.Errorf("%s: labels %v, selector %v", w.Name, w.Spec.Template.Labels, w.Spec.Selector.MatchLabels)
			}
			if diff := cmp.Diff([]corev1.LocalObjectReference{{Name: "ours"}, {Name: "theirs"}}, w.pod().ImagePullSecrets); diff != "" {
				t.Errorf("%s: %s", w.Name, diff)
			}
			for _, container := range w.containers() {
				if !strings.HasPrefix(container.Image, "registry.example/mirror/fairlead-io/") {
					t.Errorf("%s: image %s", w.Name, container.Image)
				}
			}
		}
		manifest, err := helm.Template(t.Context(), helm.Release{Chart: chartFolder(chart), Name: chart, Values: []any{given}})
		controlplanetest.Require(t, err)
		if bytes.Contains(manifest, []byte("ghcr.io/")) { // nor in the policies that add a sidecar
			t.Errorf("%s: something is still pulled from ghcr.io", chart)
		}
	}
	own := values{"proxy": proxy(url, url, "a"), "image": values{"repository": "mine.example/operator"}, "global": values{"imageRegistry": "registry.example"}}
	if image := template(t, "fairlead", own).deployment(t).Spec.Template.Spec.Containers[0].Image; !strings.HasPrefix(image, "mine.example/operator:") {
		t.Errorf("a repository of somebody's own is replaced: %s", image)
	}
}

// Whoever sets limits for all containers of a namespace must be able to. OpenShift's restricted-v2 gives each namespace a range of
// users, and refuses a pod that names another, as any number here would be (openshift/api, SecurityContextConstraints, runAsUser:
// MustRunAsRange). Elsewhere the image's counts.
func TestEveryContainerHasResourcesAndNoUser(t *testing.T) {
	for chart := range both {
		for _, w := range everything(t, chart, "", nil).workloads(t) {
			for _, container := range w.containers() {
				if container.Resources.Requests == nil || container.Resources.Limits.Memory().IsZero() {
					t.Errorf("%s: %s has %v", w.Name, container.Name, container.Resources)
				}
			}
			if w.Name != "fairlead-node" { // which writes files of root's
				checkNoUser(t, w)
			}
		}
	}
}

func checkNoUser(t *testing.T, w workload) {
	t.Helper()
	of := w.pod().SecurityContext
	if of == nil || of.RunAsNonRoot == nil || !*of.RunAsNonRoot {
		t.Errorf("%s: root is not ruled out", w.Name)
	} else if of.RunAsUser != nil || of.RunAsGroup != nil || of.FSGroup != nil || len(of.SupplementalGroups) > 0 {
		t.Errorf("%s: the pod names a user or group: %v", w.Name, of)
	}
	for _, c := range w.containers() {
		if c.SecurityContext.RunAsUser != nil || c.SecurityContext.RunAsGroup != nil {
			t.Errorf("%s: container %s names a user or group", w.Name, c.Name)
		}
	}
}

// A knob at the root of the operator's chart holds for all programs, and a knob of another program for that one.
func TestAProgramsOwnKnobStandsInThePlaceOfTheOperators(t *testing.T) {
	objects := template(t, "fairlead", values{
		"proxy": proxy(url, url, "a"), "nodeSelector": values{"pool": "all"}, "tolerations": []any{values{"key": "all"}},
		"observe": values{"enabled": true, "nodeSelector": values{"disk": "ssd"}, "tolerations": []any{}}, "deliver": values{"enabled": true},
	})
	for name, want := range map[string]string{"fairlead-operator": "pool", "fairlead-observe": "disk", "fairlead-deliver": "pool"} {
		pod := as[appsv1.Deployment](t, objects, "Deployment/"+name).Spec.Template.Spec
		if len(pod.NodeSelector) != 1 || pod.NodeSelector[want] == "" || (len(pod.Tolerations) == 0) != (want == "disk") {
			t.Errorf("%s has %v and %v", name, pod.NodeSelector, pod.Tolerations)
		}
	}
}

// The relay's Secrets are fairlead-node's, too, and the replicator's the probe's, unless these have others.
func TestWhatHasTheImageOfAnotherHasItsPullSecrets(t *testing.T) {
	secret := func(name string) []any { return []any{values{"name": name}} }
	given := values{
		"proxy": proxy(url, url, "a"), "replicator": values{"imagePullSecrets": secret("replicators")},
		"relay": values{"enabled": true, "imagePullSecrets": secret("relays")}, "node": values{"enabled": true}, "probe": values{"enabled": true},
	}
	of := func(objects rendered) map[string]string {
		found := map[string]string{}
		for _, w := range objects.workloads(t) {
			found[w.Name] = w.pod().ImagePullSecrets[0].Name
		}
		return found
	}
	want := map[string]string{"fairlead-replicator": "replicators", "fairlead-probe": "replicators", "fairlead-relay": "relays", "fairlead-node": "relays"}
	if diff := cmp.Diff(want, of(template(t, "fairlead-policies", given))); diff != "" {
		t.Error(diff)
	}
	want["fairlead-node"], want["fairlead-probe"] = "nodes", "probes"
	own := values{"node": values{"imagePullSecrets": secret("nodes")}, "probe": values{"imagePullSecrets": secret("probes")}}
	if diff := cmp.Diff(want, of(template(t, "fairlead-policies", given, own))); diff != "" {
		t.Error(diff)
	}
}
