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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/internal/core/cabundle/cabundletest"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

func TestDriftIsMended(t *testing.T) {
	for name, drift := range map[string]func(*fixture, *corev1.Secret) error{
		"when the Secret was deleted": func(f *fixture, s *corev1.Secret) error { return f.client.Delete(f.Context(), s) },
		"when its content was changed": func(f *fixture, s *corev1.Secret) error {
			s.Data[render.ValuesKey] = []byte("cluster: {}")
			return f.client.Update(f.Context(), s)
		},
		"when its key was removed": func(f *fixture, s *corev1.Secret) error {
			return f.client.Patch(f.Context(), s, client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/data/values"}]`)))
		},
		"when a second key was added": func(f *fixture, s *corev1.Secret) error {
			s.Data["second"] = []byte("key")
			return f.client.Update(f.Context(), s)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.exampleProxy()
			f.servedCluster("c1")
			f.nextSecond("c1")
			values, _ := f.secrets("c1")
			f.must(drift(f, values))
			f.reapply("c1", "1")
			f.awaitNoProxy("c1", exampleMerged)
			if values, _ := f.secrets("c1"); len(values.Data) != 1 {
				t.Errorf("it has %d keys", len(values.Data))
			}
			f.report("c1", "Applied")
		})
	}
}

// A field manager's time has seconds, so an undoing within the same second as
// the write cannot be told from it. Nobody's rival is that fast twice.
func (f *fixture) nextSecond(cluster string) {
	f.Helper()
	values, _ := f.secrets(cluster)
	for _, entry := range values.ManagedFields {
		f.nextSecondOf(*entry.Time)
	}
}

// Once it is free, it is written.
func TestANameThatIsTakenIsNeverTouched(t *testing.T) {
	for name, foreign := range map[string]*corev1.Secret{
		"without our label":                {Data: map[string][]byte{"values": []byte("theirs")}},
		"of another type":                  {Type: "example.com/type", Data: map[string][]byte{"values": []byte("theirs")}},
		"of Cluster API, though annotated": {Type: "cluster.x-k8s.io/secret", ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{render.AdoptKey: "true"}}, Data: map[string][]byte{"value": []byte("theirs")}},
		"and empty":                        {},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			foreign.Namespace, foreign.Name = f.namespace, "c1-cluster-values"
			f.must(f.client.Create(t.Context(), foreign))
			f.exampleProxy()
			f.cluster("c1")
			report := f.report("c1", "NameTaken")
			if !meta.IsStatusConditionTrue(report.Status.Conditions, v1alpha1.ConditionNameTaken) || !strings.Contains(readyMessage(report), "c1-cluster-values") {
				t.Errorf("conditions: %+v", report.Status.Conditions)
			}
			values, systemd := f.secrets("c1")
			if values.ResourceVersion != foreign.ResourceVersion {
				t.Errorf("it was changed: %v", values.Data)
			}
			if systemd == nil {
				t.Error("the other Secret was not written")
			}

			f.must(f.client.Delete(t.Context(), foreign))
			f.reapply("c1", "free")
			if report := f.report("c1", "Applied"); meta.IsStatusConditionTrue(report.Status.Conditions, v1alpha1.ConditionNameTaken) {
				t.Error("the condition NameTaken is left")
			}
			f.awaitNoProxy("c1", exampleMerged)
		})
	}
}

// As on OpenShift. Who may not delete an object may not change its owners there.
func TestOwnersAreWrittenWhereTheAPIServerEnforcesPermissionsOnThem(t *testing.T) {
	tier.Full(t) // 40 s: a control plane of its own
	f := newFixtureOf(t, controlplane.Options{APIServerArgs: []string{"--enable-admission-plugins=OwnerReferencesPermissionEnforcement"}})
	f.exampleProxy()
	theirs := f.theirs("c1"+render.ValuesSuffix, "values", map[string]string{render.AdoptKey: "true"})
	f.cluster("c1")
	f.awaitReport("c1", "the refusal", func(r *v1alpha1.ProxyReport) bool {
		return meta.IsStatusConditionFalse(r.Status.Conditions, v1alpha1.ConditionReady) && strings.Contains(readyMessage(r), "cannot set an ownerRef")
	})

	f.must(f.cp.ApplyFS(t.Context(), config.OwnerReferences))
	f.awaitNoProxy("c1", exampleMerged)
	first := f.report("c1", "Applied")
	if is := f.secret(theirs.Name); is.UID != theirs.UID || len(is.OwnerReferences) != 2 {
		t.Errorf("the adopted Secret has the owners %v", is.OwnerReferences)
	}

	f.operator.Kill()
	f.loseReport("c1")
	f.setSource("example-"+f.namespace, otherPassword("changed"))
	f.startOperator()
	report := f.report("c1", "Applied")
	values, systemd := f.secrets("c1")
	for _, secret := range []*corev1.Secret{values, systemd} {
		if report.UID == first.UID || !slices.ContainsFunc(secret.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == report.UID }) {
			t.Errorf("%s has the owners %v", secret.Name, secret.OwnerReferences)
		}
	}
	if !strings.Contains(string(values.Data[render.ValuesKey]), "changed") {
		t.Error("the new password is not there")
	}
	thief := f.clientFor(f.operator.Config)
	if err := thief.Delete(t.Context(), values); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "deletes only revisions") {
		t.Errorf("deleting a Secret: %v", err)
	}
}

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
		diff := cmp.Diff(want, slices.Sorted(maps.Keys(secret.Data)))
		return controlplanetest.Holds(diff == "", "%s", diff)
	})
	return secret
}
