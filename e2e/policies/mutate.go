package policies

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
