package cli

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/fairlead-io/fairlead/operator/lint"
	"github.com/fairlead-io/fairlead/operator/tunnel"
)

// doctorText is a line for each container, and below it what is found.
func doctorText(report doctorReport) []byte {
	var out bytes.Buffer
	if len(report.Pods) > 0 {
		table := tabwriter.NewWriter(&out, 0, 0, 3, ' ', 0)
		fmt.Fprintln(table, "OBJECT\tCONTAINER\tAGENT\tHUB\tTHROUGH\tSETTING")
		for _, p := range report.Pods {
			for _, c := range p.Containers {
				agent := strings.TrimSpace(c.Agent + " " + c.Version)
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n",
					ascii(p.Object), ascii(c.Container), dash(ascii(agent)), dash(ascii(c.Hub)), dash(string(c.Through)), dash(ascii(c.Setting)))
			}
		}
		_ = table.Flush() // into a buffer
		fmt.Fprintln(&out)
	}
	counts := map[lint.Severity]int{}
	all := func(findings []tunnel.Finding, of string) {
		for _, f := range findings {
			counts[f.Severity]++
			printDiagnosis(&out, f, of)
		}
	}
	for _, p := range report.Pods {
		all(p.Findings, p.Object)
		for _, c := range p.Containers {
			all(c.Findings, p.Object+" "+c.Container)
		}
	}
	for _, c := range report.Configurations {
		all(c.Findings, c.Object)
		if len(c.AdditionalArgs) > 0 {
			fmt.Fprintf(&out, "%s should have\n  proxyAgent:\n    additionalArgs: [%s]\n\n", ascii(c.Object), ascii(strings.Join(c.AdditionalArgs, ", ")))
		}
	}
	for _, note := range report.Notes {
		fmt.Fprintln(&out, ascii(note))
	}
	fmt.Fprintf(&out, "%s, %s, %d info\n", plural(counts[lint.Error], "error"), plural(counts[lint.Warning], "warning"), counts[lint.Info])
	return out.Bytes()
}

func printDiagnosis(out *bytes.Buffer, f tunnel.Finding, of string) {
	fmt.Fprintf(out, "%-8s %s  %s\n", f.Severity, f.Code, ascii(of))
	wrap(out, plainText(f.Why))
	if f.Mend != "" {
		wrap(out, "mend: "+plainText(f.Mend))
	}
	fmt.Fprintln(out)
}

// plainText is ascii for sentences, whose quotes are theirs.
func plainText(text string) string { return strings.ReplaceAll(ascii(text), `\"`, `"`) }
