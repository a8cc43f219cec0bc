package cli

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
	"github.com/fairlead-io/fairlead/internal/core/lint"
)

// doctorText is a line for each container, and below it what is found.
func doctorText(s style, report doctorReport) []byte {
	var out bytes.Buffer
	if len(report.Pods) > 0 {
		table := columns(s, "OBJECT", "CONTAINER", "AGENT", "HUB", "THROUGH", "SETTING")
		for _, p := range report.Pods {
			for _, c := range p.Containers {
				agent := strings.TrimSpace(c.Agent + " " + c.Version)
				table.add(plain(ascii(p.Object), ascii(c.Container), dash(ascii(agent)), dash(ascii(c.Hub)), dash(string(c.Through)), dash(ascii(c.Setting)))...)
			}
		}
		fmt.Fprintf(&out, "%s\n", table.bytes())
	}
	counts := map[lint.Severity]int{}
	all := func(findings []tunnel.Finding, of string) {
		for _, f := range findings {
			counts[f.Severity]++
			printDiagnosis(&out, s, f, of)
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
		out.WriteString(s.notes([]string{ascii(note)}))
	}
	fmt.Fprintf(&out, "%s, %s, %d info\n", plural(counts[lint.Error], "error"), plural(counts[lint.Warning], "warning"), counts[lint.Info])
	return out.Bytes()
}

func printDiagnosis(out *bytes.Buffer, s style, f tunnel.Finding, of string) {
	fmt.Fprintf(out, "%s%s  %s\n", s.severity(f.Severity), f.Code, ascii(of))
	wrap(out, s, plainText(f.Why))
	if f.Mend != "" {
		wrap(out, s, "mend: "+plainText(f.Mend))
	}
	fmt.Fprintln(out)
}

// plainText is ascii for sentences, whose quotes are theirs.
func plainText(text string) string { return strings.ReplaceAll(ascii(text), `\"`, `"`) }
