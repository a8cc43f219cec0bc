package charts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
)

// parentChart is one that has both charts, each if its value enabled says so.
func parentChart(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	text := "apiVersion: v2\nname: parent\nversion: 0.1.0\ndependencies:\n"
	for chart := range both {
		_, err := helm.Run(t.Context(), "package", chartFolder(chart), "--destination", filepath.Join(folder, "charts"))
		controlplanetest.Require(t, err)
		text += "- {name: " + chart + ", version: " + chartFile(t, chart).Version + ", condition: " + chart + ".enabled}\n"
	}
	controlplanetest.Require(t, os.WriteFile(filepath.Join(folder, "Chart.yaml"), []byte(text), 0o600))
	return folder
}

func TestAParentChartTurnsEachChartOnAndOff(t *testing.T) {
	parent := parentChart(t)
	for _, test := range []struct{ operator, policies bool }{{true, true}, {true, false}, {false, true}} {
		given := func(enabled bool) values { return values{"enabled": enabled, "proxy": proxy(url, url, "a")} }
		manifest, err := helm.Template(t.Context(), helm.Release{
			Chart: parent, Name: "parent", Namespace: "other",
			Values: []any{values{"fairlead": given(test.operator), "fairlead-policies": given(test.policies)}},
		})
		controlplanetest.Require(t, err)
		for chart, want := range map[string]bool{"fairlead": test.operator, "fairlead-policies": test.policies} {
			if got := strings.Contains(string(manifest), "# Source: parent/charts/"+chart+"/templates/"); got != want {
				t.Errorf("%v: %s is there: %t", test, chart, got)
			}
		}
	}
}

func TestAParentChartsTypoIsRefusedByTheNameOfTheKey(t *testing.T) {
	given := values{"fairlead": values{"enabled": false}, "fairlead-policies": values{"egine": "Native"}}
	out, err := helm.Template(t.Context(), helm.Release{Chart: parentChart(t), Name: "parent", Values: []any{given}})
	checkRefusal(t, out, err, []string{"unknown key egine", "did you mean engine?"})
}
