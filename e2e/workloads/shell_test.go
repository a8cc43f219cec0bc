package workloads_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/e2e/samples"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/noproxy"
)

// The two ways to take "render -o env" over, each in a shell of its own.
const takeOver = `
for file in *.sh; do
	(eval "$(cat "$file")"; exec env -0) > "${file%.sh}.eval"
	(. "./$file"; exec env -0) > "${file%.sh}.dot"
done`

func TestAShellTakesEverySampleOver(t *testing.T) {
	dir, all := t.TempDir(), samples.All(t)
	for _, s := range all {
		text, err := render.Shell(s.Effective, noproxy.AudienceAny)
		if err != nil {
			t.Fatal(s, err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.sh", s.Number)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", takeOver)
	cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin", "HOME=expanded"}
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v: %s", err, out)
	}
	for _, s := range all {
		proxy := s.Effective.HTTP.Reveal()
		want := map[string]string{
			"HTTP_PROXY": proxy, "http_proxy": proxy, "HTTPS_PROXY": proxy, "https_proxy": proxy, "NO_PROXY": s.List, "no_proxy": s.List,
		}
		for _, way := range []string{"eval", "dot"} {
			out, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d.%s", s.Number, way)))
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, variable := range strings.Split(string(out), "\x00") {
				if name, value, _ := strings.Cut(variable, "="); strings.HasSuffix(strings.ToLower(name), "_proxy") {
					got[name] = value
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s by %s: %s", s, way, diff)
			}
		}
	}
}
