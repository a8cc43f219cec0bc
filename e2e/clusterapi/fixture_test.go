package clusterapi_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/clusterapi"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// started has the programs beside the shared control plane; all of them die with this process.
var started struct {
	sync.Once
	err error
}

// fleet is one test's namespace on a control plane with Fairlead and all of Cluster API but infrastructure.
type fleet struct {
	testing.TB
	cp        *controlplane.ControlPlane
	client    client.Client // an administrator's
	namespace string
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	cp := controlplanetest.Shared(t, operator.Content...)
	started.Do(func() { started.err = startAll(context.Background(), cp) })
	controlplanetest.Require(t, started.err)
	c, err := client.New(cp.Admin(), client.Options{Scheme: operator.Scheme, FieldOwner: "fairlead-e2e"})
	controlplanetest.Require(t, err)
	return &fleet{TB: t, cp: cp, client: c, namespace: controlplanetest.Namespace(t, cp)}
}

// startAll also applies the CorporateProxies of the examples, one of which every cluster has here.
func startAll(ctx context.Context, cp *controlplane.ControlPlane) error {
	if err := operator.Install(ctx, cp); err != nil {
		return err
	}
	if err := cp.Install(ctx, vsphereCRDs); err != nil {
		return err
	}
	options := clusterapi.Options{
		FeatureGates: []string{clusterapi.FormatIgnition, clusterapi.ClusterTopology},
		Progress:     os.Stderr,
	}
	for _, start := range []func(context.Context, *controlplane.ControlPlane, clusterapi.Options) (*clusterapi.Provider, error){
		clusterapi.StartCore, clusterapi.StartBootstrapProvider, clusterapi.StartControlPlaneProvider,
	} {
		if _, err := start(ctx, cp, options); err != nil {
			return err
		}
	}
	for _, example := range []string{"corporateproxy.yaml", "corporateproxy-relay.yaml"} {
		proxy, err := readManifest(filepath.Join(examples, example))
		if err != nil {
			return err
		}
		if err := cp.ApplyObjects(ctx, proxy...); err != nil {
			return err
		}
	}
	_, err := operator.Start(ctx, cp, operator.Options{Args: []string{"--leader-elect=false"}})
	return err
}

func (f *fleet) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// awaitObject awaits that an object of this test's namespace is as it should be, and returns it.
func awaitObject[T client.Object](f *fleet, what string, object T, name string, condition func(T) (bool, error)) T {
	f.Helper()
	object.SetNamespace(f.namespace)
	object.SetName(name)
	return controlplanetest.AwaitObject(f, f.client, what, object, condition)
}

// there is the condition of what is awaited to be there.
func there[T client.Object](T) (bool, error) { return true, nil }

// withRelay tells of the examples whose clusters the CorporateProxy with a relay selects.
func withRelay(example string) bool { return strings.HasSuffix(example, "-relay.yaml") }

// cluster creates one without a control-plane endpoint.
func (f *fleet) cluster(name string, labels map[string]string) *clusterv1.Cluster {
	f.Helper()
	cluster := operator.Cluster(f.namespace, name)
	cluster.Labels, cluster.Spec.ClusterNetwork.ServiceDomain = labels, ""
	cluster.Spec.ControlPlaneEndpoint, cluster.Spec.InfrastructureRef.Kind = clusterv1.APIEndpoint{}, "AnyCluster"
	f.must(f.client.Create(f.Context(), cluster))
	return cluster
}

// What operator.Cluster has.
const (
	serviceCIDR  = "100.64.0.0/13"
	podCIDR      = "100.96.0.0/11"
	endpointHost = "178.170.32.59"
)

// setEndpoint makes it known, as an infrastructure provider does.
func (f *fleet) setEndpoint(cluster *clusterv1.Cluster) {
	f.Helper()
	before := cluster.DeepCopy()
	cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: endpointHost, Port: 6443}
	f.must(f.client.Patch(f.Context(), cluster, client.MergeFrom(before)))
}
