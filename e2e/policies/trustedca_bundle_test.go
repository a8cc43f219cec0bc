package policies_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// One object for the cluster, no copy, and no label that asks for one. The kind is a beta, off by default.
func TestWhereThereAreClusterTrustBundlesAPodMountsOne(t *testing.T) {
	tier.Full(t)
	t.Parallel()
	cp := controlplanetest.Start(t, controlplane.Options{APIServerArgs: []string{
		"--runtime-config=certificates.k8s.io/v1beta1/clustertrustbundles=true",
		"--feature-gates=ClusterTrustBundle=true,ClusterTrustBundleProjection=true",
	}})
	controlplanetest.Require(t, cp.StartControllerManager(t.Context(), controlplane.ServiceAccounts))
	authority := newAuthority(t)
	controlplanetest.Require(t, policies.Install(t.Context(), cp, policies.Values(), map[string]any{
		"engine": native, "trustedCA": map[string]any{"enabled": true, "through": "ClusterTrustBundle", "bundle": string(authority.PEM())},
	}))
	c := caCluster{cp: cp, clients: controlplanetest.Clients(t, cp), pods: controlplanetest.Namespace(t, cp)}
	bundle, err := c.clients.CertificatesV1beta1().ClusterTrustBundles().Get(t.Context(), policies.TrustedCA, metav1.GetOptions{})
	if err != nil || len(bundle.Spec.TrustBundle) < 100 {
		t.Fatal(bundle, err)
	}
	for name, given := range map[string]*corev1.Pod{
		"a new pod": caPod(caContainer("c")),
		"one made from the text of a pod that has the ConfigMap": func() *corev1.Pod {
			pod := caPod(caContainer("c"))
			pod.Spec.Volumes = []corev1.Volume{{Name: caVolume, VolumeSource: ourCA()}}
			return pod
		}(),
	} {
		var pod *corev1.Pod
		controlplanetest.Await(t, name, func(ctx context.Context) (bool, error) {
			pod, err = c.create(ctx, given.DeepCopy(), metav1.DryRunAll)
			return err == nil && len(pod.Spec.Containers[0].Env) == len(caVariables)+len(proxyVariables), err
		})
		if len(pod.Spec.Volumes) != 1 || pod.Spec.Volumes[0].Projected == nil {
			t.Fatalf("%s: %v", name, pod.Spec.Volumes)
		}
		if diff := cmp.Diff(ourTrustBundle().Projected.Sources, pod.Spec.Volumes[0].Projected.Sources); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if _, labelled := pod.Labels[policies.TrustedCALabel]; labelled {
			t.Errorf("%s asks the replicator for a ConfigMap", name)
		}
	}
}
