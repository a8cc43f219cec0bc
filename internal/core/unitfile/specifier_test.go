package unitfile_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/unitfile"
)

// The expected texts are those of systemd 252 with --test, for a service of the
// system.
func TestSpecifiersAreWhatSystemdPutsIn(t *testing.T) {
	const unit = `my-probe@a-b\x2dc.service`
	for text, want := range map[string]struct {
		expanded, left string // "" and an error: systemd drops it
	}{
		"x%%H": {"x%H", ""}, "x%i": {`xa-b\x2dc`, ""}, "x%I": {"xa/b-c", ""}, "x%n": {"x" + unit, ""}, "x%N": {`xmy-probe@a-b\x2dc`, ""},
		"x%p": {"xmy-probe", ""}, "x%P": {"xmy/probe", ""}, "x%j": {"xprobe", ""}, "%E%h%u%U%t": {"/etc/rootroot0/run", ""},
		"x%-%,%": {"x%-%,%", ""}, "%é": {"%é", ""}, "50%%%H,%%%m,%H": {"50%%H,%%m,%H", "%H %m"}, "%H%1": {}, "%z": {}, "p%40": {},
	} {
		expanded, left, err := unitfile.Expand(text, unit)
		if err != nil {
			expanded, left = "", nil
		}
		if expanded != want.expanded || strings.Join(left, " ") != want.left {
			t.Errorf("%s: got %q, which leaves %v (%v), want %q, which leaves %q", text, expanded, left, err, want.expanded, want.left)
		}
	}
	if _, _, err := unitfile.Expand("%n", ""); err == nil {
		t.Error("the manager's configuration has no unit")
	}
}
