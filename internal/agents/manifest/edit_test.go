package manifest

import (
	"bytes"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parsed(t *testing.T, text []byte) any {
	t.Helper()
	value, err := Parse(text)
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return value
}

func newWriter(seed int64) *writer {
	return &writer{Rand: rand.New(rand.NewSource(seed)), dash: 2 * int(seed&1)}
}

func equal(a, b any) bool { return cmp.Equal(a, b) }

func TestWhatAnEditedDocumentSaysIsWhatItWasToSay(t *testing.T) {
	spliced := 0
	const rounds = 5000
	for seed := range int64(rounds) {
		w := newWriter(seed)
		value := w.object(4)
		value["kind"] = "X"
		text := []byte(w.text(value))
		have := parsed(t, text)
		if diff := cmp.Diff(any(value), have); diff != "" {
			t.Fatalf("seed %d: the test writes something else (-want +got):\n%s\n%s", seed, diff, text)
		}
		want := w.changed(have, false)
		edited, err := Edit(text, want)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		if diff := cmp.Diff(want, parsed(t, edited)); diff != "" {
			t.Fatalf("seed %d: (-want +got):\n%s\n%s\n---\n%s", seed, diff, text, edited)
		}
		if direct, err := splice(text, want); err == nil && bytes.Equal(direct, edited) {
			spliced++
		}
	}
	if spliced < rounds*98/100 {
		t.Errorf("only %d of %d were changed in place", spliced, rounds)
	}
}

// Where something is added, and nothing else: every line is still there, in its order, but for lines with brackets,
// in which something may be added.
func TestAdditionsLeaveEveryLineAsItIs(t *testing.T) {
	for seed := range int64(5000) {
		w := newWriter(seed)
		value := w.object(4)
		value["kind"] = "X"
		text := []byte(w.text(value))
		have := parsed(t, text)
		want := w.changed(have, true)
		edited, err := Edit(text, want)
		if err != nil {
			t.Fatal(err)
		}
		if equal(have, want) && !bytes.Equal(edited, text) {
			t.Fatalf("seed %d: nothing was to be changed:\n%s\n---\n%s", seed, text, edited)
		}
		rest := edited
		for line := range bytes.Lines(text) {
			line = bytes.TrimRight(line, "\r\n")
			if bytes.ContainsAny(line, "[{") {
				continue
			}
			at := -1
			for offset := 0; offset < len(rest); {
				next := bytes.IndexByte(rest[offset:], '\n') + 1
				if next == 0 {
					next = len(rest) - offset
				}
				if bytes.Equal(bytes.TrimRight(rest[offset:offset+next], "\r\n"), line) {
					at = offset + next
					break
				}
				offset += next
			}
			if at < 0 {
				t.Fatalf("seed %d: the line %q is gone or moved:\n%s\n---\n%s", seed, line, text, edited)
			}
			rest = rest[at:]
		}
		if bytes.Contains(text, []byte("\r\n")) && strings.Contains(strings.ReplaceAll(string(edited), "\r\n", ""), "\n") {
			t.Fatalf("seed %d: a line ends without CR:\n%q", seed, edited)
		}
	}
}

// added puts a variable into the environment of the first container.
func added(value any) any {
	object := value.(map[string]any)                                                       //nolint:forcetypeassert // of the test
	container := object["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any) //nolint:forcetypeassert // of the test
	env, _ := container["env"].([]any)
	container["env"] = append(env, map[string]any{"name": "A", "value": "b"})
	return object
}

func TestAnEditKeepsWhatPeopleWrote(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"comments, quotes and blank lines": {
			"# head\nspec: # of it\n  containers:\n\n  # the agent\n  - name: 'x'   # quoted\n\n    env:\n    # one\n    - name: \"B\"\n      value: c\n    # end\n",
			"# head\nspec: # of it\n  containers:\n\n  # the agent\n  - name: 'x'   # quoted\n\n    env:\n    # one\n    - name: \"B\"\n      value: c\n    - name: A\n      value: b\n    # end\n",
		},
		"sequences indented": {
			"spec:\n    containers:\n        -   name: x\n            env: [] # none\n",
			"spec:\n    containers:\n        -   name: x\n            env: # none\n                - name: A\n                  value: b\n",
		},
		"CRLF, and no end": {
			"spec:\r\n  containers:\r\n  - name: x",
			"spec:\r\n  containers:\r\n  - name: x\r\n    env:\r\n    - name: A\r\n      value: b",
		},
		"brackets":     {"spec: {containers: [{name: x}]} # it\n", "spec: {containers: [{name: x, env: [{name: A, value: b}]}]} # it\n"},
		"compact JSON": {`{"spec":{"containers":[{"name":"x"}]}}`, `{"spec":{"containers":[{"name":"x","env":[{"name":"A","value":"b"}]}]}}`},
		"JSON in lines": {
			"{\n\t\"spec\": {\n\t\t\"containers\": [\n\t\t\t{\n\t\t\t\t\"name\": \"x\"\n\t\t\t}\n\t\t]\n\t}\n}\n",
			"{\n\t\"spec\": {\n\t\t\"containers\": [\n\t\t\t{\n\t\t\t\t\"name\": \"x\",\n\t\t\t\t\"env\": [\n\t\t\t\t\t{\n\t\t\t\t\t\t\"name\": \"A\",\n\t\t\t\t\t\t\"value\": \"b\"\n\t\t\t\t\t}\n\t\t\t\t]\n\t\t\t}\n\t\t]\n\t}\n}\n",
		},
		"a text at the end": {
			"spec:\n  containers:\n  - name: x\n    args:\n    - |\n      # not a comment\n\n      go\n\n# after\n",
			"spec:\n  containers:\n  - name: x\n    args:\n    - |\n      # not a comment\n\n      go\n    env:\n    - name: A\n      value: b\n\n# after\n",
		},
		"a text with its indentation in numbers": {
			"spec:\n  containers:\n  - name: x\n    args:\n    - |2\n\n        a\n      go\n\n# after\n",
			"spec:\n  containers:\n  - name: x\n    args:\n    - |2\n\n        a\n      go\n    env:\n    - name: A\n      value: b\n\n# after\n",
		},
		"a byte order mark": {
			"\ufeff# head\r\nspec:\r\n  containers:\r\n  - name: x\r\n",
			"\ufeff# head\r\nspec:\r\n  containers:\r\n  - name: x\r\n    env:\r\n    - name: A\r\n      value: b\r\n",
		},
		"a key that occurs twice, below a separator with a comment": {
			"--- # head\nspec: {}\nspec:\n  containers:\n  - name: x\n",
			"--- # head\nspec:\n  containers:\n  - name: x\n    env:\n    - name: A\n      value: b\n",
		},
		"a key that occurs twice, beside the separator": {
			"# head\n--- {a: 1, a: 2, spec: {containers: [{name: x}]}}\n",
			"# head\n---\na: 2\nspec:\n  containers:\n  - name: x\n    env:\n    - name: A\n      value: b\n",
		},
		"a list whose key occurs twice, at first without it": {
			"spec:\n  containers:\n  - name: x\n    env:\n    image: i\n    env:\n    - name: B\n",
			"spec:\n  containers:\n  - name: x\n    env:\n    - name: B\n    - name: A\n      value: b\n    image: i\n",
		},
		"an anchor elsewhere": {
			"metadata: {labels: &l {a: b}}\nspec:\n  containers:\n  - {name: x}\n  selector: *l\n",
			"metadata: {labels: &l {a: b}}\nspec:\n  containers:\n  - {name: x, env: [{name: A, value: b}]}\n  selector: *l\n",
		},
		"an alias would say it, too: written anew": {
			"spec:\n  containers: &c\n  - name: x\nother: *c\n",
			"other:\n- name: x\nspec:\n  containers:\n  - name: x\n    env:\n    - name: A\n      value: b\n",
		},
		"an alias in the way: written anew": {
			"# head\nx: &e [{name: B}]\nspec:\n  containers:\n  - env: *e # why\n",
			"# head\nspec:\n  containers:\n  - env:\n    - name: B\n    - name: A\n      value: b\nx:\n- name: B\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Edit([]byte(c.text), added(parsed(t, []byte(c.text))))
			if err != nil || string(got) != c.want {
				t.Errorf("%v (-want +got):\n%s", err, cmp.Diff(c.want, string(got)))
			}
		})
	}
}

// The parser reads the first of them alone: what follows would be lost where the document is written anew.
func TestADocumentWithMoreBehindItsEndIsRefused(t *testing.T) {
	for _, text := range []string{
		"spec: {containers: [{name: x}]}\n...\nb: 2\n",
		"spec: {containers: [{name: x, name: x}]}\n...\nb: 2\n",
		"spec: {containers: [{name: x}]}\r---\rb: 2\r",
	} {
		if got, err := Edit([]byte(text), added(parsed(t, []byte(text)))); err == nil {
			t.Errorf("%q became %q", text, got)
		}
	}
	const text = "spec: {containers: [{name: x}]}\n...\n# the end\n"
	if _, err := Edit([]byte(text), added(parsed(t, []byte(text)))); err != nil {
		t.Error(err)
	}
}
