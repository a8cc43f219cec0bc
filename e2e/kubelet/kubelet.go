// Package kubelet asks the kubelet's own code what a container's environment becomes. The kubelet itself cannot run
// here: there is no container runtime.
package kubelet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"

	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Variable of a container.
type Variable struct {
	Name, Value string
	From        bool // the value comes from elsewhere, by valueFrom: it is not expanded then
}

// Expand returns the values that the variables have in the container: in their order, $(NAME) is replaced by what an
// earlier one has, and $$ by $.
func Expand(ctx context.Context, variables []Variable) ([]string, error) {
	program, err := tools.Build(ctx, tools.Expand, os.Stderr)
	if err != nil {
		return nil, err
	}
	input, err := json.Marshal(variables)
	if err != nil {
		return nil, err
	}
	var complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, program)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &complaints
	output, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("expand variables: %w: %s", err, complaints.String())
	}
	var values []string
	if err := json.Unmarshal(output, &values); err != nil {
		return nil, fmt.Errorf("expand variables: %w", err)
	}
	if len(values) != len(variables) {
		return nil, fmt.Errorf("expand variables: %d values of %d", len(values), len(variables))
	}
	return values, nil
}
