package cli

import (
	"bytes"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/wiring"
)

// wiringText returns a paragraph for each object, and below what remains.
func wiringText(s terminal.Style, r wiring.Result) []byte {
	var out bytes.Buffer
	colours := map[wiring.State]string{wiring.Change: terminal.Yellow, wiring.Wired: terminal.Green, wiring.Left: ""}
	for _, o := range r.Objects {
		heading := fmt.Sprintf("%s %s: ", o.Kind, terminal.ASCII(o.Name))
		out.WriteString(s.Notes(s.Paint(colours[o.State], string(o.State)) + "  " + heading + terminal.ASCII(o.Why)))
		for _, line := range o.Diff {
			colour := ""
			if line[0] == '+' {
				colour = terminal.Green
			}
			fmt.Fprintln(&out, "  "+s.Paint(colour, terminal.ASCII(line)))
		}
		if o.Do != "" {
			out.WriteString(s.Notes("  do: " + terminal.ASCII(o.Do)))
		}
	}
	if len(r.Remains)+len(r.NotLookedAt) > 0 {
		fmt.Fprintln(&out)
	}
	for _, text := range r.Remains {
		out.WriteString(s.Notes("Remains: " + terminal.ASCII(text) + "."))
	}
	for _, text := range r.NotLookedAt {
		out.WriteString(s.Notes("Not looked at: " + terminal.ASCII(text)))
	}
	return out.Bytes()
}
