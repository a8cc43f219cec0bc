package render

import (
	"bytes"
	"fmt"
	"math/rand"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/templates/systemd"
)

// nastyPieces are texts that went wrong somewhere: in one of systemd's stages,
// a shell, a template or YAML.
var nastyPieces = []string{
	"", " ", "  a  ", "\t", "\n", "\r\n", "%", "%%", "%40", "%n", "%h", "%u", "%i", "%-", "100%", "%%%", "\\", "\\\\", `\"`, `\n`, `\x41`,
	`\x`, `\u00e9`, `\101`, `\z`, `\$`, `DOM\user`, `"`, `""`, "'", "it's", `a"b`, "#", ";", " # comment", " ; x", "=", "A=1 B=2", "$HOME",
	"${X}", "$$", "$(id)", "`id`", "{{ x }}", "{% x %}", "*.x", ": ", "- a", "&a", "!t", "|", ">", "~", "[a]", "{a: b}", "@", ",", ",,",
	"é", "€", "😀", "\u0085", "\u00a0", "\u2028", "\ufeff", "\x01", "\x08", "\x1b[0m", "\x7f", "http://u:p%40s%25s@[::1]:3128", "a\\\nb",
}

// nastyValues returns the pieces, every ASCII character in four places, and a few
// hundred combinations, always the same ones.
func nastyValues() []string {
	values := append([]string(nil), nastyPieces...)
	for c := byte(1); c < 0x80; c++ {
		s := string([]byte{c})
		values = append(values, s, s+"x", "x"+s, s+s)
	}
	random := rand.New(rand.NewSource(1))
	for range 300 {
		var value strings.Builder
		for range 2 + random.Intn(4) {
			value.WriteString(nastyPieces[random.Intn(len(nastyPieces))])
		}
		values = append(values, value.String())
	}
	return append(values, strings.Repeat("host.example,", MaxNoProxyBytes/13))
}

// One unit with one big drop-in goes into the real systemd, which prints what it
// has read.
func TestSystemdReadsEveryValueAsItWasMeant(t *testing.T) {
	program := findSystemd(t)
	values := nastyValues()
	var assignments []string
	assign := func(name, value string) {
		assignment, err := systemdAssignment(name, value)
		if err != nil {
			t.Fatal(err)
		}
		assignments = append(assignments, assignment)
	}
	assign("START", "here")
	for i, value := range values {
		assign(fmt.Sprintf("V%d", i), value)
		assign(fmt.Sprintf("E%d", i), "end") // what follows a value that holds line ends
	}
	var dropIn bytes.Buffer
	if err := systemd.HTTPProxy.Execute(&dropIn, assignments); err != nil {
		t.Fatal(err)
	}
	dump, warnings := loadUnits(t, program, map[string]string{"fairlead": dropIn.String()})
	if warnings != "" {
		t.Errorf("systemd warns:\n%.2000s", warnings)
	}
	compareDump(t, dump, values)
}

// compareDump walks through the dump, where each variable stands on a line of
// its own, raw: a value ends where the next variable begins.
func compareDump(t *testing.T, dump string, values []string) {
	t.Helper()
	start := regexp.MustCompile(`\n(\s*Environment: )START=here\n`).FindStringSubmatchIndex(dump)
	if start == nil {
		t.Fatalf("systemd does not show the unit's environment:\n%.2000s", dump)
	}
	prefix, rest := dump[start[2]:start[3]], dump[start[1]:]
	for i, value := range values {
		mine := fmt.Sprintf("%sV%d=", prefix, i)
		got, after, ok := strings.Cut(rest, fmt.Sprintf("\n%sE%d=end\n", prefix, i))
		if !ok {
			t.Fatalf("value %d, %.100q: systemd has not got the variable behind it", i, value)
		}
		rest = after
		if got != mine+value {
			t.Errorf("%.100q: systemd has %.120q", value, strings.TrimPrefix(got, mine))
		}
	}
}
