package pods_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

func TestPodsAreListedByWhoOwnsThem(t *testing.T) {
	f := newFixture(t)
	f.namespace("shop", nil)
	f.namespace("stock", nil)
	// Owners are written by the test: no controller runs that would make their pods.
	deployment := f.deployment("shop", "old")
	for i := range 2 {
		f.create("shop", ownedBy(plain(fmt.Sprint("old-", i)), deployment))
	}
	f.create("shop", ownedBy(plain("nightly-1-x"), f.cronJob("shop", "nightly")))
	if out, err := f.run(f.cp.Admin(), "-n", "shop"); err != nil || !strings.Contains(out, "there is no policy inject-proxy-env") {
		t.Errorf("without a policy: %v\n%s", err, out)
	}
	f.install()
	f.create("shop", ownedBy(plain("db-0", corev1.EnvVar{Name: "NO_PROXY", Value: "*"}), metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db"}))
	f.create("shop", plain("secretive", corev1.EnvVar{Name: "http_proxy", Value: "http://me:" + password + "@proxy.example:3128"}))
	static := plain("etcd-cp-0")
	static.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	static.Spec.NodeName = "cp-0"
	f.create("shop", ownedBy(static, metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "cp-0"}))
	f.create("shop", plain("fine"))
	changed := f.secret("stock", map[string]string{"fairlead.io/changed-at": "2026-01-02T03:04:05Z"})
	f.started(f.create("stock", plain("before")), changed.Add(-time.Second))
	f.started(f.create("stock", plain("same-second")), changed)
	f.started(f.create("stock", plain("after")), changed.Add(time.Second))
	f.create("stock", plain("not-yet"))

	want := `NAMESPACE   OWNER             PODS   FINDING      CONTAINERS   WHY
shop        CronJob/nightly   1      Uninjected   web          older than the policy: replace the pod
shop        Deployment/old    2      Uninjected   web          older than the policy: replace the pod
shop        Node/cp-0         1      Uninjected   web          a static pod, which no policy reaches
shop        Pod/secretive     1      Password     web          in http_proxy, for all to read who may read pods
shop        StatefulSet/db    1      Uninjected   web          sets NO_PROXY itself
stock       Pod/before        1      Outdated     web          started before the values changed at 2026-01-02T03:04:05Z: restart it
`
	if got, err := f.run(f.cp.Admin()); err != nil || got != want {
		t.Errorf("%v: it says\n%s\nwant\n%s", err, got, want)
	}
	for _, failOn := range []string{"Password", "outdated", "OlderThanPolicy,NoPolicy"} {
		if got, err := f.run(f.cp.Admin(), "--fail-on", failOn); err == nil || got != want {
			t.Errorf("--fail-on %s: %v: it says\n%s", failOn, err, got)
		}
	}
	if out, err := f.run(f.cp.Admin(), "-n", "stock", "--fail-on", "Password,Uninjected"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := f.run(f.cp.Admin(), "-n", "stock", "--all"); err != nil || strings.Count(out, "Fine") != 3 || strings.Contains(out, "shop") {
		t.Errorf("%v: of one namespace, all: %s", err, out)
	}
	t.Run("of a namespace that is not there", func(t *testing.T) {
		if out, err := f.run(f.cp.Admin(), "-n", "shpo"); err == nil || out != "fairlead: there is no namespace \"shpo\"\n" {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("completed by a shell", func(t *testing.T) { f.testCompletion(t) })
	t.Run("of an owner that is made up", func(t *testing.T) { f.testForgedOwner(t) })
	t.Run("in the namespace of the source", func(t *testing.T) { f.testSource(t) })
	t.Run("as somebody who may list pods alone", func(t *testing.T) { f.testRestricted(t) })
	t.Run("as somebody who may see the Secrets of this name alone", func(t *testing.T) { f.testNamedSecrets(t) })
}

// testSource: the chart's Secret has no annotation, and the API server says when its data changed.
func (f *fixture) testSource(t *testing.T) {
	t.Helper()
	pod := plain("beside")
	f.started(f.create(policies.Namespace, pod), time.Now().Add(-time.Hour))
	said := f.report(f.cp.Admin(), "-n", policies.Namespace)
	if len(said.Owners) != 1 || said.Owners[0].Finding != "Outdated" || len(said.Notes) != 0 {
		t.Errorf("%+v", said)
	}
}

// testForgedOwner: whoever makes a pod may write any text as its owner.
func (f *fixture) testForgedOwner(t *testing.T) {
	t.Helper()
	f.namespace("forged", nil)
	pod := plain("evil")
	pod.Annotations = map[string]string{key: "exclude"}
	f.create("forged", ownedBy(pod, metav1.OwnerReference{APIVersion: "v1", Kind: "X", Name: "\x1b[2J日\nshop\tPod/web"}))
	want := `NAMESPACE   OWNER                            PODS   FINDING      CONTAINERS   WHY
forged      X/\x1b[2J\u65e5\nshop\tPod/web   1      Uninjected   web          annotation policies.kyverno.io/inject-proxy-env=exclude
`
	data := `notes: []
owners:
- containers:
  - web
  finding: Uninjected
  message: annotation policies.kyverno.io/inject-proxy-env=exclude
  namespace: forged
  owner: "X/\e[2J日\nshop\tPod/web"
  pods:
  - evil
  reason: Excluded
ways:
  relay:
    namespaces: []
    pods: 0
  secret:
    namespaces: []
    pods: 0
`
	for output, want := range map[string]string{"table": want, "yaml": data} {
		if got, err := f.run(f.cp.Admin(), "-n", "forged", "-o", output); err != nil || got != want {
			t.Errorf("%v: it says\n%s\nwant\n%s", err, got, want)
		}
	}
}

func (f *fixture) testRestricted(t *testing.T) {
	t.Helper()
	controlplanetest.Role(f, f.clients, "pods-alone", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}})
	user, err := f.cp.User("pods-alone")
	controlplanetest.Require(t, err)
	said := f.report(user)
	want := []string{
		"cannot tell whose ReplicaSets are: may not list replicasets.apps",
		"cannot tell whose Jobs are: may not list jobs.batch",
		"cannot tell what started before its namespace was served, nor whether a label of a namespace excludes: may not list namespaces",
		"cannot tell whether and since when there is the policy inject-proxy-env: may not list mutatingadmissionpolicies.admissionregistration.k8s.io",
		"cannot tell what is outdated: may not list secrets",
	}
	for _, note := range want {
		if !slices.ContainsFunc(said.Notes, func(n string) bool { return n == note }) {
			t.Errorf("lacks the note %q: %q", note, said.Notes)
		}
	}
	reasons := map[string]string{}
	for _, o := range said.Owners {
		reasons[o.Owner] = o.Finding + " " + o.Reason
	}
	for owner, want := range map[string]string{
		"ReplicaSet/old": "Uninjected Unknown", "Pod/secretive": "Password ", "StatefulSet/db": "Uninjected OwnValue", "Node/cp-0": "Uninjected Static",
	} {
		if reasons[owner] != want {
			t.Errorf("%s: %q, want %q", owner, reasons[owner], want)
		}
	}

	for failOn, fails := range map[string]bool{"Outdated": true, "NoPolicy": true, "Password": false, "never": false} {
		if out, err := f.run(user, "-n", "stock", "--fail-on", failOn); (err != nil) != fails {
			t.Errorf("--fail-on %s by somebody who cannot tell: %v: %s", failOn, err, out)
		}
	}

	nobody, err := f.cp.User("nobody")
	controlplanetest.Require(t, err)
	if out, err := f.run(nobody); err == nil || !strings.HasPrefix(out, "fairlead: listing pods: ") {
		t.Errorf("somebody who may not list pods: %v: %s", err, out)
	}
}

// testNamedSecrets: no right to any other Secret is needed, and the answers have nothing of what is in them.
func (f *fixture) testNamedSecrets(t *testing.T) {
	t.Helper()
	controlplanetest.Role(f, f.clients, "auditor",
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods", "namespaces"}, Verbs: []string{"list"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{policies.Secret}, Verbs: []string{"list"}},
	)
	user, err := f.cp.User("auditor")
	controlplanetest.Require(t, err)
	mark, err := f.cp.AuditMark()
	controlplanetest.Require(t, err)
	said := f.report(user)
	if !slices.ContainsFunc(said.Owners, func(o row) bool { return o.Owner == "Pod/before" && o.Finding == "Outdated" }) {
		t.Errorf("%+v", said)
	}
	events, err := f.cp.AuditEvents(mark, controlplane.ByUser("auditor"), controlplane.OnResource("", "secrets"))
	controlplanetest.Require(t, err)
	if len(events) != 1 || events[0].ResponseStatus.Code != 200 || !strings.Contains(events[0].RequestURI, "fieldSelector=metadata.name") {
		t.Errorf("requests for Secrets: %+v", events)
	}
}

// What a change of the engine can leave behind does not hide who injects.
func TestKyvernosPolicyIsFollowedBesideANativeOneThatIsNotBound(t *testing.T) {
	tier.Full(t)
	f := newFixture(t)
	f.namespace("shop", nil)
	f.install()
	controlplanetest.Require(t, f.clients.AdmissionregistrationV1().MutatingAdmissionPolicyBindings().Delete(t.Context(), policies.InjectProxyEnv, metav1.DeleteOptions{}))
	controlplanetest.Await(t, "a pod that nobody injects", func(ctx context.Context) (bool, error) {
		probe := plain("probe")
		stored, err := f.clients.CoreV1().Pods("shop").Create(ctx, &probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && !injected(stored.Spec.Containers[0].Env), err
	})
	f.create("shop", plain("before"))
	expect := func(want ...string) {
		t.Helper()
		var got []string
		for _, o := range f.report(f.cp.Admin(), "--all", "-n", "shop").Owners {
			got = append(got, o.Owner+" "+o.Finding+" "+o.Reason)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	expect("Pod/before Uninjected PolicyNotReady")
	f.nextSecond()
	k, err := kyverno.Start(t.Context(), f.cp, kyverno.Options{Progress: t.Output()})
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, policies.Install(t.Context(), f.cp, policies.Values()))
	controlplanetest.Require(t, k.Await(t.Context(), policies.InjectProxyEnv))
	f.create("shop", plain("after"))
	expect("Pod/after Fine ", "Pod/before Uninjected OlderThanPolicy")
}

func TestEachKindIsListedOncePerPageHoweverManyPodsThereAre(t *testing.T) {
	tier.Full(t)
	f := newFixture(t)
	f.namespace("shop", nil)
	deployment := f.deployment("shop", "web")
	const pods = 501 // a page has 500
	for i := range pods {
		f.create("shop", ownedBy(plain(fmt.Sprint("web-", i)), deployment))
	}
	f.install()
	mark, err := f.cp.AuditMark()
	controlplanetest.Require(t, err)
	said := f.report(f.cp.Admin())
	if len(said.Owners) != 1 || len(said.Owners[0].Pods) != pods {
		t.Errorf("%+v", said)
	}
	events, err := f.cp.AuditEvents(mark, controlplane.ByUserAgent("fairlead/"))
	controlplanetest.Require(t, err)
	requests := map[string]int{}
	for _, e := range events {
		if e.Verb != "list" {
			t.Errorf("it asks: %s %s", e.Verb, e.RequestURI)
		}
		requests[e.ObjectRef.Resource]++
	}
	want := map[string]int{
		"pods": 2, "replicasets": 1, "jobs": 1, "namespaces": 1, "secrets": 1,
		"mutatingadmissionpolicies": 1, "mutatingadmissionpolicybindings": 1, "mutatingpolicies": 1,
	}
	if !maps.Equal(requests, want) {
		t.Errorf("requests: %v, want %v", requests, want)
	}
}

func TestALiteralPolicyIsFollowedToo(t *testing.T) {
	tier.Full(t)
	f := newFixture(t)
	f.namespace("shop", nil)
	literal := map[string]any{"carry": "Literal"}
	f.install(literal)
	f.create("shop", plain("old-values"))
	f.nextSecond()
	other := map[string]any{"cluster": map[string]any{"proxy": map[string]any{"noProxy": ".svc,.example.com"}}}
	f.install(literal, other)
	controlplanetest.Await(t, "a pod with the new values", func(ctx context.Context) (bool, error) {
		probe := plain("probe")
		stored, err := f.clients.CoreV1().Pods("shop").Create(ctx, &probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && slices.ContainsFunc(stored.Spec.Containers[0].Env, func(e corev1.EnvVar) bool { return e.Value == ".svc,.example.com" }), err
	})
	f.create("shop", plain("new-values"))
	said := f.report(f.cp.Admin(), "--all", "-n", "shop")
	var got []string
	for _, o := range said.Owners {
		got = append(got, o.Owner+" "+o.Finding)
	}
	want := []string{"Pod/new-values Fine", "Pod/old-values Outdated"}
	if !slices.Equal(got, want) || len(said.Notes) != 1 {
		t.Errorf("%q, notes %q", got, said.Notes)
	}
}

func (f *fixture) deployment(namespace, name string) metav1.OwnerReference {
	f.Helper()
	labels := map[string]string{"app": name}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: plain("").Spec}
	deployment, err := f.clients.AppsV1().Deployments(namespace).Create(f.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}, metav1.CreateOptions{})
	controlplanetest.Require(f, err)
	set, err := f.clients.AppsV1().ReplicaSets(namespace).Create(f.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))}},
		Spec:       appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}, metav1.CreateOptions{})
	controlplanetest.Require(f, err)
	return *metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
}

func (f *fixture) cronJob(namespace, name string) metav1.OwnerReference {
	f.Helper()
	template := batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: plain("").Spec}}
	template.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	cronJob, err := f.clients.BatchV1().CronJobs(namespace).Create(f.Context(), &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       batchv1.CronJobSpec{Schedule: "0 0 * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: template}},
	}, metav1.CreateOptions{})
	controlplanetest.Require(f, err)
	job, err := f.clients.BatchV1().Jobs(namespace).Create(f.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name + "-1", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cronJob, batchv1.SchemeGroupVersion.WithKind("CronJob"))}},
		Spec:       template,
	}, metav1.CreateOptions{})
	controlplanetest.Require(f, err)
	return *metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))
}

func ownedBy(pod corev1.Pod, owner metav1.OwnerReference) corev1.Pod {
	controller := true
	owner.Controller = &controller
	if owner.UID == "" {
		owner.UID = "of-the-test"
	}
	pod.OwnerReferences = []metav1.OwnerReference{owner}
	return pod
}

// secret writes a copy as the replicator does, and returns when it says that it changed.
func (f *fixture) secret(namespace string, annotations map[string]string) time.Time {
	f.Helper()
	_, err := f.clients.CoreV1().Secrets(namespace).Create(f.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: policies.Secret, Labels: map[string]string{"fairlead.io/secret": "proxy"}, Annotations: annotations},
		StringData: map[string]string{"HTTP_PROXY": "http://me:" + password + "@proxy.example:3128"},
	}, metav1.CreateOptions{})
	controlplanetest.Require(f, err)
	at, err := time.Parse(time.RFC3339, annotations["fairlead.io/changed-at"])
	controlplanetest.Require(f, err)
	return at
}
