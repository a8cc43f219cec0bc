package nodes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/clusterapi"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/operator"
)

// fleet is a management cluster with the cluster mycluster.
type fleet struct {
	cp        *controlplane.ControlPlane
	client    client.Client // an administrator's
	namespace string
	cluster   *clusterv1.Cluster
}

// clusterAndProxy is the cluster, and squid with its credentials and the authority.
const clusterAndProxy = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {namespace: %s, name: mycluster}
spec:
  clusterNetwork:
    services: {cidrBlocks: [100.64.0.0/13]}
    pods: {cidrBlocks: [100.96.0.0/11]}
  controlPlaneEndpoint: {host: %q, port: 6443}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AnyCluster, name: mycluster}
---
apiVersion: v1
kind: Secret
metadata: {namespace: fairlead-system, name: corporate-proxy}
stringData: {username: %q, password: %q}
---
apiVersion: v1
kind: ConfigMap
metadata: {namespace: fairlead-system, name: corporate-ca}
data: {ca.crt: %q}
---
apiVersion: fairlead.io/v1alpha1
kind: CorporateProxy
metadata: {name: default}
spec:
  source: {url: {http: %[6]q, https: %[6]q, credentialsRef: {name: corporate-proxy}}}
  trustedCARef: {name: corporate-ca}
  node: %[7]s
`

// newFleet starts a fleet whose machines get these settings.
func newFleet(t *testing.T, authority []byte, node v1alpha1.NodeSettings) *fleet {
	t.Helper()
	cp := controlplanetest.Start(t, controlplane.Options{Content: operator.Content})
	controlplanetest.Require(t, operator.Install(t.Context(), cp))
	_, err := clusterapi.StartBootstrapProvider(t.Context(), cp, clusterapi.Options{Progress: os.Stderr})
	controlplanetest.Require(t, err)
	_, err = operator.Start(t.Context(), cp, operator.Options{Args: []string{"--leader-elect=false"}})
	controlplanetest.Require(t, err)

	c := controlplanetest.Client(t, cp.Admin(), operator.Scheme)
	namespace := controlplanetest.Namespace(t, cp)
	settings, err := json.Marshal(node)
	controlplanetest.Require(t, err)
	url := fmt.Sprintf("http://%s:%d", machine.ProxyAddress, machine.ProxyPort) // squid's, without credentials
	manifest := fmt.Sprintf(clusterAndProxy, namespace, machine.EndpointAddress, username, password, authority, url, settings)
	controlplanetest.Require(t, cp.Apply(t.Context(), []byte(manifest)))
	cluster := &clusterv1.Cluster{}
	controlplanetest.Require(t, c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "mycluster"}, cluster))
	controlplanetest.Require(t, clusterapi.SetInfrastructureProvisioned(t.Context(), c, cluster))
	return &fleet{cp, c, namespace, cluster}
}

// bootstrapData returns the bootstrap data of the cluster's first machine.
func (f *fleet) bootstrapData(t *testing.T, spec bootstrapv1.KubeadmConfigSpec) clusterapi.BootstrapData {
	t.Helper()
	f.awaitSecret(t, "mycluster-systemd-proxy", func(*corev1.Secret) bool { return true }) // the provider asks again ever later
	config, err := clusterapi.CreateControlPlaneMachine(t.Context(), f.client, f.cluster, "first", spec)
	controlplanetest.Require(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	data, err := clusterapi.AwaitBootstrapData(ctx, f.client, config)
	controlplanetest.Require(t, err)
	return data
}

// awaitSecret awaits a Secret of the cluster that is as it should be.
func (f *fleet) awaitSecret(t *testing.T, name string, is func(*corev1.Secret) bool) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	controlplanetest.Await(t, "the Secret "+name, func(ctx context.Context) (bool, error) {
		err := f.client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: name}, secret)
		return err == nil && is(secret), err
	})
	return secret
}
