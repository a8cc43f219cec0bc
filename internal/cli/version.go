package cli

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/version"
)

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
		Args:    noArguments,
		PreRunE: func(*cobra.Command, []string) error { return usage(checkOutput(output, dataOutputs)) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			report := versionReport{version.Version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return printFound(cmd.OutOrStdout(), output, report, func(terminal.Style) []byte { return []byte(version.Version + "\n") })
		},
	}
	outputFlag(cmd, &output, tableOutput, dataOutputs)
	return cmd
}
