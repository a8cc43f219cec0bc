package replicator

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
)

// marked returns a Secret with this account, in a namespace, with an annotation.
func marked(namespace, account, annotation string) *corev1.Secret {
	secret := secretOf(settings("http://" + account + "@p:1"))
	if account == "" {
		secret = secretOf(settings("http://p:1"))
	}
	secret.Namespace = namespace
	secret.Annotations = map[string]string{proxysecret.ChangedAtAnnotation: changed.Format(time.RFC3339)}
	if annotation != "" {
		secret.Annotations[proxysecret.CredentialsAnnotation] = annotation
	}
	return secret
}

func TestACopySaysWhichCredentialsItHasAndHad(t *testing.T) {
	const sinceChanged, sinceNow = "@2026-03-01T08:00:00Z", "@2026-03-02T09:30:00Z"
	for name, row := range map[string]struct {
		source, copy *corev1.Secret
		verb, want   string
	}{
		"nobody counts":                {marked("own", "a:1", ""), marked("ns", "a:1", ""), keep, ""},
		"nobody counts any more":       {marked("own", "a:1", ""), marked("ns", "a:1", "A"+sinceChanged), keep, ""},
		"nor afterwards":               {marked("own", "b:2", ""), marked("ns", "a:1", "A"+sinceChanged), update, ""},
		"new":                          {marked("own", "a:1", "A"), nil, create, "A" + sinceNow},
		"it has them already":          {marked("own", "a:1", "A"), marked("ns", "a:1", ""), update, "A" + sinceChanged},
		"and says so":                  {marked("own", "a:1", "A"), marked("ns", "a:1", "A"+sinceChanged), keep, ""},
		"others":                       {marked("own", "b:2", "B"), marked("ns", "a:1", "A"+sinceChanged), update, "B" + sinceNow + ",A" + sinceChanged},
		"nobody noted what was before": {marked("own", "b:2", "B"), marked("ns", "a:1", ""), update, "B" + sinceNow},
		"the fingerprint is late":      {marked("own", "b:2", "A"), marked("ns", "a:1", "A"+sinceChanged), update, "A" + sinceNow},
		"the key is another":           {marked("own", "a:1", "K"), marked("ns", "a:1", "A"+sinceChanged), update, "K" + sinceChanged},
	} {
		d := decide(state{namespace: "ns", source: readSource(row.source), copy: row.copy, now: now})
		got := ""
		if d.object != nil {
			got = d.object.GetAnnotations()[proxysecret.CredentialsAnnotation]
		}
		if d.verb != row.verb || got != row.want {
			t.Errorf("%s: %s %q, want %s %q", name, d.verb, got, row.verb, row.want)
		}
	}
}

// Whoever deletes a copy to have it made anew does not change what pods started with.
func TestACopyThatIsMadeAnewSaysNothingOfWhatStartedBefore(t *testing.T) {
	source := marked("own", "b:2", "B") // since changed
	for name, row := range map[string]struct {
		created, started time.Time
		want             string
	}{
		"before the copy":                   {changed.Add(-time.Hour), now.Add(-time.Hour), proxysecret.Unknown},
		"just before it, by another clock":  {changed.Add(-time.Hour), now.Add(2 * time.Second), proxysecret.Unknown},
		"after it":                          {changed.Add(-time.Hour), now.Add(time.Minute), "B"},
		"in a namespace after the change":   {changed.Add(time.Hour), now.Add(-time.Minute), proxysecret.Unknown},
		"in a new namespace":                {now.Add(-time.Second), now, "B"},
		"in a new one of before the change": {changed.Add(-time.Second), changed, proxysecret.Unknown},
	} {
		s := state{namespace: "ns", created: row.created, source: readSource(source), now: now}
		if row.started.Equal(changed) {
			s.now = changed.Add(time.Second)
		}
		copied := decide(s).object
		history := proxysecret.ParseHistory(copied.GetAnnotations()[proxysecret.CredentialsAnnotation])
		if got := history.At(row.started); got != row.want {
			t.Errorf("%s: %s by %s, want %s", name, got, history, row.want)
		}
	}
}

// running returns a pod whose containers, by name, started so many minutes after noon; one that waits has a minute below zero.
func running(namespace string, minutes map[string]int, spec corev1.PodSpec) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p", UID: "u"}, Spec: spec}
	for name, minute := range minutes {
		status := corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}
		if minute >= 0 {
			status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon(minute))}}
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
	}
	for range 2 { // a cache may do it twice
		kept, err := startsAlone(&pod)
		if err != nil {
			panic(err)
		}
		pod = *kept.(*corev1.Pod)
	}
	return pod
}

func noon(minute int) time.Time { return time.Date(2026, 3, 1, 12, minute, 0, 0, time.UTC) }

func TestCopiesAndPodsAreCountedByTheirCredentials(t *testing.T) {
	variable := func(key string) []corev1.EnvVar {
		ref := &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: proxysecret.Name}, Key: key}
		return []corev1.EnvVar{{Name: key, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: ref}}}
	}
	all := []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: proxysecret.Name}}}}
	volume := corev1.Volume{Name: "settings", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: proxysecret.Name}}}
	web := corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Env: variable("HTTP_PROXY")}, {Name: "list", Env: variable("NO_PROXY")}, {Name: "other"}}}
	sidecar := corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "relay", VolumeMounts: []corev1.VolumeMount{{Name: "settings"}}}},
		Containers:     []corev1.Container{{Name: "agent"}}, Volumes: []corev1.Volume{volume},
	}
	from := corev1.PodSpec{Containers: []corev1.Container{{Name: "web", EnvFrom: all}}}
	history := func(first string) string { return first + "@2026-03-01T12:10:00Z,A@2026-03-01T12:00:00Z" }

	secrets := []corev1.Secret{
		*marked("own", "b:2", "B"), *marked("new", "b:2", history("B")), *marked("late", "a:1", "A@2026-03-01T12:00:00Z"),
		*marked("forged", "a:1", history("B")), *marked("silent", "a:1", ""), *marked("direct", "", "none@2026-03-01T12:00:00Z"),
	}
	pods := []corev1.Pod{
		running("new", map[string]int{"web": 20}, web),                        // B
		running("new", map[string]int{"web": 5}, web),                         // A
		running("new", map[string]int{"web": 20, "list": 5, "other": 5}, web), // B
		running("new", map[string]int{"web": -1}, web),                        // none: it starts again
		running("new", map[string]int{"web": 0}, from),                        // before all that is noted
		running("new", map[string]int{"relay": 5, "agent": 20}, sidecar),      // A
		running("new", map[string]int{"relay": 20, "agent": 5}, sidecar),      // B
		running("late", map[string]int{"web": 20}, from),                      // A
		running("silent", map[string]int{"web": 20}, web),                     // nobody knows
		running("direct", map[string]int{"web": 20}, web),                     // no credentials
		running("nothing", map[string]int{"web": 20}, web),                    // a reference without a Secret
	}
	copies, of, ok := countCredentials("own", secrets, pods)
	if got := fmt.Sprint(copies, of, ok); got != "map[A:1 B:2 unknown:2] map[A:3 B:3 unknown:3] true" {
		t.Error(got)
	}
	secrets[0].Annotations = nil
	if _, _, ok := countCredentials("own", secrets, pods); ok {
		t.Error("it counts without fingerprints")
	}
	if _, _, ok := countCredentials("elsewhere", secrets, pods); ok {
		t.Error("it counts without a source")
	}
}

// One scrape of a cluster with 5,000 namespaces and 20,000 pods.
func BenchmarkCount(b *testing.B) {
	env := []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: proxysecret.Name}}}}
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "web", EnvFrom: env}}}
	secrets, pods := []corev1.Secret{*marked("own", "b:2", "B")}, []corev1.Pod{}
	for i := range 5000 {
		namespace := fmt.Sprint("ns-", i)
		secrets = append(secrets, *marked(namespace, "b:2", "B@2026-03-01T12:10:00Z,A@2026-03-01T12:00:00Z"))
		for range 4 {
			pods = append(pods, running(namespace, map[string]int{"web": 5}, spec))
		}
	}
	for b.Loop() {
		if _, of, _ := countCredentials("own", secrets, pods); of["A"] != 20000 {
			b.Fatal(of)
		}
	}
}
