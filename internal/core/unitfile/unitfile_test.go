package unitfile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/unitfile"
)

// What systemd does with each is held against it in e2e/judges.
func TestLinesEndJoinAndBeginAsSystemdReadsThem(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string // behind the section
	}{
		"a byte order mark":                {"\ufeff[Service]\nA=b", []string{"2 A b"}},
		"ends of Windows":                  {"[Service]\r\nA=b \\\r\nc\r\nD=e\r\n", []string{"2 A b  c", "4 D e"}},
		"ends of old systems":              {"[Service]\rA=b\rC=d", []string{"2 A b", "3 C d"}},
		"an escaped backslash at the end":  {"[Service]\nA=b\\\\\nC=d", []string{`2 A b\\`, "3 C d"}},
		"one more":                         {"[Service]\nA=b\\\\\\\nC=d", []string{`2 A b\\ C=d`}},
		"a comment between":                {"[Service]\nA=b \\\n # c\nd\nE=f", []string{"2 A b  d", "5 E f"}},
		"an empty line ends what is begun": {"[Service]\nA=b \\\n\nC=d", []string{"2 A b", "4 C d"}},
		"the file ends instead":            {"[Service]\nA=b \\", []string{"2 A b"}},
		"a blank that is none to systemd":  {"[Service]\nA=b\u00a0", []string{"2 A b\u00a0"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, l := range unitfile.Lines([]byte(test.text)) {
				if l.Section != unitfile.Service {
					t.Errorf("line %d is of section %q", l.Number, l.Section)
				}
				got = append(got, strings.Join([]string{string(rune('0' + l.Number)), l.Key, l.Value}, " "))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFilesOfVariablesAreReadAsSystemdDoes(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []unitfile.Assignment
	}{
		"blanks around":          {"  A = b \nC\t=d", []unitfile.Assignment{{Line: 1, Name: "A", Value: "b", Raw: " b \n"}, {Line: 2, Name: "C", Value: "d", Raw: "d"}}},
		"quotes side by side":    {`A="b,""c" 'd' e "f"`, []unitfile.Assignment{{Line: 1, Name: "A", Value: `b,cde "f"`, Raw: `"b,""c" 'd' e "f"`}}},
		"lines within quotes":    {"A=\"b\nc\"\nD=e", []unitfile.Assignment{{Line: 1, Name: "A", Value: "b\nc", Raw: "\"b\nc\"\n"}, {Line: 3, Name: "D", Value: "e", Raw: "e"}}},
		"escapes":                {`A="b\"\x\\\$"` + "\nC=d\\\\\nE='f\\'", []unitfile.Assignment{{Line: 1, Name: "A", Value: `b"\x\$`, Raw: `"b\"\x\\\$"` + "\n"}, {Line: 2, Name: "C", Value: `d\`, Raw: "d\\\\\n"}, {Line: 3, Name: "E", Value: `f\`, Raw: `'f\'`}}},
		"ends of Windows":        {"A=b\r\nC=d\r\n", []unitfile.Assignment{{Line: 1, Name: "A", Value: "b", Raw: "b\r"}, {Line: 2, Name: "C", Value: "d", Raw: "d\r"}}},
		"a byte order mark":      {"\ufeffA=b\nC=d", []unitfile.Assignment{{Line: 1, Raw: "\ufeffA=b\n"}, {Line: 2, Name: "C", Value: "d", Raw: "d"}}},
		"an export":              {"export A=b", []unitfile.Assignment{{Line: 1, Name: "A", Value: "b", Raw: "b", Exported: true}}},
		"no assignment":          {"; c\nA\n#D=e\nA B=c", []unitfile.Assignment{{Line: 2, Raw: "A"}, {Line: 4, Raw: "A B=c"}}},
		"a value that goes on":   {"A=b \\\n c \n", []unitfile.Assignment{{Line: 1, Name: "A", Value: "b  c", Raw: "b \\\n c \n"}}},
		"a quote that is open":   {"A=\"b\nC=d", []unitfile.Assignment{{Line: 1, Name: "A", Value: "b\nC=d", Raw: "\"b\nC=d"}}},
		"a backslash at the end": {"A=b\\", []unitfile.Assignment{{Line: 1, Name: "A", Value: "b", Raw: "b\\"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, unitfile.Assignments([]byte(test.text))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func BenchmarkLinesThatContinue(b *testing.B) {
	text := []byte("[Service]\nEnvironment=\\\n" + strings.Repeat("NO_PROXY=a.example \\\n", 100_000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		unitfile.Lines(text)
	}
}
