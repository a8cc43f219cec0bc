package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/images"
	"github.com/fairlead-io/fairlead/images/release"
)

const versions = "docs/reference/versions.md"

// measured have the versions that they were measured with.
var measured = []string{versions, "docs/reference/scale.md"}

func TestThePageOfVersionsHasThoseThatTheTestsRun(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, versions))
	if err != nil {
		t.Fatal(err)
	}
	for row, tool := range map[string]tools.Tool{
		"Kubernetes, management": tools.KubeAPIServer, "Cluster API": tools.ClusterAPICore, "Kyverno": tools.Kyverno,
		"Helm": tools.Helm, "Flux helm-controller": tools.FluxHelmController, "Flux source-controller": tools.FluxSourceController,
	} {
		want := regexp.MustCompile(`(?m)^\| ` + row + `[^|]* \| ` + regexp.QuoteMeta(strings.TrimPrefix(tool.Version, "v")) + `\b`)
		if !want.Match(page) {
			t.Errorf("%s: the tests run %s", row, tool.Version)
		}
	}
	for _, chart := range []string{"fairlead", "fairlead-policies"} {
		content, err := os.ReadFile(filepath.Join(root, "charts", chart, "Chart.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		asks := regexp.MustCompile(`kubeVersion: ">=(1\.\d+)\.0-0"`).FindSubmatch(content)
		if asks == nil || !strings.Contains(string(page), "| "+string(asks[1])+": ValidatingAdmissionPolicy | Helm: `kubeVersion` of charts/"+chart+" |") {
			t.Errorf("charts/%s asks for %q", chart, asks)
		}
	}
}

// The machine that tests boot, and the platforms that are built.
func TestThePageOfVersionsHasTheSystemsThatTheTestsRun(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, versions))
	if err != nil {
		t.Fatal(err)
	}
	recipe, err := os.ReadFile(filepath.Join(root, "e2e", "machine", "rootfs.go"))
	if err != nil {
		t.Fatal(err)
	}
	suite := regexp.MustCompile(`const suite = "(\w+)"`).FindSubmatch(recipe)
	if suite == nil || !strings.Contains(string(page), "| Debian 12 ("+string(suite[1])+")") {
		t.Errorf("the tests boot Debian %s", suite)
	}
	names := map[string]string{"linux": "Linux", "darwin": "macOS", "windows": "Windows"}
	for _, platform := range release.Platforms {
		if !regexp.MustCompile("(?mi)^\\| `fairlead` .*" + names[platform.OS]).Match(page) {
			t.Errorf("the command line is built for %s", platform)
		}
	}
	for _, platform := range images.Platforms {
		if !regexp.MustCompile("(?m)^\\| images .*" + platform.String()).Match(page) {
			t.Errorf("images are built for %s", platform)
		}
	}
}

// A fact stands on one page.
func TestNoOtherPageSaysWhichVersionsItTakes(t *testing.T) {
	claim := regexp.MustCompile("(Kubernetes|Kyverno|Cluster API)[` (v]+1\\.(11|19|30|36)\\b")
	for _, file := range pageFiles(t) {
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		found := claim.FindAllString(string(content), -1)
		for _, page := range measured {
			if file == page {
				found = nil
			}
		}
		if found != nil {
			t.Errorf("%s: %q: link to %s", file, found, versions)
		}
	}
}

// Nothing is released: whoever copies the line gets an error.
func TestWhatIsNotReleasedIsNotPromised(t *testing.T) {
	promise := regexp.MustCompile(`oci://ghcr\.io/fairlead-io|fairlead@v0|go install …@|image: ghcr\.io/fairlead-io`)
	files := append(pageFiles(t), "examples/config-repo/.gitlab-ci.yml", "examples/config-repo/.github/workflows/fairlead.yaml")
	found := 0
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(content), "\n")
		for i, line := range lines {
			if !promise.MatchString(line) {
				continue
			}
			found++
			near := strings.Join(lines[max(i-2, 0):min(i+7, len(lines))], " ")
			if !strings.Contains(near, "once released") {
				t.Errorf("%s:%d: %s", file, i+1, line)
			}
		}
	}
	if found < 4 {
		t.Errorf("only %d found", found)
	}
}
