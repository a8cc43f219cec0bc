package docs_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/e2e/howto"
)

func TestABlockThatNeitherRunsNorSaysWhyNotIsRefusedByFileAndLine(t *testing.T) {
	const begin, end = "# Page\n\n", "\nkubectl delete everything\n```\n"
	for block, want := range map[string]string{
		"```":                      "page.md:3: the block has no language",
		"```bash":                  "page.md:3: bash is no language of a block: sh or console",
		"```zsh":                   "page.md:3: zsh is no language of a block: sh or console",
		"```sh title":              "page.md:3: a block begins with",
		"~~~sh":                    "page.md:3: a block begins with",
		"\t```sh":                  "page.md:3: a block begins with",
		"> ```sh":                  "page.md:3: a block begins with",
		"- ```sh":                  "page.md:3: a block begins with",
		"<!-- not run: -->\n```sh": "page.md:3: not run: it takes a reason",
		"<!-- not run: it is about something -->\nText.": "page.md:3: no block follows",
		"```console":                                     "page.md:3: a console block begins with $",
		"<!-- status: one -->\n```sh":                    "page.md:3: status: ",
		"<!-- cluster: mine -->\n```sh":                  "page.md:3: cluster is one of demo, empty",
		"<!-- given: true":                               "page.md:3: the comment does not end",
		"<!-- file: x -->\n```sh":                        "page.md:4: a block of commands is no file",
		"```yaml\n```\n\n<!-- status: 1 -->\n```yaml":    "page.md:7: a block of yaml is no command",
		"<!-- given: true -->\n<!-- cluster: demo -->":   "page.md:4: cluster is one of",
		"```sh\ntrue\n```\n```sh":                        "",
		"<!-- not run: it takes another kind -->\n```sh": "",
	} {
		p, err := howto.Parse("page.md", begin+block+end)
		switch {
		case want == "" && (err != nil || len(p.Steps) == 0):
			t.Errorf("%q: %v, %d steps", block, err, len(p.Steps))
		case want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)):
			t.Errorf("%q: %v, want %s", block, err, want)
		}
	}
}

func TestAPageIsReadAsItIsWritten(t *testing.T) {
	const text = "# Page\n<!-- cluster: demo -->\n<!-- given:\na\nb\n-->\n<!-- file: x.yaml -->\n```yaml\nx: 1\n```\n" +
		"## Part\n- item\n  <!-- status: 2 -->\n  ```console\n  $ c 1 \\\n  > 2\n  out\n\n  > more\n  $ d\n  ```\n<!-- not run: it is dangerous -->\n```sh\ne\n```\n"
	p, err := howto.Parse("page.md", text)
	want := howto.Document{File: "page.md", Cluster: "demo", Steps: []howto.Step{
		{Line: 3, Given: true, Commands: []howto.Command{{Text: "\na\nb\n"}}},
		{Line: 8, Writes: "x.yaml", Text: "x: 1"},
		{Section: "Part", Line: 14, Console: true, Status: 2, Text: "$ c 1 \\\n> 2\nout\n\n> more\n$ d", Commands: []howto.Command{
			{Text: "c 1 \\\n2", Want: "out\n\n> more\n"}, {Text: "d"},
		}},
		{Section: "Part", Line: 23, NotRun: "it is dangerous", Text: "e"},
	}}
	if diff := cmp.Diff(want, p); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestWhatAPageShowsIsComparedButForWhatVaries(t *testing.T) {
	for _, c := range []struct {
		want, got string
		same      bool
	}{
		{"a\nb\n", "a\nb\n", true},
		{"a\n", "a\nb\n", false},
		{"a\n", "xa\n", false},
		{"a\n\n", "a\n", true}, // the blank line before the next prompt
		{"", "", true},
		{"", "a\n", false},
		{"pod/… created\n", "pod/web-7f created\n", true},
		{"pod/… created\n", "pod/web-7f deleted\n", false},
		{"a\n…\nb\n", "a\n1\n2\nb\n", true},
		{"a\n…\nb\n", "a\nb\n", true},
		{"a\n…\nb\n", "a\nc\n", false},
		{"…\n", "anything\nat all\n", true},
		{"NAME   AGE\nx      5s\n", "NAME     AGE\nx        2m18s\n", true},
		{"NAME   AGE\nx      5s\n", "NAME     AGE\ny        2m18s\n", false},
		{"SINCE\n2026-11-21T04:57:11Z\n", "SINCE\n2027-01-02T03:04:05Z\n", true},
		{"SINCE\n2026-11-21T04:57:11Z\n", "SINCE\n-\n", false},
		{"  indented\n", " indented\n", false}, // YAML
		{"a.c\n", "abc\n", false},
	} {
		if shows(c.want, c.got) != c.same {
			t.Errorf("%q shows %q: not %t", c.want, c.got, c.same)
		}
	}
}

func TestOfABlockWithAStatusNoCommandFailsInAnotherWay(t *testing.T) {
	sh := startShell(t, t.TempDir(), os.Environ())
	if output, status, err := sh.run(ending("no-such-command --of-mine\nfalse", 1), false); err == nil {
		t.Errorf("status %d: %s", status, output)
	}
}

func TestAShellKeepsItsStateAndSaysWhatFailed(t *testing.T) {
	sh := startShell(t, t.TempDir(), os.Environ())
	for _, c := range []struct {
		script string
		all    bool
		output string
		status int
	}{
		{"x=1; cd /; false; true", false, "", 0},
		{"echo $x $PWD", true, "1 /\n", 0},
		{"echo out; echo err >&2; false | cat", false, "out\nerr\n", 1},
		{"cat; echo $x", true, "1\n", 0}, // nothing is on its standard input
		{ending("false; echo one; false", 1), false, "one\n", 1},
		{"echo one; false; echo two", true, "one\n", 1},
	} {
		output, status, err := sh.run(c.script, c.all)
		if output != c.output || status != c.status || (err != nil && c.status == 0) {
			t.Errorf("%s: %q, status %d, %v", c.script, output, status, err)
		}
	}
}
