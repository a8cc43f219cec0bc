package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

func clientsCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "clients [CLIENT...]",
		Short: "List the HTTP clients that explain answers for",
		Long: `List the HTTP clients that explain and lint answer for: what changed in which
version, and which versions were run. Every other version is answered for by what
was read in its source; -o wide names that source.`,
		Example: `  fairlead clients
  fairlead clients curl python-requests -o wide
  fairlead clients -o json`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return dialect.Names(), cobra.ShellCompDirectiveNoFileComp
		},
		PreRunE: func(*cobra.Command, []string) error { return usage(checkOutput(output, listOutputs)) },
		RunE: func(cmd *cobra.Command, args []string) error {
			rows, err := clientRows(args)
			if err != nil {
				return usage(err)
			}
			return printClients(cmd.OutOrStdout(), rows, output)
		},
	}
	outputFlag(cmd, &output, tableOutput, listOutputs)
	return cmd
}

// clientRow is a client in one of its behaviours.
type clientRow struct {
	Client    string   `json:"client"`
	Versions  string   `json:"versions"`
	AlsoReads []string `json:"alsoReads,omitempty"`
	Change    string   `json:"change,omitempty"`
	Measured  []string `json:"measured"` // versions that were run; none: read from source
	Source    string   `json:"source"`
}

// clientRows returns the rows of the named clients, or of all. An unknown name is an error.
func clientRows(names []string) ([]clientRow, error) {
	var clients []*dialect.Client
	if len(names) == 0 {
		clients = dialect.Clients()
	}
	for _, name := range names {
		client, err := dialect.Find(name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(clients, func(c *dialect.Client) bool { return c.Name == client.Name }) {
			clients = append(clients, client)
		}
	}
	var rows []clientRow
	for _, client := range clients {
		for i, choice := range client.Choices() {
			versions := strings.TrimSpace(strings.TrimPrefix(client.Between(i, i), client.Name))
			rows = append(rows, clientRow{
				Client: client.Name, Versions: versions, AlsoReads: client.AlsoReads, Change: choice.Change,
				Measured: append([]string{}, choice.Measured()...), Source: choice.Source,
			})
		}
	}
	return rows, nil
}

func printClients(out io.Writer, rows []clientRow, output string) error {
	if output == nameOutput {
		var names []string
		for _, row := range rows {
			names = append(names, row.Client)
		}
		_, err := fmt.Fprintln(out, strings.Join(slices.Compact(names), "\n"))
		return err
	}
	return printFound(out, output, rows, func(s terminal.Style) []byte { return clientsTable(s, rows, output == wideOutput) })
}

func clientsTable(s terminal.Style, rows []clientRow, wide bool) []byte {
	heading := []string{"CLIENT", "VERSIONS", "MEASURED", "PROGRAMS", "SOURCE", "CHANGE"}
	if !wide {
		heading = slices.Delete(heading, 3, 5)
	}
	t := terminal.Columns(s, heading...)
	for _, row := range rows {
		cells := terminal.Cells(row.Client, terminal.Dash(row.Versions), measured(row.Measured),
			terminal.Dash(strings.Join(row.AlsoReads, ", ")), row.Source, terminal.Dash(row.Change))
		if !wide {
			cells = slices.Delete(cells, 3, 5)
		}
		t.Add(cells...)
	}
	return t.Bytes()
}
