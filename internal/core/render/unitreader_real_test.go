package render

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
)

// The reader in unitreader_test.go stands for systemd where there is none, and
// in the fuzz test. Here it reads the same random lines as the real one, each in
// a unit of its own, since a bad line can end the reading of a file.
func TestTheReaderOfUnitFilesAgreesWithSystemd(t *testing.T) {
	program := findSystemd(t)
	random := rand.New(rand.NewSource(2))
	pieces := append([]string{`"`, `"`, "'", "V=", "W=", " ", "%%", `\\`, `\"`, `\x4`, `\u00`, `\8`, `\400`, `\U0001f600`, `\s`, `\e`, "%Z", "%1", "\uffff", "\ufdd0", "\xff"}, nastyPieces...)
	lines, dropIns := map[string]string{}, map[string]string{}
	for i := range 400 {
		line := "V=x"
		for range random.Intn(5) {
			line += pieces[random.Intn(len(pieces))]
		}
		if i%2 == 0 {
			line = `"` + line + `"`
		}
		line = strings.NewReplacer("\n", "", "\r", "").Replace(line)
		name := fmt.Sprintf("unit%d", i)
		lines[name] = line
		dropIns[name] = "[Service]\nEnvironment=" + line + "\n"
	}
	dump, warnings := loadUnits(t, program, dropIns)
	agreed := 0
	for name, line := range lines {
		section := unitSection(t, dump, name)
		want, err := readUnit(dropIns[name])
		complains := strings.Contains(warnings, "/"+name+".service.d/")
		switch {
		case err != nil && strings.HasPrefix(err.Error(), "line 2: specifier"):
			// systemd replaces it, or complains; either way it is not what was meant.
		case err != nil && !complains:
			t.Errorf("%s: systemd accepts it, the reader does not: %v", line, err)
		case err == nil && complains:
			t.Errorf("%s: systemd complains, the reader reads %q", line, want)
		case err == nil:
			agreed++
			for key, value := range want {
				if !strings.Contains(section, "Environment: "+key+"="+value+"\n") {
					t.Errorf("%s: the reader has %s=%q, systemd has not:\n%s", line, key, value, environmentLines(section))
				}
			}
			if got := strings.Count(section, "\tEnvironment: "); got != len(want) {
				t.Errorf("%s: systemd has %d variables, the reader %q", line, got, want)
			}
		}
	}
	if agreed < 50 {
		t.Errorf("only %d of %d lines can be read at all", agreed, len(lines))
	}
}

// unitSection cuts the part about one service out of the dump.
func unitSection(t *testing.T, dump, name string) string {
	t.Helper()
	_, after, ok := strings.Cut(dump, "-> Unit "+name+".service:\n")
	if !ok {
		t.Fatalf("systemd does not show %s", name)
	}
	section, _, _ := strings.Cut(after, "-> Unit ")
	return section
}

func environmentLines(section string) string {
	var out strings.Builder
	for line := range strings.Lines(section) {
		if strings.Contains(line, "Environment: ") {
			out.WriteString(strings.TrimSpace(line) + "\n")
		}
	}
	return out.String()
}
