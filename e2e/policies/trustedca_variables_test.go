package policies_test

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

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
