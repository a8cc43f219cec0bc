package pods_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/e2e/command"
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
	controlplanetest.Require(t, f.cp.Apply(t.Context(), []byte(owners)))
	for i := range 2 {
		f.create("shop", ownedBy(plain(fmt.Sprint("old-", i)), metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "old"}))
	}
	f.create("shop", ownedBy(plain("nightly-1-x"), metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: "nightly-1"}))
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
	mark, err := f.cp.AuditMark()
	controlplanetest.Require(t, err)
	if got, err := f.run(f.cp.Admin()); err != nil || got != want {
		t.Errorf("%v: it says\n%s\nwant\n%s", err, got, want)
	}
	f.checkRequests(t, mark)
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
	t.Run("in the namespace of the source", func(t *testing.T) { f.testSource(t) })
	t.Run("as somebody who may list pods alone", func(t *testing.T) { f.testRestricted(t) })
	t.Run("as somebody who may see the Secrets of this name alone", func(t *testing.T) { f.testNamedSecrets(t) })
}

// checkRequests: each kind is listed once, and nothing else is asked.
func (f *fixture) checkRequests(t *testing.T, mark controlplane.AuditMark) {
	t.Helper()
	events, err := f.cp.AuditEvents(mark, controlplane.ByUserAgent("fairlead/"))
	controlplanetest.Require(t, err)
	requests := map[string]int{}
	for _, e := range events {
		requests[e.Verb+" "+e.ObjectRef.Resource]++
	}
	want := map[string]int{
		"list pods": 1, "list replicasets": 1, "list jobs": 1, "list namespaces": 1, "list secrets": 1,
		"list mutatingadmissionpolicies": 1, "list mutatingadmissionpolicybindings": 1, "list mutatingpolicies": 1,
	}
	if !maps.Equal(requests, want) {
		t.Errorf("requests: %v, want %v", requests, want)
	}
}

// testCompletion asks what a shell asks when somebody has typed so much and presses the tab key.
func (f *fixture) testCompletion(t *testing.T) {
	t.Helper()
	nobody, err := f.cp.User("nobody")
	controlplanetest.Require(t, err)
	for _, row := range []struct {
		as    *rest.Config
		typed []string
		want  string
	}{
		{f.cp.Admin(), []string{"pods", "--namespace"}, "\nshop\nstock\n"},
		{f.cp.Admin(), []string{"doctor", "tunnel", "--namespace=shop", "--context="}, "\ndeployment/old\n:4\n"},
		{nobody, []string{"nodes", "--namespace"}, "\n:4\n"},
	} {
		kubeconfig, err := f.cp.Kubeconfig(row.as)
		controlplanetest.Require(t, err)
		verb, last := row.typed[:len(row.typed)-1], row.typed[len(row.typed)-1]
		args := slices.Concat([]string{"__complete"}, verb, []string{"--kubeconfig", kubeconfig, last, ""})
		said := "\n" + string(command.Output(t, nil, args...))
		whole := strings.HasSuffix(row.want, ":4\n")
		if whole && said != row.want || !strings.Contains(said, row.want) || !strings.HasSuffix(said, "\n:4\n") {
			t.Errorf("%q is completed with %q", row.typed, said)
		}
	}
}

// testSource: the chart's Secret has no annotation, and the API server says when its data changed.
func (f *fixture) testSource(t *testing.T) {
	t.Helper()
	f.started(f.create(policies.Namespace, plain("beside")), time.Now().Add(-time.Hour))
	said := f.report(f.cp.Admin(), "-n", policies.Namespace)
	if len(said.Owners) != 1 || said.Owners[0].Finding != "Outdated" || len(said.Notes) != 0 {
		t.Errorf("%+v", said)
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
		if !slices.Contains(said.Notes, note) {
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
	f.awaitVariables("shop", 0)
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

// owners are written by the test: no controller runs that would make their pods.
const owners = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: old, namespace: shop}
spec:
  selector: {matchLabels: {app: old}}
  template:
    metadata: {labels: {app: old}}
    spec: {containers: [{name: web, image: web}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: old, namespace: shop, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: old, uid: of-the-test, controller: true}]}
spec:
  selector: {matchLabels: {app: old}}
  template:
    metadata: {labels: {app: old}}
    spec: {containers: [{name: web, image: web}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: shop}
spec:
  schedule: 0 0 * * *
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: web, image: web}]}}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: nightly-1, namespace: shop, ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: nightly, uid: of-the-test, controller: true}]}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: web, image: web}]}}}
`

func ownedBy(pod corev1.Pod, owner metav1.OwnerReference) corev1.Pod {
	owner.Controller, owner.UID = new(true), "of-the-test"
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
