package replicator_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/replicator"
	"github.com/fairlead-io/fairlead/e2e/rights"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

const fleetSize = 100 // namespaces with a copy, the default one included

func (f *fixture) fleet() {
	f.Helper()
	for range fleetSize - 1 {
		f.namespace()
	}
	f.awaitFleet()
}

// awaitFleet awaits that all copies are what the source is, by one list at a time.
func (f *fixture) awaitFleet() {
	f.Helper()
	want := f.source().Data
	byName := client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", policies.Secret)}
	controlplanetest.Await(f, "all copies", func(ctx context.Context) (bool, error) {
		secrets := &corev1.SecretList{}
		if err := f.client.List(ctx, secrets, byName); err != nil {
			return false, err
		}
		right := -1 // the source
		for _, secret := range secrets.Items {
			if maps.EqualFunc(secret.Data, want, bytes.Equal) {
				right++
			}
		}
		if right != fleetSize {
			return false, fmt.Errorf("%d are right", right)
		}
		return true, nil
	})
}

// lastWrite is when the last of the requests was answered.
func lastWrite(writes []auditv1.Event) (last time.Time) {
	for _, event := range writes {
		if event.StageTimestamp.After(last) {
			last = event.StageTimestamp.Time
		}
	}
	return last
}

func (f *fixture) exactly(writes []auditv1.Event, count int) {
	f.Helper()
	namespaces := map[string]bool{}
	for _, event := range writes {
		namespaces[event.ObjectRef.Namespace] = true
		if event.Verb != "update" || event.ResponseStatus.Code != 200 {
			f.Errorf("%s %s: %d", event.Verb, event.RequestURI, event.ResponseStatus.Code)
		}
	}
	if len(writes) != count || len(namespaces) != count {
		f.Errorf("%d requests in %d namespaces, not %d", len(writes), len(namespaces), count)
	}
}

func TestANewPasswordReaches100NamespacesBy100RequestsAndNothingCausesNone(t *testing.T) {
	f := newOwnFixture(t)
	f.fleet()
	f.awaitIdle(0)

	mark := f.mark()
	looks := f.looks()
	f.label(policies.Namespace, "touched", "true")
	f.change(policies.Namespace, func(s *corev1.Secret) { s.Annotations = map[string]string{"touched": "true"} })
	f.awaitIdle(looks + fleetSize)
	f.must(f.replicator.Stop()) // it gives its lease back
	f.start()
	f.awaitIdle(fleetSize)
	f.noSecretWrites(mark)

	mark = f.mark()
	start := time.Now()
	f.change(policies.Namespace, func(s *corev1.Secret) {
		for _, key := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
			s.Data[key] = []byte("http://user:rotated@proxy.example:3128")
		}
	})
	f.awaitFleet()
	f.awaitIdle(2 * fleetSize)
	writes := f.secretWrites(mark)
	f.exactly(writes, fleetSize)
	t.Logf("%d namespaces: %s from the change of the source to the answer to the last write; %d requests of the replicator, reads included, %d of them writes of Secrets",
		fleetSize, lastWrite(writes).Sub(start).Round(time.Millisecond), f.requests(mark), len(writes))
	f.nothingForbidden()
}

// requests are all of the replicator's since a mark, but for its lease.
func (f *fixture) requests(since controlplane.AuditMark) int {
	f.Helper()
	all, err := f.cp.AuditEvents(since, controlplane.ByUser(replicator.User), func(e auditv1.Event) bool { return e.ObjectRef == nil || e.ObjectRef.Resource != "leases" })
	f.must(err)
	return len(all)
}

// nothingForbidden: it asks for nothing that its role lacks, but for the tries at its cage.
func (f *fixture) nothingForbidden() {
	f.Helper()
	events, err := f.cp.AuditEvents(0, controlplane.ByUser(replicator.User), func(e auditv1.Event) bool {
		return !strings.Contains(e.RequestURI, "dryRun=All")
	})
	f.must(err)
	if missed := rights.Missed(events); len(missed) > 0 {
		f.Errorf("it was not allowed to: %v", missed)
	}
}

// The whole way: a Secret of the management cluster, the operator, <cluster>-cluster-values, Helm as the platform
// runs it, the replicator of the workload cluster. The platform's own delay, which is Flux' or the App platform's
// interval, is not in it: the test looks as often as it can.
func TestANewPasswordReaches100NamespacesFromTheManagementClusterOn(t *testing.T) {
	tier.Full(t)
	f := newOwnFixture(t)
	f.fleet()
	management := newManagement(t)
	first := management.awaitValues("pl4in")
	f.must(policies.Install(t.Context(), f.cp, map[string]any{"engine": "Native"}, first))
	f.awaitFleet()
	f.awaitIdle(0)

	mark := f.mark()
	start := time.Now()
	management.password("rotated")
	second := management.awaitValues("rotated")
	written := time.Now()
	f.must(policies.Install(t.Context(), f.cp, map[string]any{"engine": "Native"}, second))
	installed := time.Now()
	f.awaitFleet()
	f.awaitIdle(0)
	writes := f.secretWrites(mark)
	f.exactly(writes, fleetSize)
	if !bytes.Contains(f.secret("default").Data["HTTP_PROXY"], []byte(":rotated@")) {
		t.Error("the password that arrived is another")
	}
	t.Logf("%d namespaces: %s from the management cluster's Secret to the last copy: values after %s, helm template and apply %s, the rest of the copies after another %s; %d requests of the replicator, reads included",
		fleetSize, lastWrite(writes).Sub(start).Round(time.Millisecond), written.Sub(start).Round(time.Millisecond),
		installed.Sub(written).Round(time.Millisecond), max(0, lastWrite(writes).Sub(installed)).Round(time.Millisecond), f.requests(mark))
}

// management is a management cluster with the operator and one Cluster.
type management struct {
	*fixture
	source *corev1.Secret
}

func newManagement(t *testing.T) *management {
	t.Helper()
	cp := controlplanetest.Start(t, controlplane.Options{Content: operator.Content})
	controlplanetest.Require(t, operator.Install(t.Context(), cp))
	_, err := operator.Start(t.Context(), cp, operator.Options{Args: []string{"--leader-elect=false"}})
	controlplanetest.Require(t, err)

	scheme := runtime.NewScheme()
	m := &management{fixture: &fixture{TB: t, cp: cp}}
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, v1alpha1.AddToScheme} {
		m.must(add(scheme))
	}
	m.client, err = client.New(cp.Admin(), client.Options{Scheme: scheme})
	m.must(err)
	m.source = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: "corporate-proxy"}, StringData: corporate("pl4in")}
	m.must(m.client.Create(t.Context(), m.source))
	m.must(m.client.Create(t.Context(), &v1alpha1.CorporateProxy{
		ObjectMeta: metav1.ObjectMeta{Name: "default"},
		Spec: v1alpha1.CorporateProxySpec{
			ClusterSelector: &metav1.LabelSelector{},
			Source:          v1alpha1.ProxySource{ValuesRef: &v1alpha1.SecretReference{Name: m.source.Name}},
		},
	}))
	m.must(m.client.Create(t.Context(), &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "workload"},
		Spec: clusterv1.ClusterSpec{
			ClusterNetwork:       clusterv1.ClusterNetwork{ServiceDomain: "cluster.local", Services: clusterv1.NetworkRanges{CIDRBlocks: []string{"10.96.0.0/12"}}},
			ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "10.1.2.3", Port: 6443},
			InfrastructureRef:    clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "VSphereCluster", Name: "workload"},
		},
	}))
	return m
}

func corporate(password string) map[string]string {
	url := "http://user:" + password + "@proxy.example:3128"
	return map[string]string{"http": url, "https": url, "noProxy": "example.com"}
}

func (m *management) password(password string) {
	m.Helper()
	m.source.StringData = corporate(password)
	m.must(m.client.Update(m.Context(), m.source))
}

// awaitValues awaits <cluster>-cluster-values with a password, and returns it as values for Helm.
func (m *management) awaitValues(password string) (values []byte) {
	m.Helper()
	controlplanetest.Await(m, "the values of the Cluster", func(ctx context.Context) (bool, error) {
		secret := &corev1.Secret{}
		err := m.client.Get(ctx, client.ObjectKey{Namespace: "default", Name: "workload" + render.ValuesSuffix}, secret)
		values = secret.Data[render.ValuesKey]
		return bytes.Contains(values, []byte(":"+password+"@")), err
	})
	return values
}
