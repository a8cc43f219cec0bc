package cli

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/cli/terminal"
)

// printPods writes a line for each owner and finding, and below what could not be read.
func printPods(out io.Writer, report podsReport, wide bool, total string) error {
	var text bytes.Buffer
	if len(report.Owners) == 0 {
		fmt.Fprintf(&text, "Nothing is found in %s.\n", total)
	} else {
		text.Write(podsTable(terminal.For(out), report, wide).Bytes())
	}
	if len(report.Notes) > 0 {
		text.WriteString("\n" + terminal.For(out).Notes(report.Notes))
	}
	_, err := text.WriteTo(out)
	return err
}

func podsTable(s terminal.Style, report podsReport, wide bool) *terminal.Table {
	heading := []string{"NAMESPACE", "OWNER", "PODS", "FINDING", "CONTAINERS", "WHY"}
	if wide {
		heading = []string{"NAMESPACE", "OWNER", "PODS", "FINDING", "REASON", "CONTAINERS", "NAMES", "WHY"}
	}
	t := terminal.Columns(s, heading...)
	for _, o := range report.Owners {
		finding := terminal.Cell{Text: string(o.Finding), Colour: terminal.Severity(string(o.Finding))}
		cells := append(terminal.Cells(o.Namespace, terminal.ASCII(o.Owner), strconv.Itoa(len(o.Pods))), finding)
		if wide {
			cells = append(cells, terminal.Cells(terminal.Dash(string(o.Reason)), strings.Join(o.Containers, ","), strings.Join(o.Pods, ","))...)
		} else {
			cells = append(cells, terminal.Cells(short(o.Containers))...)
		}
		t.Add(append(cells, terminal.Cells(terminal.Dash(o.Message))...)...)
	}
	return t
}

// owners are those that can be restarted: kubectl rollout restart.
func (r podsReport) owners() []ownerName {
	var names []ownerName
	for _, o := range r.Owners {
		names = append(names, ownerName{o.Namespace, o.Owner})
	}
	return names
}

// short names no more than three.
func short(names []string) string {
	const most = 3
	if len(names) > most {
		return strings.Join(names[:most], ",") + fmt.Sprintf(",+%d", len(names)-most)
	}
	return strings.Join(names, ",")
}
