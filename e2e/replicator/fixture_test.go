package replicator_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/replicator"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

const (
	selection = "policies.kyverno.io/inject-proxy-env" // label of namespaces
	ourLabel  = "fairlead.io/secret"
	changedAt = "fairlead.io/changed-at"
)

// excludedByName is in exclude.namespaces of every release here.
const excludedByName = "excluded-by-name"

// fixture is a control plane with the chart's release and a replica of the replicator.
type fixture struct {
	testing.TB
	cp         *controlplane.ControlPlane
	client     client.Client // an administrator's, without cache
	replicator *replicator.Replicator
}

var shared struct {
	sync.Mutex
	replicator *replicator.Replicator
}

// newFixture shares control plane and replicator with other tests. They leave the source alone.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	cp := controlplanetest.Shared(t)
	shared.Lock()
	defer shared.Unlock()
	f := on(t, cp)
	if shared.replicator == nil {
		controlplanetest.Require(t, cp.StartControllerManager(t.Context(), controlplane.ServiceAccounts))
		f.install("pl4in")
		r, err := replicator.Start(context.Background(), cp)
		controlplanetest.Require(t, err)
		shared.replicator = r // dies with this process
	}
	f.replicator = shared.replicator
	return f
}

// newOwnFixture is for tests that change the source, stop something or count requests.
func newOwnFixture(t *testing.T, args ...string) *fixture {
	t.Helper()
	f := on(t, controlplanetest.Start(t, controlplane.Options{}))
	f.install("pl4in")
	f.start(args...)
	return f
}

func on(t *testing.T, cp *controlplane.ControlPlane) *fixture {
	t.Helper()
	f := &fixture{TB: t, cp: cp}
	f.client = f.clientFor(cp.Admin())
	return f
}

func (f *fixture) clientFor(config *rest.Config) client.Client {
	f.Helper()
	return controlplanetest.Client(f, config, nil)
}

// values of the release: the proxy's URL with this password. The policy is the native one, which needs no Kyverno.
func values(password string) map[string]any {
	url := "http://user:" + password + "@proxy.example:3128"
	return map[string]any{
		"engine":  "Native",
		"proxy":   map[string]any{"http": url, "https": url, "noProxy": "localhost,.svc"},
		"exclude": map[string]any{"namespaces": []string{"kube-system", "kube-public", "kube-node-lease", excludedByName}},
		"tunnels": map[string]any{"namespaces": []string{}}, // else kube-system has a copy, for its agents
	}
}

func (f *fixture) install(password string, more ...any) {
	f.Helper()
	f.must(policies.Install(f.Context(), f.cp, append([]any{values(password)}, more...)...))
}

// start adds a replica, which may be the first.
func (f *fixture) start(args ...string) {
	f.Helper()
	r, err := replicator.Start(f.Context(), f.cp, args...)
	f.must(err)
	f.replicator = r
}

func (f *fixture) must(err error) {
	f.Helper()
	controlplanetest.Require(f, err)
}

func secretNamed(namespace, name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// secret returns the one of the contract, nil if there is none.
func (f *fixture) secret(namespace string) *corev1.Secret {
	f.Helper()
	secret := &corev1.Secret{}
	err := f.client.Get(f.Context(), client.ObjectKey{Namespace: namespace, Name: policies.Secret}, secret)
	if apierrors.IsNotFound(err) {
		return nil
	}
	f.must(err)
	return secret
}

func (f *fixture) source() *corev1.Secret {
	f.Helper()
	return f.secret(policies.Namespace)
}

// namespace makes one, with labels (key, value, ...).
func (f *fixture) namespace(labels ...string) string {
	f.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Labels: map[string]string{}}}
	for i := 0; i < len(labels); i += 2 {
		namespace.Labels[labels[i]] = labels[i+1]
	}
	f.must(f.client.Create(f.Context(), namespace))
	return namespace.Name
}

func (f *fixture) label(namespace, key, value string) {
	f.Helper()
	f.must(f.patch(f.client, namespace, fmt.Sprintf(`{"labels":{%q:%q}}`, key, value)))
}

// patch is somebody's change of a namespace's metadata.
func (f *fixture) patch(as client.Client, namespace, metadata string, options ...client.PatchOption) error {
	f.Helper()
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	return as.Patch(f.Context(), object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":`+metadata+`}`)), options...)
}

// awaitCopy awaits that a namespace has what the source has, and returns it.
func (f *fixture) awaitCopy(namespace string) *corev1.Secret {
	f.Helper()
	return f.awaitData(namespace, f.source().Data)
}

func (f *fixture) awaitData(namespace string, want map[string][]byte) *corev1.Secret {
	f.Helper()
	var secret *corev1.Secret
	controlplanetest.Await(f, "the copy in "+namespace, func(context.Context) (bool, error) {
		if secret = f.secret(namespace); secret == nil {
			return false, errors.New("there is none")
		}
		right := maps.EqualFunc(secret.Data, want, bytes.Equal)
		return controlplanetest.Holds(right, "it has the keys %v, or other values", slices.Sorted(maps.Keys(secret.Data)))
	})
	return secret
}

func unserved(value string) bool { return value == "false" }

func servedSince(value string) bool { _, err := time.Parse(time.RFC3339, value); return err == nil }

// awaitServed awaits what the annotation of a namespace says.
func (f *fixture) awaitServed(namespace string, want func(string) bool) {
	f.Helper()
	controlplanetest.Await(f, "the annotation of "+namespace, func(context.Context) (bool, error) {
		value := f.served(namespace)
		return controlplanetest.Holds(want(value), "it says %q", value)
	})
}

func (f *fixture) served(namespace string) string {
	f.Helper()
	return f.readNamespace(namespace).Annotations["fairlead.io/served"]
}

func (f *fixture) readNamespace(name string) *corev1.Namespace {
	f.Helper()
	namespace := &corev1.Namespace{}
	f.must(f.client.Get(f.Context(), client.ObjectKey{Name: name}, namespace))
	return namespace
}

// change changes a Secret of the contract as a person would.
func (f *fixture) change(namespace string, change func(*corev1.Secret)) {
	f.Helper()
	controlplanetest.Await(f, "a change of the Secret in "+namespace, func(ctx context.Context) (bool, error) {
		secret := f.secret(namespace)
		change(secret)
		return true, f.client.Update(ctx, secret)
	})
}

func (f *fixture) mark() controlplane.AuditMark {
	f.Helper()
	mark, err := f.cp.AuditMark()
	f.must(err)
	return mark
}

// secretWrites are the replicator's requests since a mark that write Secrets, whatever the answer, but for the dry
// runs by which a starting one tries its cage.
func (f *fixture) secretWrites(since controlplane.AuditMark, conditions ...controlplane.AuditCondition) []auditv1.Event {
	f.Helper()
	conditions = append(conditions, controlplane.Writes, controlplane.ByUser(replicator.User), controlplane.OnResource("", "secrets"),
		func(event auditv1.Event) bool { return !strings.Contains(event.RequestURI, "dryRun=All") })
	events, err := f.cp.AuditEvents(since, conditions...)
	f.must(err)
	return events
}

func (f *fixture) noSecretWrites(since controlplane.AuditMark, conditions ...controlplane.AuditCondition) {
	f.Helper()
	for _, event := range f.secretWrites(since, conditions...) {
		f.Errorf("unasked for: %s %s", event.Verb, event.RequestURI)
	}
}

// metric returns the value of one series of the replicator's metrics, or 0.
func (f *fixture) metric(series string) float64 {
	f.Helper()
	page, err := f.replicator.Metrics(f.Context())
	f.must(err)
	return process.Sum(page, series)
}

func (f *fixture) copies(state string) int {
	f.Helper()
	return int(f.metric(fmt.Sprintf("fairlead_copies{state=%q}", state)))
}

// none and gone are conditions: no copy is in the state, and the namespace has no copy.
func (f *fixture) none(state string) (bool, error) {
	f.Helper()
	copies := f.copies(state)
	return controlplanetest.Holds(copies == 0, "%d are %s", copies, state)
}

func (f *fixture) gone(namespace string) (bool, error) {
	f.Helper()
	return controlplanetest.Holds(f.secret(namespace) == nil, "it is in %s", namespace)
}

func (f *fixture) awaitCopies(state string, atLeast int) {
	f.Helper()
	controlplanetest.Await(f, "the metric of copies that are "+state, func(context.Context) (bool, error) {
		copies := f.copies(state)
		return controlplanetest.Holds(copies >= atLeast, "it is %v, and not %v", copies, atLeast)
	})
}

// awaitEvent awaits one about an object of this name; in all namespaces where none is named.
func (f *fixture) awaitEvent(namespace, reason, about string) {
	f.Helper()
	controlplanetest.Await(f, "the event "+reason, func(ctx context.Context) (bool, error) {
		events := &eventsv1.EventList{}
		if err := f.client.List(ctx, events, client.InNamespace(namespace)); err != nil {
			return false, err
		}
		found := slices.ContainsFunc(events.Items, func(e eventsv1.Event) bool { return e.Reason == reason && e.Regarding.Name == about })
		return controlplanetest.Holds(found, "none about %s among %d", about, len(events.Items))
	})
}

// awaitIdle awaits that the replicator has looked at something so often since its start, and rests.
func (f *fixture) awaitIdle(looks float64) {
	f.Helper()
	controlplanetest.Await(f, "the replicator's rest", func(context.Context) (bool, error) {
		done, active := f.looks(), f.metric(`controller_runtime_active_workers{controller="replicator"}`)
		queued := f.metric(`workqueue_depth{controller="replicator",name="replicator",priority=""}`)
		rests := done >= looks && active == 0 && queued == 0
		return controlplanetest.Holds(rests, "%v looks, %v active, %v queued", done, active, queued)
	})
}

func (f *fixture) looks() float64 {
	f.Helper()
	return f.metric(`controller_runtime_reconcile_total{controller="replicator",result="success"}`) +
		f.metric(`controller_runtime_reconcile_total{controller="replicator",result="requeue_after"}`)
}

// pod stores one that refers to the Secret, if the policy gives it the variables.
func (f *fixture) pod(namespace string) *corev1.Pod {
	f.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "web-"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
	}
	controlplanetest.Await(f, "the pod", func(ctx context.Context) (bool, error) {
		// The namespace has no default service account in its first moment.
		return true, f.client.Create(ctx, pod)
	})
	return pod
}
