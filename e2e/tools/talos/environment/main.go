// Command environment reads patches for machine configurations of Talos, a JSON list of texts, and prints for each which
// variables a machine has with it, by Talos' own code: in machine.env or in EnvironmentConfig.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"

	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
)

// machine is the configuration that is patched: it has a variable of its own.
const machine = `version: v1alpha1
machine: {type: worker, env: {GRPC_GO_LOG_SEVERITY_LEVEL: info}}
cluster: {controlPlane: {endpoint: "https://10.0.0.1:6443"}}
`

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "environment:", err)
		os.Exit(1)
	}
}

func run() error {
	var patches []string
	if err := json.NewDecoder(os.Stdin).Decode(&patches); err != nil {
		return err
	}
	all := make([]map[string]string, len(patches))
	for i, patch := range patches {
		variables, err := patched(patch)
		if err != nil {
			return fmt.Errorf("patch %d: %w", i, err)
		}
		all[i] = variables
	}
	return json.NewEncoder(os.Stdout).Encode(all)
}

func patched(text string) (map[string]string, error) {
	base, err := configloader.NewFromBytes([]byte(machine))
	if err != nil {
		return nil, err
	}
	patch, err := configpatcher.LoadPatch([]byte(text))
	if err != nil {
		return nil, err
	}
	out, err := configpatcher.Apply(configpatcher.WithConfig(base), []configpatcher.Patch{patch})
	if err != nil {
		return nil, err
	}
	config, err := out.Config()
	if err != nil {
		return nil, err
	}
	variables := maps.Clone(config.Machine().Env())
	maps.Copy(variables, config.Environment().Variables())
	return variables, nil
}
