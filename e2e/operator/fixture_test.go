package operator_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/command"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// The published example.
const (
	proxyURL        = "http://myProxyUser:mySuperSecretPassword@192.168.52.220:3128"
	exampleNoProxy  = "172.16.0.0/16,internal.corpdomain.net,example.com"
	exampleEndpoint = "178.170.32.59"
	exampleMerged   = "cluster.local,100.64.0.0/13,100.96.0.0/11,178.170.32.59,172.16.0.0/16,internal.corpdomain.net,example.com,svc,127.0.0.1,localhost"
)

// testLabel keeps the proxies of one test from the clusters of the others.
const testLabel = "fairlead.test/namespace"

// fixture is one test's corner of a control plane on which the operator runs.
type fixture struct {
	testing.TB
	cp        *controlplane.ControlPlane
	client    client.Client // an administrator's, without cache
	operator  *operator.Operator
	namespace string
}

// shared is the operator that runs on the shared control plane.
var shared struct {
	sync.Mutex
	operator *operator.Operator
}

// newFixture shares control plane and operator with the other tests.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	cp := controlplanetest.Shared(t, operator.Content...)
	shared.Lock()
	defer shared.Unlock()
	if shared.operator == nil {
		install(t, cp)
		o, err := operator.Start(context.Background(), cp, operator.Options{Args: []string{"--leader-elect=false", "--log-level=trace"}})
		controlplanetest.Require(t, err)
		shared.operator = o // dies with this process
	}
	return fixtureOn(t, cp, shared.operator)
}

// newOwnFixture starts a control plane and an operator of its own, for tests that stop one of
// them or count requests.
func newOwnFixture(t *testing.T, args ...string) *fixture {
	t.Helper()
	return newFixtureOf(t, controlplane.Options{Content: operator.Content}, args...)
}

func newFixtureOf(t *testing.T, options controlplane.Options, args ...string) *fixture {
	t.Helper()
	t.Parallel() // it shares nothing, and much of its time is waiting
	cp := controlplanetest.Start(t, options)
	install(t, cp)
	f := fixtureOn(t, cp, nil)
	f.startOperator(args...)
	return f
}

func install(t *testing.T, cp *controlplane.ControlPlane) {
	t.Helper()
	controlplanetest.Require(t, operator.Install(t.Context(), cp))
	controlplanetest.Require(t, cp.StartControllerManager(t.Context(),
		controlplane.GarbageCollector, controlplane.ClusterRoleAggregation, controlplane.NamespaceDeletion))
}

func fixtureOn(t *testing.T, cp *controlplane.ControlPlane, o *operator.Operator) *fixture {
	t.Helper()
	f := &fixture{TB: t, cp: cp, operator: o, namespace: controlplanetest.Namespace(t, cp)}
	f.client = f.clientFor(cp.Admin())
	return f
}

func (f *fixture) clientFor(config *rest.Config) client.Client {
	f.Helper()
	return controlplanetest.Client(f, config, operator.Scheme)
}

func (f *fixture) startOperator(args ...string) {
	f.Helper()
	o, err := operator.Start(f.Context(), f.cp, operator.Options{Args: append([]string{"--leader-elect=false"}, args...)})
	f.must(err)
	f.operator = o
}

func (f *fixture) must(err error) {
	f.Helper()
	controlplanetest.Require(f, err)
}

func (f *fixture) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: f.namespace, Name: name}
}

// named names an object of this test's namespace.
func (f *fixture) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: f.namespace, Name: name}
}

func secretNamed(namespace, name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func configMapNamed(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// source creates the Secret of a proxy, with the config repository's three keys.
func (f *fixture) source(name string, keys map[string]string) *corev1.Secret {
	f.Helper()
	secret := secretNamed(operator.Namespace, name)
	secret.StringData = keys
	f.must(f.client.Create(f.Context(), secret))
	return secret
}

func example() map[string]string {
	return map[string]string{"http": proxyURL, "https": proxyURL, "noProxy": exampleNoProxy}
}

// proxy creates a CorporateProxy for this test's clusters that reads the Secret
// of the same name.
func (f *fixture) proxy(name string, change ...func(*v1alpha1.CorporateProxy)) *v1alpha1.CorporateProxy {
	f.Helper()
	proxy := &v1alpha1.CorporateProxy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.CorporateProxySpec{
			ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{testLabel: f.namespace}},
			Source:          v1alpha1.ProxySource{ValuesRef: &v1alpha1.SecretReference{Name: name}},
			Form:            "Exact", // readable expectations; form_test.go is about the other
		},
	}
	for _, c := range change {
		c(proxy)
	}
	f.must(f.client.Create(f.Context(), proxy))
	f.Cleanup(func() { _ = f.client.Delete(context.Background(), proxy) })
	return proxy
}

// exampleProxy creates the published example's proxy and its Secret.
func (f *fixture) exampleProxy(change ...func(*v1alpha1.CorporateProxy)) *v1alpha1.CorporateProxy {
	f.Helper()
	name := "example-" + f.namespace
	f.source(name, example())
	return f.proxy(name, change...)
}

// cluster creates the published example's Cluster.
func (f *fixture) cluster(name string, change ...func(*clusterv1.Cluster)) *clusterv1.Cluster {
	f.Helper()
	cluster := operator.Cluster(f.namespace, name)
	cluster.Labels[testLabel] = f.namespace
	for _, c := range change {
		c(cluster)
	}
	f.must(f.client.Create(f.Context(), cluster))
	return cluster
}

// servedCluster is cluster, once it has the example's settings.
func (f *fixture) servedCluster(name string, change ...func(*clusterv1.Cluster)) *clusterv1.Cluster {
	f.Helper()
	cluster := f.cluster(name, change...)
	f.awaitNoProxy(name, exampleMerged)
	f.report(name, "Applied")
	return cluster
}

// modify changes an object, again and again if somebody else does.
func modify[T client.Object](f *fixture, object T, change func(T)) {
	f.Helper()
	controlplanetest.Change(f, f.client, object, change)
}

func mergePatch(patch string) client.Patch {
	return client.RawPatch(types.MergePatchType, []byte(patch))
}

// setSource changes the Secret of a proxy, which has its name.
func (f *fixture) setSource(proxy string, change func(data map[string][]byte)) {
	f.Helper()
	modify(f, secretNamed(operator.Namespace, proxy), func(s *corev1.Secret) { change(s.Data) })
}

// setNoProxy changes the list in a proxy's Secret.
func (f *fixture) setNoProxy(proxy *v1alpha1.CorporateProxy, list string) {
	f.Helper()
	f.setSource(proxy.Name, func(data map[string][]byte) { data["noProxy"] = []byte(list) })
}

// addEntry adds an entry to the CorporateProxy itself.
func (f *fixture) addEntry(proxy *v1alpha1.CorporateProxy, entry string) {
	f.Helper()
	modify(f, proxy, func(p *v1alpha1.CorporateProxy) { p.Spec.NoProxy = []v1alpha1.NoProxyEntry{{Value: entry}} })
}

// report awaits a report whose condition Ready has this reason, and returns it.
func (f *fixture) report(name, reason string) *v1alpha1.ProxyReport {
	f.Helper()
	return f.awaitReport(name, "Ready with reason "+reason, func(r *v1alpha1.ProxyReport) bool {
		return readyReason(r) == reason
	})
}

func (f *fixture) awaitReport(name, what string, ok func(*v1alpha1.ProxyReport) bool) *v1alpha1.ProxyReport {
	f.Helper()
	report := &v1alpha1.ProxyReport{}
	controlplanetest.Await(f, fmt.Sprintf("report of %s: %s", name, what), func(ctx context.Context) (bool, error) {
		err := f.client.Get(ctx, f.key(name), report)
		return controlplanetest.Holds(err == nil && ok(report), "conditions: %+v (%v)", report.Status.Conditions, err)
	})
	return report
}

func (f *fixture) awaitProxy(proxy *v1alpha1.CorporateProxy, what string, ok func(*v1alpha1.CorporateProxy) bool) {
	f.Helper()
	controlplanetest.AwaitWithin(f, patience, "CorporateProxy "+proxy.Name+": "+what, func(ctx context.Context) (bool, error) {
		err := f.client.Get(ctx, client.ObjectKeyFromObject(proxy), proxy)
		return controlplanetest.Holds(err == nil && ok(proxy), "status: %+v; rollout: %+v (%v)", proxy.Status, proxy.Status.Rollout, err)
	})
}

// conditionOf returns a condition, an empty one if there is none.
func conditionOf(all []metav1.Condition, kind string) metav1.Condition {
	if c := meta.FindStatusCondition(all, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

func readyReason(report *v1alpha1.ProxyReport) string {
	return conditionOf(report.Status.Conditions, v1alpha1.ConditionReady).Reason
}

func readyMessage(report *v1alpha1.ProxyReport) string {
	return conditionOf(report.Status.Conditions, v1alpha1.ConditionReady).Message
}

// secrets returns both Secrets of a cluster, nil for one that does not exist.
func (f *fixture) secrets(cluster string) (values, systemd *corev1.Secret) {
	f.Helper()
	return f.secret(cluster + render.ValuesSuffix), f.secret(cluster + render.SystemdSuffix)
}

// content returns the data of both Secrets of each cluster, by cluster and role.
func (f *fixture) content(clusters []string) map[string]string {
	f.Helper()
	all := map[string]string{}
	for _, name := range clusters {
		values, systemd := f.secrets(name)
		all[name+" "+render.ValuesRole], all[name+" "+render.SystemdRole] = fmt.Sprintf("%q", values.Data), fmt.Sprintf("%q", systemd.Data)
	}
	return all
}

// wantSecrets ends the test, which says why, unless both Secrets of a cluster are there, or neither.
func (f *fixture) wantSecrets(cluster string, there bool, otherwise string) {
	f.Helper()
	if values, systemd := f.secrets(cluster); (values != nil) != there || (systemd != nil) != there {
		f.Fatalf("%s: there are %s and %s", otherwise, nameOf(values), nameOf(systemd))
	}
}

func nameOf(secret *corev1.Secret) string {
	if secret == nil {
		return "none"
	}
	return secret.Name
}

func (f *fixture) secret(name string) *corev1.Secret {
	f.Helper()
	secret := &corev1.Secret{}
	err := f.client.Get(f.Context(), f.key(name), secret)
	if apierrors.IsNotFound(err) {
		return nil
	}
	f.must(err)
	return secret
}

// noProxy returns the NO_PROXY of both Secrets, which must be the same.
func (f *fixture) noProxy(cluster string) string {
	f.Helper()
	values, systemd := f.secrets(cluster)
	if values == nil || systemd == nil {
		return ""
	}
	var content struct {
		NoProxy string `json:"no_proxy"`
	}
	f.must(yaml.Unmarshal(values.Data[render.ValuesKey], &content))
	for _, key := range []string{render.ContainerdKey, render.KubeletKey} {
		if line := fmt.Sprintf("\nEnvironment=\"NO_PROXY=%s\"\n", content.NoProxy); content.NoProxy != "" && !strings.Contains(string(systemd.Data[key]), line) {
			return "" // between two writes
		}
	}
	return content.NoProxy
}

func (f *fixture) awaitNoProxy(cluster, want string) {
	f.Helper()
	controlplanetest.Await(f, "NO_PROXY of "+cluster, func(context.Context) (bool, error) {
		got := f.noProxy(cluster)
		return controlplanetest.Holds(got == want, "it is %q, not %q", got, want)
	})
}

// reapply asks for an immediate re-apply and awaits that it was done.
func (f *fixture) reapply(cluster, request string) *v1alpha1.ProxyReport {
	f.Helper()
	modify(f, &v1alpha1.ProxyReport{ObjectMeta: f.named(cluster)}, func(r *v1alpha1.ProxyReport) {
		metav1.SetMetaDataAnnotation(&r.ObjectMeta, v1alpha1.ReapplyAnnotation, request)
	})
	return f.awaitReport(cluster, "request "+request+" handled", func(r *v1alpha1.ProxyReport) bool {
		return r.Status.HandledRequest == request
	})
}

// binding returns the binding of an admission policy.
func binding(name string) *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// fairlead runs the command line as somebody. Nothing that it prints has the example's password.
func (f *fixture) fairlead(as *rest.Config, args ...string) (status int, stdout, stderr string) {
	f.Helper()
	kubeconfig, err := f.cp.Kubeconfig(as)
	f.must(err)
	status, stdout, stderr = command.Run(f, nil, append(args, "--kubeconfig", kubeconfig)...)
	if strings.Contains(stdout+stderr, "mySuperSecretPassword") {
		f.Errorf("fairlead %s prints a password", args)
	}
	return status, stdout, stderr
}
