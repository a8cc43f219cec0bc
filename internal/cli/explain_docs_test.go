package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/cli"
)

// The published example is explained for hosts that clients disagree about.
var publishedURLs = []string{"kubernetes.default.svc", "foo.svc.cluster.local", "100.64.0.1", "10.1.2.3", "sub.example.com", "example.com.", "[::1]"}

// published runs fairlead explain from the root of the repository.
func published(t *testing.T, form, output string, urls ...string) string {
	t.Helper()
	arguments := append([]string{"explain"}, urls...)
	arguments = append(arguments, "--values", "examples/secret-values.yaml", "--cluster", "examples/cluster.yaml", "--form", form, "-o", output)
	var out, warnings bytes.Buffer
	if status := cli.Run(arguments, strings.NewReader(""), &out, &warnings); status > 1 || warnings.Len() > 0 {
		t.Fatalf("status %d: %s", status, &warnings)
	}
	return out.String()
}

type explained struct {
	URL       string
	Agree     bool
	Decisions []struct{ Client, Decision string }
}

func publishedData(t *testing.T, form string) []explained {
	t.Helper()
	var all []explained
	if err := json.Unmarshal([]byte(published(t, form, "json", publishedURLs...)), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// counts is "20 direct, 10 proxy", in bold where clients disagree.
func (e explained) counts() string {
	var parts []string
	for _, decision := range []string{"direct", "proxy", "fails"} {
		n := 0
		for _, d := range e.Decisions {
			if d.Decision == decision {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, decision))
		}
	}
	if !e.Agree {
		return "**" + strings.Join(parts, ", ") + "**"
	}
	return strings.Join(parts, ", ")
}

// compareForms returns a row for each URL, a column for each form.
func compareForms(t *testing.T) string {
	t.Helper()
	exact, portable := publishedData(t, "Exact"), publishedData(t, "Portable/v3")
	text := "| URL | `Exact` | `Portable/v3` |\n| --- | --- | --- |\n"
	for i, e := range exact {
		text += fmt.Sprintf("| `%s` | %s | %s |\n", e.URL, e.counts(), portable[i].counts())
	}
	return text
}

// Run with UPDATE=1 to write the blocks anew.
func TestTheDocumentsShowWhatExplainPrints(t *testing.T) {
	t.Chdir("../..")
	for _, block := range []struct{ file, name, text string }{
		{"docs/explanation/why-no-proxy-is-hard.md", "forms", compareForms(t)},
	} {
		content, err := os.ReadFile(block.file)
		if err != nil {
			t.Fatal(err)
		}
		begin, end := "<!-- explain "+block.name+": UPDATE=1 go test ./internal/cli -->\n", "<!-- end -->"
		before, rest, opened := strings.Cut(string(content), begin)
		old, after, closed := strings.Cut(rest, end)
		switch {
		case !opened || !closed:
			t.Errorf("%s has no block %q", block.file, begin)
		case old == block.text:
		case os.Getenv("UPDATE") == "1":
			written := before + begin + block.text + end + after
			if err := os.WriteFile(block.file, []byte(written), 0o600); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("%s: the block %q is out of date: run UPDATE=1 go test ./internal/cli", block.file, block.name)
		}
	}
}
