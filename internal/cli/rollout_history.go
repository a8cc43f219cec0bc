package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/revision"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
)

type historyOptions struct {
	rolloutOptions
	revision int64
	output   string
}

func rolloutHistoryCommand() *cobra.Command {
	var opts historyOptions
	cmd := &cobra.Command{
		Use:   "history NAME",
		Short: "List revisions: who changed what, and when",
		Long: `List the revisions that are kept, the newest first, and who changed the objects: field
managers. STATE is current (clusters are to have it), passed (it has passed its first
wave), rejected or superseded.

Below, or with --revision for one alone, is what came and went against the revision
before. Of credentials and certificates it says that they changed; no password is in
what is read.

-o json and -o yaml print a list with number, since, digest, state, clusters, changes,
before (the number that it is compared with) and difference: came, went and fields.`,
		Example: `  fairlead rollout history corp
  fairlead rollout history corp --revision 8
  fairlead rollout history corp -o json | jq -r '.[] | select(.state == "rejected") | .digest'`,
		Args: oneName("CorporateProxy"),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if cmd.Flags().Changed("revision") && opts.revision < 1 {
				err = errors.New("--revision is a number from 1")
			}
			return usage(cmp.Or(err, checkRollout(opts.rolloutOptions), checkOutput(opts.output, dataOutputs)))
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runHistory(cmd, opts, plainName(args[0])) },
	}
	opts.flags(cmd)
	cmd.Flags().Int64Var(&opts.revision, "revision", 0, "only this one")
	outputFlag(cmd, &opts.output, tableOutput, dataOutputs)
	return cmd
}

func runHistory(cmd *cobra.Command, opts historyOptions, name string) error {
	f, proxy, stored, err := opts.kept(cmd, name)
	if err != nil {
		return err
	}
	configMap, err := f.Control(cmd.Context(), opts.namespace, name)
	if err != nil {
		return err
	}
	rows := historyOf(stored, proxy.Status.Revisions, f.control(configMap))
	if opts.revision != 0 {
		rows = slices.DeleteFunc(rows, func(r historyRow) bool { return r.Number != opts.revision })
		if len(rows) == 0 {
			return fmt.Errorf("CorporateProxy %s: revision %d is not kept", name, opts.revision)
		}
	}
	return printFound(cmd.OutOrStdout(), opts.output, rows, func(s terminal.Style) []byte { return historyText(s, name, rows) })
}

// historyRow is a revision.
type historyRow struct {
	Number     int64                `json:"number"`
	Since      metav1.Time          `json:"since"`
	Digest     string               `json:"digest"`
	State      string               `json:"state"`
	Clusters   int32                `json:"clusters"`
	Changes    []revision.Change    `json:"changes,omitempty"`
	Before     int64                `json:"before,omitempty"`
	Difference *revision.Difference `json:"difference,omitempty"`
}

// historyOf returns the rows, the newest first. Each revision is compared with the one before it among
// those that are kept.
func historyOf(stored []revision.Public, status []v1alpha1.RevisionStatus, control revision.Control) []historyRow {
	stored = slices.SortedFunc(slices.Values(stored), func(a, b revision.Public) int { return cmp.Compare(a.Number, b.Number) })
	known := rollout.Known(stored, status, control)
	rows := []historyRow{}
	for i, p := range stored {
		row := historyRow{Number: p.Number, Since: p.Since, Digest: p.Digest, State: stateOf(known, i), Changes: p.Changes}
		for _, s := range status {
			if s.Number == p.Number && s.Digest == p.Digest {
				row.Clusters = s.Clusters
			}
		}
		if i > 0 {
			difference := revision.Compare(stored[i-1], p)
			row.Before, row.Difference, row.Changes = stored[i-1].Number, &difference, p.ChangesAfter(stored[i-1])
		}
		rows = append(rows, row)
	}
	slices.Reverse(rows)
	return rows
}

// stateOf returns the state of one of the revisions, which are in the order of their numbers.
func stateOf(known []rollout.Revision, i int) string {
	accepted := func(r rollout.Revision) bool { return !r.Rejected }
	switch {
	case known[i].Rejected:
		return "rejected"
	case !slices.ContainsFunc(known[i+1:], accepted):
		return "current"
	case known[i].Passed:
		return "passed"
	}
	return "superseded"
}

// historyText has a line for each revision, and below what each changed.
func historyText(s terminal.Style, name string, rows []historyRow) []byte {
	if len(rows) == 0 {
		return []byte("No revision of CorporateProxy " + name + " is recorded yet.\n")
	}
	table := terminal.Columns(s, "REVISION", "SINCE", "DIGEST", "STATE", "CLUSTERS", "CHANGED-BY")
	var below []byte
	for _, row := range rows {
		cells := terminal.Cells(strconv.FormatInt(row.Number, 10), row.Since.UTC().Format(time.RFC3339), shortDigest(row.Digest), row.State,
			strconv.Itoa(int(row.Clusters)), terminal.Dash(changedBy(row.Changes)))
		if row.State == "rejected" {
			cells[3].Colour = terminal.Yellow
		}
		table.Add(cells...)
		below = append(below, differenceText(row)...)
	}
	return append(table.Bytes(), below...)
}

func shortDigest(digest string) string { return digest[:min(len(digest), 12)] }

func changedBy(changes []revision.Change) string {
	texts := make([]string, len(changes))
	for i, c := range changes {
		texts[i] = printable(c.Manager + " (" + c.Object + ")")
	}
	return strings.Join(texts, ", ")
}

// differenceText has a line for each entry and field.
func differenceText(row historyRow) []byte {
	if row.Difference == nil {
		return nil
	}
	text := fmt.Appendf(nil, "\nRevision %d against %d:\n", row.Number, row.Before)
	for _, entry := range row.Difference.Came {
		text = fmt.Appendf(text, "  + %s\n", printable(entry))
	}
	for _, entry := range row.Difference.Went {
		text = fmt.Appendf(text, "  - %s\n", printable(entry))
	}
	for _, field := range row.Difference.Fields {
		if field.Before == "" && field.After == "" {
			text = fmt.Appendf(text, "  %s %s\n", field.Field, cmp.Or(field.How, "changed"))
			continue
		}
		text = fmt.Appendf(text, "  %s: %s -> %s\n", field.Field, terminal.Dash(printable(field.Before)), terminal.Dash(printable(field.After)))
	}
	if len(row.Difference.Came)+len(row.Difference.Went)+len(row.Difference.Fields) == 0 {
		text = append(text, "  nothing but the order or the notes of entries\n"...)
	}
	return text
}
