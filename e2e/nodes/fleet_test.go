package nodes_test

import (
	"context"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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

// newFleet has one whose machines get these settings.
func newFleet(t *testing.T, authority []byte, node v1alpha1.NodeSettings) *fleet {
	t.Helper()
	cp := controlplanetest.Start(t, controlplane.Options{Content: operator.Content})
	controlplanetest.Require(t, operator.Install(t.Context(), cp))
	_, err := clusterapi.StartBootstrapProvider(t.Context(), cp, clusterapi.Options{Progress: os.Stderr})
	controlplanetest.Require(t, err)
	_, err = operator.Start(t.Context(), cp, operator.Options{Args: []string{"--leader-elect=false"}})
	controlplanetest.Require(t, err)

	scheme := runtime.NewScheme()
	controlplanetest.Require(t, clusterapi.AddToScheme(scheme))
	controlplanetest.Require(t, v1alpha1.AddToScheme(scheme))
	c, err := client.New(cp.Admin(), client.Options{Scheme: scheme})
	controlplanetest.Require(t, err)
	namespace := controlplanetest.Namespace(t, cp)
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "mycluster"},
		Spec: clusterv1.ClusterSpec{
			ClusterNetwork: clusterv1.ClusterNetwork{
				Services: clusterv1.NetworkRanges{CIDRBlocks: []string{"100.64.0.0/13"}},
				Pods:     clusterv1.NetworkRanges{CIDRBlocks: []string{"100.96.0.0/11"}},
			},
			ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: machine.EndpointAddress, Port: 6443},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "AnyCluster", Name: "mycluster",
			},
		},
	}
	for _, object := range append(corporateProxy(authority, node), cluster) {
		controlplanetest.Require(t, c.Create(t.Context(), object))
	}
	controlplanetest.Require(t, clusterapi.SetInfrastructureProvisioned(t.Context(), c, cluster))
	return &fleet{cp, c, namespace, cluster}
}

// bootstrapData is that of the cluster's first machine.
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

// corporateProxy is squid, with its credentials and the authority.
func corporateProxy(authority []byte, node v1alpha1.NodeSettings) []client.Object {
	inOperators := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: operator.Namespace, Name: name}
	}
	return []client.Object{
		&corev1.Secret{
			ObjectMeta: inOperators("corporate-proxy"),
			StringData: map[string]string{"username": username, "password": password},
		},
		&corev1.ConfigMap{ObjectMeta: inOperators("corporate-ca"), Data: map[string]string{"ca.crt": string(authority)}},
		&v1alpha1.CorporateProxy{
			ObjectMeta: metav1.ObjectMeta{Name: "default"},
			Spec: v1alpha1.CorporateProxySpec{
				Source: v1alpha1.ProxySource{URL: &v1alpha1.ProxyURLs{
					HTTP: proxyURL(), HTTPS: proxyURL(), CredentialsRef: &v1alpha1.SecretReference{Name: "corporate-proxy"},
				}},
				TrustedCARef: &v1alpha1.CertificateReference{Name: "corporate-ca"},
				Node:         node,
			},
		},
	}
}
