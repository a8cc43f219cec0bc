package render

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestEveryAssignmentIsEscapedExactlyAsSystemdUndoesIt(t *testing.T) {
	for name, test := range map[string]struct{ value, want string }{
		"nothing":                 {"", `"V="`},
		"plain":                   {"http://proxy:3128", `"V=http://proxy:3128"`},
		"blanks":                  {" a, b ", `"V= a, b "`},
		"a percent sign":          {"p%40ss", `"V=p%%40ss"`},
		"a last percent sign":     {"100%", `"V=100%%"`},
		"two percent signs":       {"%%", `"V=%%%%"`},
		"a backslash":             {`DOM\user`, `"V=DOM\\user"`},
		"a last backslash":        {`a\`, `"V=a\\"`},
		"a backslash and percent": {`\%n`, `"V=\\%%n"`},
		"a double quote":          {`a"b`, `"V=a\"b"`},
		"a single quote":          {`it's`, `"V=it's"`},
		"what a shell expands":    {"$HOME $X $$ `id`", "\"V=$HOME $X $$ `id`\""},
		"what starts a comment":   {"#a ;b", `"V=#a ;b"`},
		"a newline":               {"a\nb", `"V=a\x0ab"`},
		"a carriage return":       {"a\r", `"V=a\x0d"`},
		"a tab":                   {"\ta", `"V=\x09a"`},
		"an escape character":     {"\x1b[0m", `"V=\x1b[0m"`},
		"a DEL":                   {"\x7f", `"V=\x7f"`},
		"a digit after a control": {"\x011", `"V=\x011"`},
		"UTF-8":                   {"é€😀", `"V=\u00e9\u20ac\U0001f600"`},
		"a C1 control":            {"\u0085", `"V=\u0085"`},
		"a digit after UTF-8":     {"é1😀a", `"V=\u00e91\U0001f600a"`},
		"jinja":                   {"{{ x }}{% x %}{# x #}", `"V=\x7b\x7b x }}\x7b%% x %%}\x7b# x #}"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := systemdAssignment("V", test.value)
			if err != nil || got != test.want {
				t.Errorf("got  %s (%v)\nwant %s", got, err, test.want)
			}
			checkReadBack(t, "V", test.value, got)
		})
	}
}

// checkReadBack is the invariant: what is written is one line, and systemd
// reads exactly the value from it, and nothing else.
func checkReadBack(tb failer, name, value, assignment string) {
	tb.Helper()
	if strings.ContainsFunc(assignment, func(r rune) bool { return r < ' ' || r > '~' }) || strings.Contains(assignment, "{") {
		tb.Fatalf("%q is not printable ASCII without braces", assignment)
	}
	unit := "[Service]\nEnvironment=\"BEFORE=1\"\nEnvironment=" + assignment + "\nEnvironment=\"AFTER=1\"\n"
	got, err := readUnit(unit)
	if err != nil {
		tb.Fatalf("systemd cannot read %s: %v", assignment, err)
	}
	if diff := cmp.Diff(map[string]string{"BEFORE": "1", name: value, "AFTER": "1"}, got); diff != "" {
		tb.Fatalf("systemd reads %s otherwise:\n%s", assignment, diff)
	}
}

func TestAnyValueComesBackFromTheUnitFile(t *testing.T) {
	piece := rapid.OneOf(rapid.String(), rapid.SampledFrom(nastyPieces))
	rapid.Check(t, func(t *rapid.T) {
		value := strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces"), "")
		assignment, err := systemdAssignment("V", value)
		if err != nil {
			if carriable(value) {
				t.Fatalf("%q is refused: %v", value, err)
			}
			return
		}
		checkReadBack(t, "V", value, assignment)
	})
}

// carriable tells what systemdAssignment and environmentFileAssignment promise to write.
func carriable(value string) bool {
	return utf8.ValidString(value) && !strings.ContainsFunc(value, isNoncharacter) && !strings.Contains(value, "\x00") && len(value) <= MaxNoProxyBytes
}

func FuzzSystemdAssignment(f *testing.F) {
	for _, piece := range nastyPieces {
		f.Add(piece)
	}
	f.Add(strings.Join(nastyPieces, ""))
	f.Add("\xff")
	f.Add("\x00")
	f.Fuzz(func(t *testing.T, value string) {
		assignment, err := systemdAssignment("V", value)
		if (err == nil) != carriable(value) {
			t.Fatalf("%q: %v", value, err)
		}
		if err == nil {
			checkReadBack(t, "V", value, assignment)
		}
	})
}
