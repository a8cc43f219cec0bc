// Package policies installs charts/fairlead-policies, rendered by the real Helm, on a control plane.
package policies

import (
	"context"
	"fmt"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/internal/agents/mutation/mutationtest"
)

// Where the chart is installed, and what the tests call the release.
const (
	Namespace = "fairlead-system"
	Release   = "fairlead-policies"
)

// The policies, by name, the Secret with the six variables, the ConfigMap with the company's authorities, and the label of
// pods that mount that.
const (
	InjectProxyEnv = "inject-proxy-env"
	Secret         = "fairlead-proxy"
	TrustedCA      = "fairlead-trusted-ca"
	TrustedCAKey   = "ca.crt"
	TrustedCALabel = "fairlead.io/trusted-ca"
)

// Chart is the folder of the chart.
func Chart() string { return repository.Path("charts", "fairlead-policies") }

// Folder returns the folder that has a folder for each policy.
func Folder() string { return repository.Path("policies") }

// Values returns the values of the published example, as <cluster>-cluster-values has them.
func Values() map[string]any { return mutationtest.Values() }

// Sidecars are the values of who has chosen the families that are off by default.
func Sidecars() map[string]any {
	through := map[string]any{"through": "Sidecar"}
	return map[string]any{"tunnels": map[string]any{"families": map[string]any{"sidecar": through, "chisel": through}}}
}

// Render renders the chart with values, each as from one file and over the one before.
func Render(ctx context.Context, values ...any) ([]byte, error) {
	return helm.Template(ctx, helm.Release{Chart: Chart(), Name: Release, Namespace: Namespace, Values: values})
}

// Install renders the chart and applies it. Who evaluates the policies takes a moment to notice.
func Install(ctx context.Context, cp *controlplane.ControlPlane, values ...any) error {
	manifest, err := Render(ctx, values...)
	if err != nil {
		return err
	}
	namespace := fmt.Appendf(nil, "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", Namespace)
	return cp.Apply(ctx, namespace, manifest)
}

// Serve says of a namespace, and of the release's own for those that come, that the replicator has written there. Where none runs, a
// test does its part.
func Serve(ctx context.Context, cp *controlplane.ControlPlane, namespace string) error {
	const served = "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s, annotations: {fairlead.io/served: \"2026-01-02T03:04:05Z\"}}\n"
	return cp.Apply(ctx, fmt.Appendf(nil, served, Namespace), fmt.Appendf(nil, served, namespace))
}
