package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/version"
)

// versionReport is what is printed.
type versionReport struct {
	Version   string `json:"version"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
}

func versionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  fairlead version
  fairlead version -o json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output, dataOutputs); err != nil {
				return usage(err)
			}
			if output == tableOutput {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), version.Version)
				return err
			}
			return printData(cmd.OutOrStdout(), output, versionReport{version.Version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH})
		},
	}
	outputFlag(cmd, &output, tableOutput, dataOutputs)
	return cmd
}
