package render

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// shells returns the shells of this machine; sh is on every one.
func shells(t *testing.T) []string {
	t.Helper()
	found := []string{}
	for _, name := range []string{"sh", "dash", "bash"} {
		if path, err := exec.LookPath(name); err == nil {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		without(t, "there is no shell here: nothing read the exports")
	}
	return found
}

func TestAShellTakesOverWhatWasMeantAndRunsNothingOfIt(t *testing.T) {
	nasty := "'\"`id`$(id)$HOME\\ \n\t;&|<>*?[a]{b,c}~#!%é\u2028 '' \\'"
	for c := byte(1); c < 0x80; c++ {
		nasty += string(c)
	}
	e := effective(t, nasty)
	var err error
	if e.HTTP, err = proxyurl.Parse(anyURL); err != nil {
		t.Fatal(err)
	}
	text, err := Shell(e, noproxy.AudienceAny)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, v := range environment(e, noproxy.AudienceAny) {
		want[v.name] = v.value
	}
	for _, shell := range shells(t) {
		// As eval "$(fairlead render …)" and . do, with everything on that makes a shell look at its words.
		for _, way := range []string{`eval "$(cat)"`, ". /dev/stdin"} {
			cmd := exec.Command(shell, "-eu", "-c", way+"; exec /usr/bin/env -0")
			cmd.Stdin, cmd.Env, cmd.Dir = bytes.NewReader(text), []string{"PATH=/usr/bin:/bin", "HOME=expanded"}, t.TempDir()
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(shell, way, err)
			}
			got := map[string]string{}
			for _, line := range strings.Split(string(out), "\x00") {
				if name, value, _ := strings.Cut(line, "="); strings.HasSuffix(strings.ToLower(name), "_proxy") {
					got[name] = value
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s: %s", shell, way, diff)
			}
		}
	}
}

func TestWhatNoEnvironmentCanCarryIsNotExported(t *testing.T) {
	var p *resolve.Problem
	if text, err := Shell(effective(t, "S3CRET\x00"), noproxy.AudienceAny); !errors.As(err, &p) || p.Reason != resolve.ReasonNotCarriable || len(text) > 0 || strings.Contains(err.Error(), "S3CRET") {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := Shell(resolve.Effective{Mode: resolve.ModeDirect}, noproxy.AudienceAny); err != nil || len(text) > 0 {
		t.Errorf("Direct: %q, %v", text, err)
	}
}
