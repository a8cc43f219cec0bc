package policies_test

import (
	"context"
	"slices"
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
	for name, volumes := range map[string][]corev1.Volume{
		"a new pod": nil,
		"one made from the text of a pod that has the ConfigMap": {{Name: caVolume, VolumeSource: ourCA()}},
	} {
		given := caPod(caContainer("c"))
		given.Spec.Volumes = volumes
		pod := c.awaitBoth(t, name, given)
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

// Pods get the variables that the chart's values choose.
func (c caCluster) testChosen(t *testing.T, engine string) {
	t.Helper()
	controlplanetest.Require(t, policies.Install(t.Context(), c.cp, policies.Values(), map[string]any{
		"engine": engine, "trustedCA": map[string]any{
			"enabled": true, "bundle": string(newAuthority(t).PEM()), "variables": []string{"SSL_CERT_FILE", "AWS_CA_BUNDLE", "PIP_CERT", "MY_CA"},
		},
	}))
	named := func(ctx context.Context, own ...corev1.EnvVar) ([]string, error) {
		container := caContainer("c")
		container.Env = own
		pod, err := c.create(ctx, caPod(container), metav1.DryRunAll)
		if err != nil {
			return nil, err
		}
		var names []string
		for _, e := range pod.Spec.Containers[0].Env {
			if e.Value == caFile {
				names = append(names, e.Name)
			}
		}
		return names, nil
	}
	controlplanetest.Await(t, "the variables", func(ctx context.Context) (bool, error) {
		got, err := named(ctx)
		return slices.Equal(got, []string{"SSL_CERT_FILE", "AWS_CA_BUNDLE", "PIP_CERT", "MY_CA"}), err
	})
	for own, want := range map[string][]string{
		"REQUESTS_CA_BUNDLE": {"SSL_CERT_FILE", "MY_CA"},
		"CURL_CA_BUNDLE":     {"SSL_CERT_FILE", "AWS_CA_BUNDLE", "MY_CA"},
		"MY_CA":              {"SSL_CERT_FILE", "AWS_CA_BUNDLE", "PIP_CERT"},
		"SSL_CERT_DIR":       {"AWS_CA_BUNDLE", "PIP_CERT", "MY_CA"},
	} {
		if got, err := named(t.Context(), corev1.EnvVar{Name: own, Value: "/own"}); err != nil || !slices.Equal(got, want) {
			t.Errorf("with %s of its own: %v, want %v (%v)", own, got, want, err)
		}
	}
}
