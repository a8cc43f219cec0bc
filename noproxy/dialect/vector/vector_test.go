package vector_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/noproxy/dialect"
	"github.com/fairlead-io/fairlead/noproxy/dialect/vector"
)

// The table holds what real clients did. Every dialect gives the same answers.
func TestEveryDialectAnswersAsItsClientWasMeasured(t *testing.T) {
	files, err := filepath.Glob("table/*.json")
	if err != nil || len(files) < 43 {
		t.Fatalf("the table has %d files: are some missing? (%v)", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := vector.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			for i, row := range rows {
				got, decision, err := row.Got()
				if err != nil {
					t.Fatalf("row %d: %v", i+1, err)
				}
				if got != row.Want() {
					t.Errorf("row %d: %s@%s: %s with %s: %s, measured %s (%s, %q)",
						i+1, row.Client, row.Version, row.URL, question(row), got, row.Want(), decision.Reason, decision.Variable)
				}
			}
		})
	}
}

// The versions that are listed as measured are those with measured rows in the
// table.
func TestTheTableHasWhatIsSaidToBeMeasured(t *testing.T) {
	inTable := map[string]map[string]bool{}
	files, err := filepath.Glob("table/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := vector.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			choice, err := row.Choice()
			if err != nil {
				t.Fatal(err)
			}
			if row.Source == "measured" {
				name := choice.Client.Name
				if inTable[name] == nil {
					inTable[name] = map[string]bool{}
				}
				inTable[name][row.Version] = true
			}
		}
	}
	for _, choice := range dialect.All() {
		for _, version := range choice.Measured() {
			if !inTable[choice.Client.Name][version] {
				t.Errorf("%s %s is said to be measured, and the table has no row of it", choice.Client.Name, version)
			}
			delete(inTable[choice.Client.Name], version)
		}
	}
	for name, versions := range inTable {
		for version := range versions {
			t.Errorf("%s %s was measured, and its client does not say so", name, version)
		}
	}
}

func question(row vector.Row) string {
	if row.NoProxy != nil {
		return "noProxy " + *row.NoProxy
	}
	return "env " + row.Name
}

func TestEveryClientIsFoundByItsNames(t *testing.T) {
	seen := map[string]string{}
	for _, client := range dialect.Clients() {
		for _, name := range slices.Concat([]string{client.Name}, client.Aliases, client.Programs) {
			if other := seen[strings.ToLower(name)]; other != "" {
				t.Errorf("%q is both %s and %s", name, other, client.Name)
			}
			seen[strings.ToLower(name)] = client.Name
			if found, err := dialect.Find(name); err != nil || found.Name != client.Name {
				t.Errorf("Find(%q) = %v, %v", name, found, err)
			}
		}
	}
}
