// Command chart writes the Helm chart of the cluster-proxy agent to a new folder, as the addon manager has it
// inside (open-cluster-management.io/cluster-proxy, pkg/proxyagent/agent, FS).
//
//	chart FOLDER
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"open-cluster-management.io/cluster-proxy/pkg/proxyagent/agent"
)

// inside is the chart's folder in agent.FS.
const inside = "manifests/charts/addon-agent"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return errors.New("usage: chart FOLDER")
	}
	chart, err := fs.Sub(agent.FS, inside)
	if err != nil {
		return err
	}
	if err := os.CopyFS(os.Args[1], chart); err != nil {
		return fmt.Errorf("write the chart: %w", err)
	}
	return nil
}
