package cli

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// printPods writes a line for each owner and finding, and below what could not be read.
func printPods(out io.Writer, report podsReport, wide bool, total string) error {
	var text bytes.Buffer
	if len(report.Owners) == 0 {
		fmt.Fprintf(&text, "Nothing is found in %s.\n", total)
	} else {
		text.Write(podsTable(styleFor(out), report, wide).bytes())
	}
	if len(report.Notes) > 0 {
		text.WriteString("\n" + styleFor(out).notes(report.Notes))
	}
	_, err := text.WriteTo(out)
	return err
}

func podsTable(s style, report podsReport, wide bool) *table {
	heading := []string{"NAMESPACE", "OWNER", "PODS", "FINDING", "CONTAINERS", "WHY"}
	if wide {
		heading = []string{"NAMESPACE", "OWNER", "PODS", "FINDING", "REASON", "CONTAINERS", "NAMES", "WHY"}
	}
	t := columns(s, heading...)
	for _, o := range report.Owners {
		finding := cell{string(o.Finding), findingColours[string(o.Finding)]}
		cells := append(plain(o.Namespace, ascii(o.Owner), strconv.Itoa(len(o.Pods))), finding)
		if wide {
			cells = append(cells, plain(dash(string(o.Reason)), strings.Join(o.Containers, ","), strings.Join(o.Pods, ","))...)
		} else {
			cells = append(cells, plain(short(o.Containers))...)
		}
		t.add(append(cells, plain(dash(o.Message))...)...)
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

// ascii writes out what else would move columns or the cursor: anybody who makes a pod may say who owns it.
func ascii(text string) string { return strings.Trim(strconv.QuoteToASCII(text), `"`) }

// short names no more than three.
func short(names []string) string {
	const most = 3
	if len(names) > most {
		return strings.Join(names[:most], ",") + fmt.Sprintf(",+%d", len(names)-most)
	}
	return strings.Join(names, ",")
}
