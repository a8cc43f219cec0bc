package clusterapi_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/e2e/clusterapi"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

const (
	containerdDropIn = "/etc/systemd/system/containerd.service.d/http-proxy.conf"
	kubeletDropIn    = "/etc/systemd/system/kubelet.service.d/http-proxy.conf"
)

// The examples have the other pairs of format and encoding, see TestTheKubeadmExamplesGiveTheFirstMachineItsFiles.
func TestAMachineWaitsForTheSecretAndIsThenBuiltFromTheMergedList(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	cluster := f.cluster("waiting", nil)
	f.must(clusterapi.SetInfrastructureProvisioned(t.Context(), f.client, cluster))
	config, err := clusterapi.CreateControlPlaneMachine(t.Context(), f.client, cluster, "first", bootstrapv1.KubeadmConfigSpec{
		Format: bootstrapv1.Ignition,
		Files: []bootstrapv1.File{
			fromSecret(containerdDropIn, "waiting-systemd-proxy", "containerdProxy.base64", bootstrapv1.Base64),
			fromSecret(kubeletDropIn, "waiting-systemd-proxy", "kubeletProxy.base64", bootstrapv1.Base64),
		},
	})
	f.must(err)
	f.awaitWaiting(config, "secret not found: "+f.namespace+"/waiting-systemd-proxy")

	f.setEndpoint(cluster)
	secret := f.awaitSystemdSecret(cluster)
	files, err := f.awaitData(config).Files()
	f.must(err)
	for path, key := range map[string]string{containerdDropIn: "containerdProxy", kubeletDropIn: "kubeletProxy"} {
		if got, want := files[path].Content, string(secret.Data[key]); got != want {
			t.Errorf("%s is\n%s\nwant what the Secret has under %s:\n%s", path, got, key, want)
		}
		if got := files[path]; got.Permissions != "0600" || got.Owner != "root:root" {
			t.Errorf("%s has %s and belongs to %s", path, got.Permissions, got.Owner)
		}
		wantMerged(t, files[path].Content)
	}
}

// fromSecret is a file as the examples have it.
func fromSecret(path, name, key string, encoding bootstrapv1.Encoding) bootstrapv1.File {
	return bootstrapv1.File{
		Path: path, Owner: "root:root", Permissions: "0600", Encoding: encoding,
		ContentFrom: bootstrapv1.FileSource{Secret: bootstrapv1.SecretFileSource{Name: name, Key: key}},
	}
}

// noProxyLine is in a drop-in, or in a file that one refers to.
var noProxyLine = regexp.MustCompile(`(?m)^(?:Environment=")?NO_PROXY="?([^"\n]*)"?$`)

// wantMerged requires of a list that it has what only the Cluster knows, beside what the installation says.
func wantMerged(t testing.TB, content string) {
	t.Helper()
	match := noProxyLine.FindStringSubmatch(content)
	if match == nil {
		t.Errorf("no NO_PROXY in\n%s", content)
		return
	}
	list := strings.Split(match[1], ",")
	for _, want := range []string{serviceCIDR, podCIDR, endpointHost, "internal.corpdomain.net"} {
		if !slices.Contains(list, want) {
			t.Errorf("NO_PROXY lacks %s: %s", want, match[1])
		}
	}
}

// awaitWaiting awaits that the provider says what it waits for.
func (f *fleet) awaitWaiting(config *bootstrapv1.KubeadmConfig, message string) {
	f.Helper()
	awaitObject(f, "the provider to wait", &bootstrapv1.KubeadmConfig{}, config.Name, func(current *bootstrapv1.KubeadmConfig) (bool, error) {
		condition := meta.FindStatusCondition(current.Status.Conditions, bootstrapv1.KubeadmConfigDataSecretAvailableCondition)
		waits := condition != nil && condition.Status == metav1.ConditionFalse && strings.Contains(condition.Message, message)
		return controlplanetest.Holds(waits, "the condition is %+v", condition)
	})
}

func (f *fleet) awaitSystemdSecret(cluster *clusterv1.Cluster) *corev1.Secret {
	f.Helper()
	return awaitObject(f, "the Secret of "+cluster.Name, &corev1.Secret{}, cluster.Name+"-systemd-proxy", there)
}

// awaitData is patient: the longer the provider has waited, the later it asks again.
func (f *fleet) awaitData(config *bootstrapv1.KubeadmConfig) clusterapi.BootstrapData {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 2*time.Minute)
	defer cancel()
	data, err := clusterapi.AwaitBootstrapData(ctx, f.client, config)
	f.must(err)
	return data
}
