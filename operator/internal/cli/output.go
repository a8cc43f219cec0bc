package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// tableOutput is the output for people, of the verbs that also have one for programs.
const tableOutput = "table"

var dataOutputs = []string{tableOutput, "json", "yaml"}

// outputFlag adds -o, which is one of these.
func outputFlag(cmd *cobra.Command, into *string, standard string, all []string) {
	cmd.Flags().StringVarP(into, "output", "o", standard, "one of "+strings.Join(all, ", "))
	complete(cmd, "output", fixed(all...))
}

func checkOutput(given string, all []string) error {
	if !slices.Contains(all, given) {
		return fmt.Errorf("-o is one of %s, not %q", strings.Join(all, ", "), given)
	}
	return nil
}
