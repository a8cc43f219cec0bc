package yamldoc_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/yamldoc"
)

func remarked(t *testing.T, text string) (any, []string) {
	t.Helper()
	value, found, err := yamldoc.Read[any]([]byte(text), 0, json.Unmarshal)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range found {
		all = append(all, r.In("f.yaml"))
	}
	return value, all
}

func TestWhatIsLostIsNamedWithItsLineAndWhatCounts(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"nothing":                 {"a: 1\nb: [{env: [{name: X}, {name: Y}]}]\n", nil},
		"the same in two objects": {"a: {env: [{name: X}]}\nb: {env: [{name: X}]}\n", nil},
		"a key twice":             {"spec:\n  a: 1\n  b: 2\n  a: 3\n", []string{"f.yaml:4: spec.a is set more than once: line 4 counts, and not line 2; what line 2 has is lost: write both into one"}},
		"a key three times":       {"a: 1\na: 2\na: 3\n", []string{"f.yaml:3: a is set more than once: line 3 counts, and not line 1, nor line 2; what line 1 and line 2 have is lost: write all into one"}},
		"variables twice": {
			"spec:\n  containers:\n  - env:\n    - {name: HTTPS_PROXY, value: S3CRET}\n    - {name: NO_PROXY}\n    env:\n    - {name: POD}\n",
			[]string{"f.yaml:6: spec.containers[0].env is set more than once: line 6 counts, and not line 3 with HTTPS_PROXY, NO_PROXY; what line 3 has is lost: write both into one"},
		},
		"JSON":                       {`{"a": {"env": [], "env": [{"name": "X"}]}}`, []string{"f.yaml:1: a.env is set more than once: line 1, column 19 counts, and not line 1, column 8; what line 1, column 8 has is lost: write both into one"}},
		"one variable twice":         {"env:\n- name: HTTPS_PROXY\n  value: S3CRET\n- name: HTTPS_PROXY\n", []string{"f.yaml:4: env has the variable HTTPS_PROXY more than once: line 4 counts, and not line 2; what line 2 has is lost: keep one"}},
		"a variable twice in a line": {"env: [{name: A}, {name: A}]\n", []string{"f.yaml:1: env has the variable A more than once: line 1, column 18 counts, and not line 1, column 7; what line 1, column 7 has is lost: keep one"}},
		"a text over a merge":        {"x: &x {image: a, env: [{name: A}]}\ny:\n  <<: *x\n  image: b\n", nil},
		"a list over a merge":        {"x: &x\n  env: [{name: A}]\ny:\n  <<: *x\n  env: [{name: B}]\n", []string{"f.yaml:5: y.env is set more than once: line 5 counts, and not line 2 (merged by <<) with A; what line 2 has is lost: write both into one"}},
		"a merge over a text":        {"x: &x\n  image: a\ny:\n  image: b\n  <<: *x\n", []string{"f.yaml:2: y.image is set more than once: line 2 (merged by <<) counts, and not line 4; what line 4 has is lost: write both into one"}},
		"two merges":                 {"x: &x\n  env: [{name: A}]\ny: &y\n  env: [{name: B}]\nz:\n  <<: [*x, *y]\n", []string{"f.yaml:2: z.env is set more than once: line 2 (merged by <<) counts, and not line 4 (merged by <<) with B; what line 4 has is lost: write both into one"}},
		"what may be a secret":       {"a: {\"me:S3CRET\": 1, \"me:S3CRET\": 2}\n", []string{"f.yaml:1: a.(a key) is set more than once: line 1, column 21 counts, and not line 1, column 5; what line 1, column 5 has is lost: write both into one"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := remarked(t, test.text)
			if !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
			if strings.Contains(fmt.Sprint(got), "S3CRET") {
				t.Error("shows a value")
			}
		})
	}
}

func TestLinesAreCountedFromTheTopOfTheFile(t *testing.T) {
	_, found, err := yamldoc.Read[any]([]byte("a: 1\na: 2\n"), 10, json.Unmarshal)
	if err != nil || len(found) != 1 || found[0].In("f.yaml") != "f.yaml:12: a is set more than once: line 12 counts, and not line 11; what line 11 has is lost: write both into one" {
		t.Errorf("%+v (%v)", found, err)
	}
}

// Each value is the line that it stands in, so that the value that was read says which line counts.
func TestWhatIsSaidToCountIsWhatKubectlReads(t *testing.T) {
	counts := regexp.MustCompile(`: v\.k is set more than once: line (\d+) `)
	checked := 0
	for pattern := range 4 * 4 * 4 * 4 {
		text := "a: &a\n  k: [2]\nb: &b\n  k: [4]\nc: &c\n  <<: *a\n  k: [7]\nv:\n"
		for p, i := pattern, 0; i < 4; i, p = i+1, p/4 {
			if p%4 == 0 {
				text += fmt.Sprintf("  k: [%d]\n", 9+i)
			} else {
				text += fmt.Sprintf("  <<: *%c\n", "abc"[p%4-1])
			}
		}
		value, said := remarked(t, text)
		read := strings.Trim(fmt.Sprint(value.(map[string]any)["v"].(map[string]any)["k"]), "[]")
		if found := counts.FindStringSubmatch(strings.Join(said, "\n")); found != nil {
			if checked++; found[1] != read {
				t.Errorf("%s\nis read as line %s, said is %q", text, read, said)
			}
		}
	}
	if checked < 200 {
		t.Errorf("only %d texts have a remark", checked)
	}
}
