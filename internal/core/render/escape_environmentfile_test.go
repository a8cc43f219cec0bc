package render

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestEveryAssignmentIsEscapedExactlyAsTheReaderOfEnvironmentFilesUndoesIt(t *testing.T) {
	for name, test := range map[string]struct{ value, want string }{
		"nothing":           {"", `V=""`},
		"blanks":            {" a, b ", `V=" a, b "`},
		"a percent sign":    {"p%40ss%n", `V="p%40ss%n"`},
		"a backslash":       {`DOM\user\`, `V="DOM\\user\\"`},
		"a double quote":    {`a"b`, `V="a\"b"`},
		"a single quote":    {`it's`, `V="it's"`},
		"a dollar":          {"$HOME$", `V="\$HOME\$"`},
		"a grave accent":    {"`id`", "V=\"\\`id\\`\""},
		"a comment":         {"#a ;b", `V="#a ;b"`},
		"a line end":        {"a\nB=b\r\n", "V=\"a\nB=b\r\n\""},
		"UTF-8":             {"é€😀", `V="é€😀"`},
		"jinja":             {"{{ x }}{% x %}{#", `V="{""{"" x }}{""% x %}{""#"`},
		"a brace at an end": {"{", `V="{"""`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := environmentFileAssignment("V", test.value)
			if err != nil || got != test.want {
				t.Errorf("got  %s (%v)\nwant %s", got, err, test.want)
			}
			checkReadBackFromFile(t, "V", test.value, got)
		})
	}
}

// checkReadBackFromFile is the invariant: the value comes back, and what stands
// before and behind it is not touched; jinja finds nothing to start.
func checkReadBackFromFile(tb failer, name, value, assignment string) {
	tb.Helper()
	if jinjaStart.MatchString(assignment) {
		tb.Fatalf("%q starts something in jinja", assignment)
	}
	got, err := readEnvironmentFile("BEFORE=\"1\"\n" + assignment + "\nAFTER=\"1\"\n")
	if err != nil {
		tb.Fatalf("cannot read %s: %v", assignment, err)
	}
	if diff := cmp.Diff(map[string]string{"BEFORE": "1", name: value, "AFTER": "1"}, got); diff != "" {
		tb.Fatalf("%s is read otherwise:\n%s", assignment, diff)
	}
}

// readEnvironmentFile reads what environmentFileAssignment may write, by the
// rules of systemd.exec(5), "EnvironmentFile="; the real reader is asked in
// TestSystemdReadsEveryValueOfAnEnvironmentFileAsItWasMeant.
func readEnvironmentFile(text string) (map[string]string, error) {
	environment := map[string]string{}
	for text != "" {
		name, rest, ok := strings.Cut(text, "=")
		if !ok || !variableName.MatchString(name) {
			return nil, fmt.Errorf("%.40q is no assignment", text)
		}
		var value strings.Builder
		for strings.HasPrefix(rest, `"`) {
			quoted, after, err := readQuoted(rest[1:])
			if err != nil {
				return nil, err
			}
			value.WriteString(quoted)
			rest = after
		}
		if !strings.HasPrefix(rest, "\n") {
			return nil, fmt.Errorf("something follows the quotes: %.40q", rest)
		}
		environment[name], text = value.String(), rest[1:]
	}
	return environment, nil
}

func readQuoted(text string) (value, rest string, err error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), text[i+1:], nil
		case c == '\\' && i+1 < len(text) && strings.IndexByte("\"\\`$", text[i+1]) >= 0:
			i++
			b.WriteByte(text[i])
		case c == '\\' && i+1 < len(text) && text[i+1] == '\n':
			i++
		default:
			b.WriteByte(c)
		}
	}
	return "", "", errors.New("a quote is not closed")
}

func TestAnyValueComesBackFromAnEnvironmentFile(t *testing.T) {
	piece := rapid.OneOf(rapid.String(), rapid.SampledFrom(nastyPieces))
	rapid.Check(t, func(t *rapid.T) {
		value := strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces"), "")
		assignment, err := environmentFileAssignment("V", value)
		if (err == nil) != carriable(value) {
			t.Fatalf("%q: %v", value, err)
		}
		if err == nil {
			checkReadBackFromFile(t, "V", value, assignment)
		}
	})
}

func FuzzEnvironmentFileAssignment(f *testing.F) {
	for _, piece := range nastyPieces {
		f.Add(piece)
	}
	f.Add(strings.Join(nastyPieces, "") + "\xff")
	f.Fuzz(func(t *testing.T, value string) {
		assignment, err := environmentFileAssignment("V", value)
		if (err == nil) != carriable(value) {
			t.Fatalf("%q: %v", value, err)
		}
		if err == nil {
			checkReadBackFromFile(t, "V", value, assignment)
		}
	})
}

// systemd's generator for environment.d has the reader of EnvironmentFile= in it
// (src/basic/env-file.c), and prints what it has read, quoted as shells read it.
// It expands variables afterwards, which EnvironmentFile= does not, so a $ is
// doubled for it.
func TestSystemdReadsEveryValueOfAnEnvironmentFileAsItWasMeant(t *testing.T) {
	const generator = "/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator"
	if _, err := os.Stat(generator); err != nil {
		without(t, "there is no systemd here: the escaping was not held against the real one")
	}
	want := map[string]string{}
	var file strings.Builder
	for i, value := range nastyValues() {
		name := fmt.Sprintf("V%d", i)
		assignment, err := environmentFileAssignment(name, value)
		if err != nil {
			t.Fatal(err)
		}
		want[name] = value
		file.WriteString(strings.ReplaceAll(assignment, `\$`, `\$\$`) + "\n")
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "environment.d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "environment.d", "test.conf"), []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(generator)
	cmd.Env = []string{"XDG_CONFIG_HOME=" + dir, "HOME=" + dir, "LC_ALL=C.UTF-8"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if want[name] != "" || text != "" { // not those of the machine's own environment.d
			got[name] = unquoteShell(t, text)
		}
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%.100q: systemd has %.120q", value, got[name])
		}
	}
	if len(want) < 500 {
		t.Errorf("only %d values", len(want))
	}
}

// unquoteShell undoes shell_maybe_quote of src/basic/escape.c: C escapes, and
// those of shells, inside double quotes.
func unquoteShell(t *testing.T, text string) string {
	t.Helper()
	quoted, ok := strings.CutPrefix(text, `"`)
	if !ok {
		return text
	}
	var b strings.Builder
	quoted = strings.TrimSuffix(quoted, `"`)
	for i := 0; i < len(quoted); i++ {
		if quoted[i] != '\\' {
			b.WriteByte(quoted[i])
			continue
		}
		i++
		if strings.IndexByte("$`", quoted[i]) >= 0 {
			b.WriteByte(quoted[i])
			continue
		}
		character, length, err := undoEscape(quoted[i:])
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		b.WriteString(character)
		i += length - 1
	}
	return b.String()
}
