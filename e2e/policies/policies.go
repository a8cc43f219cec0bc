// Package policies installs charts/fairlead-policies, rendered by the real Helm, on a control plane.
package policies

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/e2e/tools"
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

// Mutate returns a manifest after the built fairlead mutate, with values of the chart, each over the one before. A
// manifest without an agent is an error.
func Mutate(ctx context.Context, manifest []byte, values []any, flags ...string) ([]byte, error) {
	fairlead, err := tools.Program(ctx, "fairlead")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "fairlead-mutate-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	args := []string{"mutate", "--require"}
	for i, layer := range values {
		text, err := yaml.Marshal(layer)
		if err != nil {
			return nil, err
		}
		file := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return nil, err
		}
		args = append(args, "--policy-values", file)
	}
	var complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, fairlead, append(args, flags...)...)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(manifest), &complaints
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("fairlead mutate: %w: %s", err, &complaints)
	}
	return out, nil
}
