package pods_test

import (
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/agents/pods"
	"github.com/fairlead-io/fairlead/internal/core/selection"
)

// The tests with the real policy, and with the command's output, are in e2e/pods. The cases here are hard to
// produce there: times, and policies that are not ready or cannot be understood.

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// policy returns the policy of policies/, as Kyverno or the API server stored it at noon.
func policy(t *testing.T, change func(map[string]any)) *pods.Policy {
	t.Helper()
	p, err := pods.ReadPolicy(object(t, change))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func object(t testing.TB, change func(map[string]any)) unstructured.Unstructured {
	t.Helper()
	content := file(t, "inject-proxy-env/inject-proxy-env.yaml")
	content["status"] = map[string]any{"conditionStatus": map[string]any{"ready": true}}
	stored := unstructured.Unstructured{Object: content}
	stored.SetCreationTimestamp(metav1.NewTime(noon))
	if change != nil {
		change(stored.Object)
	}
	return stored
}

func file(t testing.TB, name string) map[string]any {
	t.Helper()
	text, err := os.ReadFile("../../../policies/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := yaml.Unmarshal(text, &content); err != nil {
		t.Fatal(err)
	}
	return content
}

func pod(namespace string, created time.Time, env ...corev1.EnvVar) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", CreationTimestamp: metav1.NewTime(created)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Env: env}}},
	}
}

func TestAPodThatThePolicyShouldHaveReachedIsToldByItsAge(t *testing.T) {
	changedLater := func(content map[string]any) {
		object := unstructured.Unstructured{Object: content}
		changed, later := metav1.NewTime(noon.Add(time.Hour)), metav1.NewTime(noon.Add(4*time.Hour))
		object.SetManagedFields([]metav1.ManagedFieldsEntry{
			{Manager: "helm", Operation: metav1.ManagedFieldsOperationUpdate, Time: &changed},
			{Manager: "kyverno", Operation: metav1.ManagedFieldsOperationUpdate, Time: &later, Subresource: "status"},
		})
	}
	status := func(ready bool, since time.Time) func(map[string]any) {
		return func(content map[string]any) {
			content["status"] = map[string]any{"conditionStatus": map[string]any{
				"ready": ready, "conditions": []any{map[string]any{"type": "WebhookConfigured", "lastTransitionTime": since.Format(time.RFC3339)}},
			}}
		}
	}
	for name, test := range map[string]struct {
		policy  *pods.Policy
		unread  bool
		pod     *corev1.Pod
		reason  pods.Reason
		message string
	}{
		"older":                {policy: policy(t, nil), pod: pod("shop", noon.Add(-time.Second)), reason: pods.ReasonOlder, message: "older than the policy: "},
		"not older":            {policy: policy(t, nil), pod: pod("shop", noon), reason: pods.ReasonNotReady, message: "before the policy was in force"},
		"long after":           {policy: policy(t, nil), pod: pod("shop", noon.Add(time.Minute)), reason: pods.ReasonUnknown},
		"older than a change":  {policy: policy(t, changedLater), pod: pod("shop", noon.Add(time.Minute)), reason: pods.ReasonOlder, message: "last change"},
		"a status is none":     {policy: policy(t, changedLater), pod: pod("shop", noon.Add(2*time.Hour)), reason: pods.ReasonUnknown},
		"ready later":          {policy: policy(t, status(true, noon.Add(time.Hour))), pod: pod("shop", noon.Add(time.Minute)), reason: pods.ReasonNotReady, message: "before the policy was in force"},
		"not ready":            {policy: policy(t, status(false, noon)), pod: pod("shop", noon.Add(time.Hour)), reason: pods.ReasonNotReady, message: "Kyverno does not say"},
		"no policy":            {pod: pod("shop", noon), reason: pods.ReasonNoPolicy},
		"a policy not to read": {unread: true, pod: pod("shop", noon), reason: pods.ReasonUnknown, message: "is not known"},
		"opened for the policy, not for Kyverno": {policy: policy(t, func(content map[string]any) {
			delete(content["spec"].(map[string]any)["matchConstraints"].(map[string]any), "namespaceSelector")
		}), pod: pod("kube-system", noon.Add(time.Hour)), reason: pods.ReasonKube, message: "its ConfigMap"},
	} {
		t.Run(name, func(t *testing.T) {
			found := pods.Cluster{Policy: test.policy, PolicyUnread: test.unread}.Judge(test.pod)
			if len(found) != 1 || found[0].Class != pods.Uninjected || found[0].Reason != test.reason || !strings.Contains(found[0].Message, test.message) {
				t.Errorf("%+v, want %s: %s", found, test.reason, test.message)
			}
		})
	}
}

func TestAPodOfWhenItsNamespaceWasExcludedIsToldByThat(t *testing.T) {
	end := noon.Add(time.Hour)
	c := pods.Cluster{Policy: policy(t, nil), ExclusionEnded: map[string]time.Time{"shop": end}}
	for _, test := range []struct {
		pod  *corev1.Pod
		want pods.Reason
	}{
		{pod("shop", end.Add(-time.Second)), pods.ReasonEnded},
		{pod("shop", noon.Add(-time.Hour)), pods.ReasonEnded},
		{pod("shop", end.Add(time.Second)), pods.ReasonUnknown},
		{pod("stock", noon.Add(-time.Second)), pods.ReasonOlder},
	} {
		if found := c.Judge(test.pod); len(found) != 1 || found[0].Reason != test.want {
			t.Errorf("%s of %s: %+v, want %s", test.pod.Namespace, test.pod.CreationTimestamp, found, test.want)
		}
	}
	c.NamespaceLabels = map[string]map[string]string{"shop": {selection.Key: selection.Exclude}}
	if found := c.Judge(pod("shop", noon)); len(found) != 1 || found[0].Reason != pods.ReasonExcluded {
		t.Errorf("excluded again: %+v", found)
	}
}

func TestAnEphemeralContainerIsAsOldAsItsStart(t *testing.T) {
	p := pod("shop", noon.Add(-time.Hour), corev1.EnvVar{Name: "NO_PROXY"})
	p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug"}}}
	p.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{
		Name: "debug", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon.Add(time.Hour))}},
	}}
	found := pods.Cluster{Policy: policy(t, nil)}.Judge(p)
	if len(found) != 2 || found[1].Reason != pods.ReasonUnknown {
		t.Errorf("%+v", found)
	}
}

func TestOfWhatWillNotRunAgainNothingButAPasswordMatters(t *testing.T) {
	for name, change := range map[string]func(*corev1.Pod){
		"succeeded":   func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded },
		"failed":      func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed },
		"terminating": func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: noon} },
		"ephemeral": func(p *corev1.Pod) {
			for _, c := range p.Spec.Containers {
				p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon(c)})
				p.Status.EphemeralContainerStatuses = append(p.Status.EphemeralContainerStatuses, corev1.ContainerStatus{
					Name: c.Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}},
				})
			}
			p.Spec.Containers = nil
		},
	} {
		p := pod("shop", noon, corev1.EnvVar{Name: "HTTP_PROXY", Value: "http://me:S3CRET@proxy.example"})
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "without"})
		if found := (pods.Cluster{}).Judge(p); len(found) != 2 {
			t.Errorf("%s, before: %+v", name, found)
		}
		change(p)
		if found := (pods.Cluster{}).Judge(p); len(found) != 1 || found[0].Class != pods.Password {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func TestTheSameIsSaidEachTimeOfSeveralReasons(t *testing.T) {
	p := policy(t, func(content map[string]any) {
		spec := content["spec"].(map[string]any)
		spec["variables"] = append(spec["variables"].([]any), map[string]any{"name": "excludedLabels", "expression": "['=x$']"})
		spec["matchConstraints"].(map[string]any)["namespaceSelector"] = map[string]any{"matchLabels": map[string]any{"a": "y", "b": "y"}}
	})
	labelled := pod("shop", noon)
	labelled.Labels = map[string]string{"d": "x", "c": "x"}
	labels := map[string]map[string]string{"shop": {"a": "y", "b": "y"}}
	for range 20 {
		if found := (pods.Cluster{Policy: p, NamespaceLabels: labels}).Judge(labelled); found[0].Message != "label c=x" {
			t.Fatalf("%+v", found)
		}
		if found := (pods.Cluster{Policy: p}).Judge(labelled); found[0].Message != "label a= of its namespace" {
			t.Fatalf("%+v", found)
		}
	}
}

func TestAPolicysOwnVariablesAreKnownWhateverSomebodyMadeOfThem(t *testing.T) {
	edited := policy(t, func(content map[string]any) {
		spec := content["spec"].(map[string]any)
		spec["variables"] = append(spec["variables"].([]any), map[string]any{
			"name": "entries", "expression": "[{'name': dyn('HTTP_PROXY'), 'valueFrom': dyn({'secretKeyRef': {'name': 'another', 'key': 'http'}})}]",
		})
	})
	env := corev1.EnvVar{Name: "HTTP_PROXY", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: "another"}, Key: "http",
	}}}
	if found := (pods.Cluster{Policy: edited}).Judge(pod("shop", noon, env)); found[0].Class != pods.Fine {
		t.Errorf("%+v", found)
	}
	env.ValueFrom.SecretKeyRef.Key = "other"
	if found := (pods.Cluster{Policy: edited}).Judge(pod("shop", noon, env)); found[0].Class != pods.Uninjected {
		t.Errorf("%+v", found)
	}
}

func TestOneValueOfItsOwnMakesAPolicyLiteral(t *testing.T) {
	for entries, want := range map[string][2]bool{
		"[{'name': dyn('a'), 'value': dyn('http://me:S3CRET@proxy.example')}, {'name': dyn('b'), 'valueFrom': dyn({})}, {'name': dyn('c'), 'valueFrom': dyn({})}]": {true, true},
		"[{'name': 'a', 'value': 'http://proxy.example'}]": {true, false},
		"[{'name': dyn('a'), 'valueFrom': dyn({})}]":       {false, false},
		"[]": {false, false},
	} {
		for range 20 {
			p := policy(t, func(content map[string]any) {
				spec := content["spec"].(map[string]any)
				spec["variables"] = []any{map[string]any{"name": "entries", "expression": "dyn(" + entries + ")"}}
			})
			if got := [2]bool{p.Literal(), p.ShowsPassword()}; got != want {
				t.Fatalf("%s: %v, want %v", entries, got, want)
			}
		}
	}
}

func TestWhoseVariablesTheyAreIsNotGuessedWithoutThePolicy(t *testing.T) {
	var env []corev1.EnvVar
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"} {
		env = append(env, corev1.EnvVar{Name: name})
	}
	for unread, want := range map[bool]pods.Reason{true: pods.ReasonUnknown, false: pods.ReasonOwn} {
		if found := (pods.Cluster{PolicyUnread: unread}).Judge(pod("shop", noon, env...)); found[0].Reason != want {
			t.Errorf("%+v, want %s", found, want)
		}
	}
}

func TestAListThatExtendsThePolicysIsAsOldAsThat(t *testing.T) {
	literal := policy(t, func(content map[string]any) {
		for _, variable := range content["spec"].(map[string]any)["variables"].([]any) {
			if v := variable.(map[string]any); v["name"] == "entries" {
				v["expression"] = "['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'NO_PROXY', 'no_proxy'].map(name, {'name': name, 'value': 'new'})"
			}
		}
	})
	list := corev1.EnvVar{Name: "NO_PROXY", Value: "kafka.internal,$(FAIRLEAD_NO_PROXY)"}
	lower := corev1.EnvVar{Name: "no_proxy", Value: list.Value}
	reference := func(secret string) corev1.EnvVar {
		return corev1.EnvVar{Name: "FAIRLEAD_NO_PROXY", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: "NO_PROXY",
		}}}
	}
	value := func(value string) []corev1.EnvVar {
		env := []corev1.EnvVar{{Name: "FAIRLEAD_NO_PROXY", Value: value}, list, lower}
		for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
			env = append(env, corev1.EnvVar{Name: name, Value: value})
		}
		return env
	}
	for name, test := range map[string]struct {
		policy *pods.Policy
		env    []corev1.EnvVar
		want   string
	}{
		"it has all":             {policy(t, nil), []corev1.EnvVar{reference("fairlead-proxy"), list, lower, {Name: "ALL_PROXY"}}, "Fine"},
		"it asks, and is older":  {policy(t, nil), []corev1.EnvVar{list}, "Uninjected OlderThanPolicy"},
		"so is one with a proxy": {policy(t, nil), []corev1.EnvVar{list, {Name: "ALL_PROXY"}}, "Uninjected OlderThanPolicy"},
		"one list does not ask":  {policy(t, nil), []corev1.EnvVar{list, {Name: "no_proxy"}}, "Uninjected OwnValue"},
		"somebody else's list":   {policy(t, nil), []corev1.EnvVar{reference("own"), list}, "Uninjected OwnValue"},
		"the present value":      {literal, value("new"), "Fine"},
		"the last value":         {literal, value("old"), "Outdated"},
	} {
		found := pods.Cluster{Policy: test.policy}.Judge(pod("shop", noon.Add(-time.Hour), test.env...))
		if got := strings.TrimSpace(string(found[0].Class) + " " + string(found[0].Reason)); len(found) != 1 || got != test.want {
			t.Errorf("%s: %+v, want %s", name, found, test.want)
		}
	}
}

func TestAGeneratedNameIsJudgedByWhatThePolicySawOfIt(t *testing.T) {
	p := policy(t, func(content map[string]any) {
		for _, variable := range content["spec"].(map[string]any)["variables"].([]any) {
			if v := variable.(map[string]any); v["name"] == "excludedNames" {
				v["expression"] = "['^web-.....$']"
			}
		}
	})
	for generateName, want := range map[string]pods.Reason{"web-": pods.ReasonUnknown, "": pods.ReasonExcluded, "other-": pods.ReasonExcluded} {
		one := pod("shop", noon.Add(time.Hour))
		one.Name, one.GenerateName = "web-x7k2p", generateName
		if found := (pods.Cluster{Policy: p}).Judge(one); found[0].Reason != want {
			t.Errorf("generateName %q: %+v, want %s", generateName, found, want)
		}
	}
}

func TestOptInPodsAreLeftOutUnlessTheyAsk(t *testing.T) {
	optIn := policy(t, set("optIn", "true"))
	c := pods.Cluster{Policy: optIn, NamespaceLabels: map[string]map[string]string{
		"asks": {"kubernetes.io/metadata.name": "asks", "policies.kyverno.io/inject-proxy-env": "include"},
	}}
	palette := pod("shop", noon.Add(time.Hour))
	palette.Labels = map[string]string{"spectrocloud.com/connection": "proxy"}
	for want, p := range map[pods.Reason]*corev1.Pod{pods.ReasonExcluded: pod("shop", noon.Add(time.Hour)), pods.ReasonUnknown: pod("asks", noon.Add(time.Hour))} {
		if found := c.Judge(p); found[0].Reason != want {
			t.Errorf("%s: %+v", p.Namespace, found)
		}
	}
	if found := c.Judge(palette); found[0].Reason != pods.ReasonUnknown {
		t.Errorf("%+v", found)
	}
}

func TestAPolicyThatIsNotToBeUnderstoodIsAnErrorThatRepeatsNothingOfIt(t *testing.T) {
	for name, test := range map[string]struct{ expression, named string }{
		"entries":         {`[{'name': object.metadata.name, 'value': 'http://me:S3CRET@proxy.example'}]`, "entries"},
		"excludedSources": {`['(S3CRET']`, "excludedSources"},
		"optIn":           {`'S3CRET'`, "excluded"}, // which refers to it
		"excludedNames":   {`['(S3CRET']`, "excluded"},
		"excludedLabels":  {`'S3CRET`, "excludedLabels"},
		"excluded":        {`7 + size('S3CRET')`, "excluded"},
		"included":        {`variables.included`, "included"}, // an API server refuses it, a file may have it
	} {
		_, err := pods.ReadPolicy(object(t, set(name, test.expression)))
		if err == nil || !strings.Contains(err.Error(), "variable "+test.named+": ") || strings.Contains(err.Error(), "S3CRET") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// set replaces a variable of a policy.
func set(name, expression string) func(map[string]any) {
	return func(content map[string]any) {
		for _, variable := range content["spec"].(map[string]any)["variables"].([]any) {
			if v := variable.(map[string]any); v["name"] == name {
				v["expression"] = expression
			}
		}
	}
}

func TestAPasswordInACommandLineIsFound(t *testing.T) {
	for word, want := range map[string]bool{
		"--proxy=http://me:S3CRET@proxy.example:3128":         true,
		"curl -x http://me:S3CRET@proxy.example:3128 a; date": true,
		"--proxy=http://me:$(PASSWORD)@proxy.example:3128":    false,
		"--proxy=http://proxy.example:3128":                   false,
		"a:b@c":                                               false, // no URL: it may be anything
	} {
		one := pod("shop", noon)
		one.Spec.Containers[0].Command, one.Spec.Containers[0].Args = []string{"sh", "-c", word}, []string{word}
		got := ""
		for _, f := range (pods.Cluster{}).Judge(one) {
			if f.Class == pods.Password {
				got = f.Message
			}
		}
		if (got == "in command, args, for all to read who may read pods") != want || (got == "") == want {
			t.Errorf("%q: %q", word, got)
		}
	}
}
