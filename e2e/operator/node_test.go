package operator_test

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/internal/core/cabundle/cabundletest"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// The names are the contract; admission_policy.yaml lets the operator write no others.
var nodeKeys = []string{
	"containerdProxy", "crioProxy", "environmentFile", "environmentFileDropIn", "etcEnvironment", "fcosButane", "fcosIgnition",
	"flatcarButane", "flatcarIgnition", "k3sEnvironment", "kubeAPIServerPatch", "kubeControllerManagerPatch", "kubeSchedulerPatch",
	"kubeletProxy", "relayInstallService", "relayPolicy", "relayService", "relaySettings", "relaySocket", "relayUpdatePath", "relayUpdateService",
	"rke2Environment", "trustedCA",
}

func TestEveryKeyThatMachinesCanGetIsWrittenByTheOperatorAndGoesAgain(t *testing.T) {
	f := newFixture(t)
	authority, _ := cabundletest.Authority(t, "A")
	proxy := f.exampleProxy(trusts("", f.ca(authority).Name), func(p *v1alpha1.CorporateProxy) {
		p.Spec.Node = v1alpha1.NodeSettings{
			Units:       []string{"crio.service"},
			Files:       []string{"EnvironmentFile", "EtcEnvironment", "RKE2", "K3s", "StaticPods", "Flatcar", "FedoraCoreOS"},
			Base64Twins: true, Delivery: "Relay", Relay: v1alpha1.MachineRelay{Image: "registry.example/fairlead-relay:1"},
		}
	})
	f.cluster("c1")
	var withTwins []string
	for _, key := range nodeKeys {
		withTwins = append(withTwins, key, key+".base64")
	}
	secret := f.awaitKeys("c1", withTwins)
	for _, key := range nodeKeys {
		if plain, twin := secret.Data[key], secret.Data[key+".base64"]; len(plain) == 0 || string(twin) != base64.StdEncoding.EncodeToString(plain) {
			t.Errorf("%s is\n%s\nand its twin %s", key, plain, twin)
		}
	}

	modify(f, proxy, func(p *v1alpha1.CorporateProxy) { p.Spec.Node, p.Spec.TrustedCARef = v1alpha1.NodeSettings{}, nil })
	f.awaitKeys("c1", []string{"containerdProxy", "kubeletProxy"})
}

// awaitKeys awaits that the Secret for machines has these keys and no others.
func (f *fixture) awaitKeys(cluster string, want []string) *corev1.Secret {
	f.Helper()
	want = slices.Sorted(slices.Values(want))
	var secret *corev1.Secret
	controlplanetest.Await(f, "the keys of "+cluster, func(context.Context) (bool, error) {
		if secret = f.secret(cluster + render.SystemdSuffix); secret == nil {
			return false, errors.New("no Secret")
		}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(secret.Data))); diff != "" {
			return false, errors.New(diff)
		}
		return true, nil
	})
	return secret
}

func TestAUnitThatIsAPathIsRefusedByTheAPIServer(t *testing.T) {
	f := newFixture(t)
	for _, unit := range []string{"/etc/systemd/system/crio.service", "../crio.service", "crio", "crio@.service"} {
		proxy := &v1alpha1.CorporateProxy{
			ObjectMeta: metav1.ObjectMeta{Name: "refused"},
			Spec: v1alpha1.CorporateProxySpec{
				Source: v1alpha1.ProxySource{ValuesRef: &v1alpha1.SecretReference{Name: "refused"}},
				Node:   v1alpha1.NodeSettings{Units: []string{unit}},
			},
		}
		if err := f.client.Create(t.Context(), proxy, client.DryRunAll); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.node.units[0]") {
			t.Errorf("%s: %v", unit, err)
		}
	}
}
