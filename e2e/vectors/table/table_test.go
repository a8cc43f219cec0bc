package table_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/vectors/table"
)

const (
	sorted = `[
{"client": "curl", "version": "1.2", "noProxy": "<a>, b:c", "url": "http://a/", "expect": "direct", "source": "measured", "group": "one"},
{"client": "curl", "version": "1.2", "noProxy": null, "url": "http://b/", "expect": "proxy", "source": "measured", "group": "two"},
{"client": "curl", "version": "1.2", "name": "both", "env": {"http_proxy": "\"x\\\", y", "HTTP_PROXY": ":,"}, "url": "http://a/", "observed": "direct", "source": "measured"}
]
`
	stranger = `[
{"client": "wget", "version": "1", "noProxy": "a", "url": "http://a/", "expect": "direct", "source": "measured", "group": "one"}
]
`
)

func tableOf(t *testing.T) (string, *table.Table) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"curl-1.2.json": sorted, "wget-1.json": stranger} {
		controlplanetest.Require(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	read, err := table.Read(dir)
	controlplanetest.Require(t, err)
	return dir, read
}

func content(t *testing.T, path string) string {
	t.Helper()
	return string(controlplanetest.ReadFile(t, path))
}

func text(value string) json.RawMessage { return json.RawMessage(value) }

func TestTheSameAnswersMakeNoDifference(t *testing.T) {
	dir, read := tableOf(t)
	var rows []table.Row
	answers := map[string]string{"one": "direct", "two": "proxy", "": "direct"}
	for _, question := range read.Questions(func(name string) bool { return name == "curl" }) {
		rows = append(rows, question.Answered("curl", "1.2", answers[question.Group]))
	}
	if len(rows) != 3 {
		t.Fatalf("%d questions", len(rows))
	}
	if changes := read.Merge("curl", "1.2", rows); len(changes) > 0 {
		t.Error(changes)
	}
	controlplanetest.Require(t, read.Write())
	if diff := cmp.Diff(sorted, content(t, filepath.Join(dir, "curl-1.2.json"))); diff != "" {
		t.Error(diff)
	}
}

func TestNewAnswersReplaceThoseOfTheSameQuestion(t *testing.T) {
	dir, read := tableOf(t)
	changes := read.Merge("curl", "1.2", []table.Row{
		table.Row{NoProxy: text(`"<a>, b:c"`), URL: "http://a/", Group: "another"}.Answered("curl", "1.2", "proxy"),
		table.Row{Env: text(`{"HTTP_PROXY":":,","http_proxy":"\"x\\\", y"}`), URL: "http://a/", Name: "other"}.Answered("curl", "1.2", "error"),
		table.Row{NoProxy: text(`""`), URL: "http://a/", Group: "two"}.Answered("curl", "1.2", "fails"),
	})
	if len(changes) != 2 {
		t.Errorf("changes: %v", changes)
	}
	of := table.Row{NoProxy: text(`"a"`), URL: "http://a/", Group: "one"}.Answered("curl(lib)", "2.0 (x y)", "proxy")
	if changes := read.Merge("curl(lib)", "2.0 (x y)", []table.Row{of}); len(changes) > 0 {
		t.Errorf("changes of another version: %v", changes)
	}
	controlplanetest.Require(t, read.Write())
	want := `[
{"client": "curl", "version": "1.2", "noProxy": "<a>, b:c", "url": "http://a/", "expect": "proxy", "source": "measured", "group": "one"},
{"client": "curl", "version": "1.2", "noProxy": "", "url": "http://a/", "expect": "fails", "source": "measured", "group": "two"},
{"client": "curl", "version": "1.2", "noProxy": null, "url": "http://b/", "expect": "proxy", "source": "measured", "group": "two"},
{"client": "curl", "version": "1.2", "name": "both", "env": {"http_proxy": "\"x\\\", y", "HTTP_PROXY": ":,"}, "url": "http://a/", "observed": "error", "source": "measured"}
]
`
	if diff := cmp.Diff(want, content(t, filepath.Join(dir, "curl-1.2.json"))); diff != "" {
		t.Error(diff)
	}
	if got := content(t, filepath.Join(dir, "wget-1.json")); got != stranger {
		t.Errorf("the file of another client changed:\n%s", got)
	}
	content(t, filepath.Join(dir, "curl-2.0-x-y.json")) // another version has its own
}

// What people edit by hand is read before a measurement needs it.
func TestQuestionsCanBeRead(t *testing.T) {
	questions, err := table.ReadQuestions("../questions.json")
	controlplanetest.Require(t, err)
	java := func(row table.Row) bool { return row.Client != "" } // its questions are of another kind
	for _, of := range [][]table.Row{
		slices.DeleteFunc(slices.Clone(questions), java),
		slices.DeleteFunc(slices.Clone(questions), func(row table.Row) bool { return !java(row) }),
	} {
		if distinct := table.Distinct(slices.Clone(of)); len(distinct) != len(of) {
			t.Errorf("%d of %d questions are there twice", len(of)-len(distinct), len(of))
		}
	}
}
