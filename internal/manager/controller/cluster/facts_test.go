package cluster

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
)

// infrastructure has the API server's answers about the infrastructure object of a cluster.
type infrastructure struct {
	client.Reader
	spec map[string]any
	err  error
}

func (i *infrastructure) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	object, ok := o.(*unstructured.Unstructured)
	if !ok {
		return i.Reader.Get(ctx, key, o, opts...)
	}
	object.Object["spec"] = i.spec
	return i.err
}

type mapped struct {
	client.Client
	mapper meta.RESTMapper
}

func (m mapped) RESTMapper() meta.RESTMapper { return m.mapper }

// infrastructure gives c0 an infrastructure object of that kind.
func (f *countedFleet) infrastructure(kind schema.GroupVersionKind, spec map[string]any) *infrastructure {
	f.Helper()
	f.change("c0", func(c *clusterv1.Cluster) {
		c.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: kind.Group, Kind: kind.Kind, Name: "c0"}
	})
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{kind.GroupVersion()})
	mapper.Add(kind, meta.RESTScopeNamespace)
	live := &infrastructure{Reader: f.objects, spec: spec}
	f.Client, f.Live = mapped{f.Client, mapper}, live
	return live
}

// change is one of the Cluster's spec.
func (f *countedFleet) change(name string, do func(*clusterv1.Cluster)) {
	f.Helper()
	cluster := &clusterv1.Cluster{}
	if err := f.objects.Get(f.Context(), clusterKey(name), cluster); err != nil {
		f.Fatal(err)
	}
	do(cluster)
	cluster.Generation++
	if err := f.objects.Update(f.Context(), cluster); err != nil {
		f.Fatal(err)
	}
}

// dropIn is containerd's, as it was sent last.
func (f *countedFleet) dropIn(cluster string) string {
	f.Helper()
	var secret struct{ Data map[string]string }
	if err := json.Unmarshal([]byte(f.applied[cluster+"-systemd-proxy"]), &secret); err != nil {
		f.Fatal(err)
	}
	text, err := base64.StdEncoding.DecodeString(secret.Data["containerdProxy"])
	if err != nil {
		f.Fatal(err)
	}
	return string(text)
}

func (f *countedFleet) wantNetwork(what, network string, want bool) {
	f.Helper()
	if f.reconcileAll(1); strings.Contains(f.dropIn("c0"), network) != want {
		f.Errorf("%s: %s", what, f.dropIn("c0"))
	}
}

var (
	aws  = schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "AWSCluster"}
	acme = schema.GroupVersionKind{Group: "acme.example", Version: "v1", Kind: "AcmeCluster"}
)

func vpc(cidr string) map[string]any {
	return map[string]any{"network": map[string]any{"vpc": map[string]any{"cidrBlock": cidr}}}
}

func rows(text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "acme", Labels: map[string]string{v1alpha1.ProviderFactsLabel: "true"}},
		Data:       map[string]string{"rows.yaml": text},
	}
}

const (
	acmeRows   = "rows: [{group: acme.example, kind: AcmeCluster, facts: [{name: networks, paths: ['spec.networks[]'], required: true}]}]"
	acmeNoRows = "rows: []"
	awsRows    = "rows: [{group: infrastructure.cluster.x-k8s.io, kind: AWSCluster, facts: [{name: more, paths: [spec.more]}]}]"
)

// The ConfigMap with the row of a provider is gone for a moment, as when a tool replaces it.
func TestNetworksStayWhileTheirRowIsGone(t *testing.T) {
	f := newCountedFleet(t, 1, rows(acmeRows))
	live := f.infrastructure(acme, map[string]any{"networks": []any{"10.9.0.0/16"}})
	f.wantNetwork("at first", "10.9.0.0/16", true)
	live.spec = map[string]any{"networks": []any{"10.8.0.0/16"}}

	if err := f.objects.Delete(t.Context(), rows("")); err != nil {
		t.Fatal(err)
	}
	f.change("c0", func(*clusterv1.Cluster) {})
	f.wantNetwork("without the row", "10.9.0.0/16", true)
	if unread := meta.FindStatusCondition(f.reportOf("c0").Status.Conditions, v1alpha1.ConditionFactsUnread); unread == nil || unread.Reason != v1alpha1.ReasonRowMissing {
		t.Errorf("%+v", unread)
	}
	f.change("c0", func(c *clusterv1.Cluster) { c.Spec.ClusterNetwork.Pods.CIDRBlocks = []string{"10.99.0.0/16"} })
	f.wantNetwork("another change without the row", "10.9.0.0/16", true)
	f.wantNetwork("another change without the row", "10.99.0.0/16", true)

	if err := f.objects.Create(t.Context(), rows(acmeRows)); err != nil {
		t.Fatal(err)
	}
	f.wantNetwork("with the row", "10.8.0.0/16", true)
	if unread := meta.FindStatusCondition(f.reportOf("c0").Status.Conditions, v1alpha1.ConditionFactsUnread); unread != nil {
		t.Errorf("%+v", unread)
	}

	without := rows(acmeNoRows)
	if err := f.objects.Update(t.Context(), without); err != nil {
		t.Fatal(err)
	}
	f.wantNetwork("a ConfigMap without the row", "10.8.0.0/16", false)
}

// A built-in row knows less than the user's in its place.
func TestNetworksStayWhileABuiltInRowKnowsLess(t *testing.T) {
	f := newCountedFleet(t, 1, rows(awsRows))
	live := f.infrastructure(aws, map[string]any{"more": "10.9.0.0/16"})
	f.wantNetwork("at first", "10.9.0.0/16", true)
	if err := f.objects.Delete(t.Context(), rows("")); err != nil {
		t.Fatal(err)
	}
	f.wantNetwork("without the row", "10.9.0.0/16", true)
	live.err = apierrors.NewInternalError(errors.New("conversion webhook failed"))
	f.memory.of(clusterKey("c0")).turn = time.Now().Add(-time.Second)
	f.wantNetwork("without the row, and the object is not read", "10.9.0.0/16", true)
	live.err = nil
	live.spec = vpc("10.9.0.0/16")
	f.change("c0", func(*clusterv1.Cluster) {})
	f.memory.of(clusterKey("c0")).turn = time.Now().Add(-time.Second)
	f.wantNetwork("the built-in row knows the same", "10.9.0.0/16", true)
	if unread := meta.FindStatusCondition(f.reportOf("c0").Status.Conditions, v1alpha1.ConditionFactsUnread); unread != nil {
		t.Errorf("%+v", unread)
	}
}

func TestNetworksStayWhileTheEndpointIsGone(t *testing.T) {
	f := newCountedFleet(t, 1)
	live := f.infrastructure(aws, vpc("10.9.0.0/16"))
	f.wantNetwork("at first", "10.9.0.0/16", true)
	f.change("c0", func(c *clusterv1.Cluster) { c.Spec.ControlPlaneEndpoint.Host = "" })
	f.reconcileAll(1)
	live.err = apierrors.NewForbidden(schema.GroupResource{Resource: "awsclusters"}, "c0", errors.New("no"))
	f.change("c0", func(c *clusterv1.Cluster) { c.Spec.ControlPlaneEndpoint.Host = "10.0.0.7" })
	f.wantNetwork("afterwards", "10.0.0.7", true)
	f.wantNetwork("afterwards", "10.9.0.0/16", true)
}

// The conversion webhook of a provider that is being upgraded answers nobody.
func TestAProviderThatCannotBeReadHoldsNoPasswordBack(t *testing.T) {
	f := newCountedFleet(t, 1)
	live := f.infrastructure(aws, vpc("10.9.0.0/16"))
	f.reconcileAll(1)
	was := f.applied["c0-systemd-proxy"]
	live.err = apierrors.NewInternalError(errors.New("conversion webhook failed: connection refused"))
	f.memory.of(clusterKey("c0")).turn = time.Now().Add(-time.Second)
	f.setPassword("new")
	f.reconcileAll(1)
	report := f.reportOf("c0")
	if f.applied["c0-systemd-proxy"] == was {
		t.Error("the password is not written")
	}
	unread := meta.FindStatusCondition(report.Status.Conditions, v1alpha1.ConditionFactsUnread)
	if unread == nil || unread.Reason != v1alpha1.ReasonReadFailed || len(report.Status.Facts.Values) == 0 {
		t.Errorf("%+v, %+v", unread, report.Status.Facts)
	}
}

// It has a report that says so, and is no reason to apply the fleet again after each restart.
func TestAClusterWhoseProviderNobodyCouldReadWaits(t *testing.T) {
	f := newCountedFleet(t, 2)
	f.change("c0", func(c *clusterv1.Cluster) { c.Spec.ControlPlaneEndpoint.Host = "" })
	f.reconcileAll(2) // c0 waits for its endpoint
	f.setPassword("new")
	look := func(cluster string) ctrl.Result {
		result, err := f.reconcile(t.Context(), ctrl.Request{NamespacedName: clusterKey(cluster)})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	look("c1")
	f.restart() // with the mark of a change
	live := f.infrastructure(aws, nil)
	live.err = apierrors.NewInternalError(errors.New("conversion webhook failed"))
	f.change("c0", func(c *clusterv1.Cluster) { c.Spec.ControlPlaneEndpoint.Host = "10.0.0.0" })
	if result := look("c0"); result.RequeueAfter <= 0 || result.RequeueAfter > firstPending {
		t.Errorf("it is looked at again after %s", result.RequeueAfter)
	}
	f.wantReady("c0", "FactsPending", "AWSCluster c0: reading it fails")
	look("c1")
	f.changes.sweep(t.Context(), time.Now().Add(time.Hour))
	if applying := f.proxy().Status.Applying; applying != nil {
		t.Errorf("the mark stays: %+v", applying)
	}
	live.err = nil
	live.spec = vpc("10.9.0.0/16")
	f.memory.of(clusterKey("c0")).failures = failures{until: time.Now()}
	look("c0")
	f.wantReady("c0", "Applied", "")
}

// Nobody tells when a webhook is back, and machines wait for the first Secrets.
func TestAnObjectThatNobodyCouldReadIsTriedAgainInMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newCountedFleet(t, 1)
		f.infrastructure(aws, vpc("10.10.0.0/16")).err = apierrors.NewInternalError(errors.New("conversion webhook failed"))
		for range 10 {
			result, err := f.Reconcile(t.Context(), ctrl.Request{NamespacedName: clusterKey("c0")})
			if err != nil || result.RequeueAfter > machinery.LastErrorRetry {
				t.Fatalf("it is looked at again after %s, %v", result.RequeueAfter, err)
			}
			time.Sleep(result.RequeueAfter)
		}
	})
}

// Nobody watches infrastructure objects.
func TestFactsThatCannotBeUsedAreReadAgain(t *testing.T) {
	f := newCountedFleet(t, 1)
	live := f.infrastructure(aws, vpc("44.0.0.0/9"))
	look := func() ctrl.Result {
		result, err := f.reconcile(t.Context(), ctrl.Request{NamespacedName: clusterKey("c0")})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	result := look()
	f.wantReady("c0", "InvalidProviderFacts", "44.0.0.0/9")
	if result.RequeueAfter <= 0 || result.RequeueAfter > firstUnread {
		t.Errorf("they are read again after %s", result.RequeueAfter)
	}
	live.spec = vpc("10.0.0.0/16") // its owner mends it
	f.memory.of(clusterKey("c0")).failures = failures{until: time.Now()}
	look()
	f.wantReady("c0", "Applied", "")
}

// An event that is lost must not be for ever.
func TestAClusterThatIsNotReadyIsLookedAtAgainWithinAnInterval(t *testing.T) {
	f := newCountedFleet(t, 1)
	f.change("c0", func(c *clusterv1.Cluster) { c.Spec.ControlPlaneEndpoint.Host = "" })
	for range 3 {
		result, err := f.reconcile(t.Context(), ctrl.Request{NamespacedName: clusterKey("c0")})
		if err != nil || result.RequeueAfter < f.Interval/2 || result.RequeueAfter > f.Interval {
			t.Errorf("it is looked at again after %s (%v)", result.RequeueAfter, err)
		}
	}
	f.wantReady("c0", "EndpointUnknown", "withheld")
}

// A list that lacks a network without a word sends its traffic to the proxy.
func TestFactsThatDoNotComeIntoTheListAreTold(t *testing.T) {
	f := newCountedFleet(t, 1)
	subnets := []any{map[string]any{"cidrBlock": "not a network"}}
	live := f.infrastructure(aws, map[string]any{"network": map[string]any{"subnets": subnets, "vpc": map[string]any{"cidrBlock": "10.0.0.0/16"}}})
	f.wantNetwork("beside one that is none", "10.0.0.0/16", true)
	f.wantReady("c0", "Applied", "")
	unread := meta.FindStatusCondition(f.reportOf("c0").Status.Conditions, v1alpha1.ConditionFactsUnread)
	if unread == nil || unread.Reason != v1alpha1.ReasonUnparsable || !strings.Contains(unread.Message, "fact subnet") || strings.Contains(unread.Message, "not a network") {
		t.Errorf("%+v", unread)
	}

	for i := range 250 {
		subnets = append(subnets, map[string]any{"cidrBlock": fmt.Sprintf("44.%d.0.0/24", i)})
	}
	live.spec = map[string]any{"network": map[string]any{"subnets": subnets[1:], "vpc": map[string]any{"cidrBlock": "10.0.0.0/16"}}}
	f.change("c0", func(*clusterv1.Cluster) {})
	f.wantNetwork("more than a report takes", "44.1.0.0/24", false)
	f.wantReady("c0", "InvalidProviderFacts", "of 251 values are left out")
}

// The author of a Cluster with a ClusterClass may know the endpoint before Cluster API has made anything. Without the references,
// the list lacks the network of the Services, and what the provider knows.
func TestAClusterWithAClusterClassHasNoListBeforeItsReferences(t *testing.T) {
	f := newCountedFleet(t, 1)
	f.change("c0", func(c *clusterv1.Cluster) {
		c.Spec.Topology.ClassRef.Name = "company"
		c.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{}
	})
	f.reconcileAll(1)
	f.wantReady("c0", "FactsPending", "withheld")
	f.want("applied", f.requests["apply"], 0)
	f.change("c0", func(c *clusterv1.Cluster) {
		c.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: "example.com", Kind: "UnknownCluster", Name: "c0"}
	})
	f.reconcileAll(1)
	f.wantReady("c0", "Applied", "")
	f.change("c0", func(c *clusterv1.Cluster) { c.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{} })
	f.setPassword("new")
	f.want("applied to a cluster that has Secrets", f.reconcileAll(1)["apply"], 2)
}
