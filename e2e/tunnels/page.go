package tunnels

import (
	"os"
	"strings"

	"github.com/fairlead-io/fairlead/e2e/repository"
)

const pageHeader = "| agent | way | what is set | what cannot work |\n" +
	"| --- | --- | --- | --- |\n"

// page is the file for readers.
func page() string { return repository.Path("docs", "reference", "tunnels.md") }

// show has the page say what the rows say.
func show(rows []line) error {
	before, _, after, err := split(page())
	if err != nil {
		return err
	}
	return os.WriteFile(page(), []byte(before+begin+short(rows)+end+after), 0o644)
}

// short is the table for readers: versions of which the same is true share a row, and of tests it has only whether there is one.
func short(rows []line) string {
	type same struct {
		agent, way, set, cannot string
		tested                  bool
	}
	var order []same
	versions := map[same]string{}
	for _, row := range rows {
		key := same{row.agent, row.way, row.set, row.cannot, !strings.HasPrefix(row.kyverno, notRun) || !strings.HasPrefix(row.mutate, notRun)}
		before, ok := versions[key]
		switch {
		case !ok:
			order = append(order, key)
			versions[key] = " " + row.version
		case row.version != "any":
			versions[key] = before + ", " + row.version
		}
	}
	text := pageHeader
	for _, row := range order {
		agent := row.agent + strings.TrimSuffix(versions[row], " any")
		if !row.tested {
			agent += " (not tested)"
		}
		text += "| " + strings.Join([]string{agent, row.way, row.set, row.cannot}, " | ") + " |\n"
	}
	return text
}
