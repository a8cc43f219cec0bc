package docs_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		p, err := parsePage("page.md", begin+block+end)
		switch {
		case want == "" && (err != nil || len(p.steps) == 0):
			t.Errorf("%q: %v, %d steps", block, err, len(p.steps))
		case want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)):
			t.Errorf("%q: %v, want %s", block, err, want)
		}
	}
}

func TestAPageIsReadAsItIsWritten(t *testing.T) {
	const text = "# Page\n<!-- cluster: demo -->\n<!-- given:\na\nb\n-->\n<!-- file: x.yaml -->\n```yaml\nx: 1\n```\n" +
		"- item\n  <!-- status: 2 -->\n  ```console\n  $ c 1 \\\n  > 2\n  out\n\n  > more\n  $ d\n  ```\n<!-- not run: it is dangerous -->\n```sh\ne\n```\n"
	p, err := parsePage("page.md", text)
	want := page{file: "page.md", cluster: "demo", steps: []step{
		{line: 3, given: true, commands: []command{{text: "\na\nb\n"}}},
		{line: 8, writes: "x.yaml", text: "x: 1"},
		{line: 13, console: true, status: 2, text: "$ c 1 \\\n> 2\nout\n\n> more\n$ d", commands: []command{
			{text: "c 1 \\\n2", want: "out\n\n> more\n"}, {text: "d"},
		}},
		{line: 22, notRun: "it is dangerous", text: "e"},
	}}
	if diff := cmp.Diff(want, p, cmp.AllowUnexported(page{}, step{}, command{})); err != nil || diff != "" {
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
	sh, err := startShell(context.Background(), t.TempDir(), t.TempDir(), os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	defer sh.stop()
	if output, status, err := sh.run(ending("no-such-command --of-mine\nfalse", 1), false); err == nil {
		t.Errorf("status %d: %s", status, output)
	}
}

func TestAShellKeepsItsStateAndSaysWhatFailed(t *testing.T) {
	sh, err := startShell(context.Background(), t.TempDir(), t.TempDir(), os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	defer sh.stop()
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
