package cli

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/agents/doctor"
	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
	"github.com/fairlead-io/fairlead/internal/cli/terminal"
)

// doctorText is a line for each container, and below it what is found.
func doctorText(s terminal.Style, report doctor.Report) []byte {
	out := terminal.Findings{Style: s}
	if len(report.Pods) > 0 {
		table := terminal.Columns(s, "OBJECT", "CONTAINER", "AGENT", "HUB", "THROUGH", "SETTING")
		for _, p := range report.Pods {
			for _, c := range p.Containers {
				row := []string{p.Object, c.Container, strings.TrimSpace(c.Agent + " " + c.Version), c.Hub, string(c.Through), c.Setting}
				for i := range row {
					row[i] = terminal.Dash(terminal.ASCII(row[i]))
				}
				table.Add(terminal.Cells(row...)...)
			}
		}
		fmt.Fprintf(&out, "%s\n", table.Bytes())
	}
	all := func(findings []tunnel.Finding, of string) {
		for _, f := range findings {
			out.Add(string(f.Severity), string(f.Code)+"  "+terminal.ASCII(of), sentence(f.Why), terminal.Labelled("mend", sentence(f.Mend)))
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
			fmt.Fprintf(&out, "%s should have\n  proxyAgent:\n    additionalArgs: [%s]\n\n", terminal.ASCII(c.Object), terminal.ASCII(strings.Join(c.AdditionalArgs, ", ")))
		}
	}
	for _, note := range report.Notes {
		fmt.Fprint(&out, s.Notes([]string{terminal.ASCII(note)}))
	}
	out.Total()
	return out.Bytes()
}

// sentence is terminal.ASCII with the quotes that a sentence has.
func sentence(text string) string { return strings.ReplaceAll(terminal.ASCII(text), `\"`, `"`) }
