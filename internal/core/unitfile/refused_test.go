package unitfile_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/unitfile"
)

// As systemd-analyze verify of systemd 252 says of each.
func TestAUnitIsReadUpToTheLineThatSystemdRefuses(t *testing.T) {
	const before = "\ufeff[Service]\n# \xe9\n"
	for text, line := range map[string]int{
		"A=b\n": 0, "A=\xe9\nB=c\n": 3, "[Install\nB=c\n": 3, "A=b\n\\\n[x] y\n": 5,
		"# " + strings.Repeat("a", 1<<20) + "\nB=c": 3,
	} {
		data, stop, reason := unitfile.UpTo([]byte(before + text))
		if stop != line {
			t.Errorf("%.20q: stops at line %d (%s), want %d", text, stop, reason, line)
		}
		if want := line == 0 && len(data) == len(before+text) || line == 3 && string(data) == before || line == 5; !want {
			t.Errorf("%.20q: reads %d bytes", text, len(data))
		}
	}
}
