// Package helm runs the real Helm on the charts of this repository.
package helm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Release says what to render.
type Release struct {
	Chart     string // a folder
	Name      string
	Namespace string
	Values    []any // each as from one file, the later over the earlier: what can be written as YAML, or []byte
}

// Template returns the manifests of a release, as helm template prints them.
func Template(ctx context.Context, release Release) ([]byte, error) {
	args := []string{"template", release.Name, release.Chart, "--namespace", release.Namespace}
	dir, err := os.MkdirTemp("", "fairlead-helm-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for i, values := range release.Values {
		content, isText := values.([]byte)
		if !isText {
			if content, err = yaml.Marshal(values); err != nil {
				return nil, fmt.Errorf("write values: %w", err)
			}
		}
		file := filepath.Join(dir, fmt.Sprintf("values-%d.yaml", i))
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return nil, err
		}
		args = append(args, "--values", file)
	}
	return Run(ctx, args...)
}

// Run runs Helm and returns what it prints. What it complains of is in the error.
func Run(ctx context.Context, args ...string) ([]byte, error) {
	path, err := tools.Build(ctx, tools.Helm, os.Stderr)
	if err != nil {
		return nil, err
	}
	var complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stderr = &complaints
	output, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("helm %s: %w\n%s", args[0], err, complaints.String())
	}
	return output, nil
}
