package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/images"
	"github.com/fairlead-io/fairlead/images/release"
)

func TestThePageOfVersionsHasThePlatformsThatAreBuilt(t *testing.T) {
	page := read(t, "docs/reference/versions.md")
	names := map[string]string{"linux": "Linux", "darwin": "macOS", "windows": "Windows"}
	for _, platform := range release.Platforms {
		if !regexp.MustCompile("(?mi)^\\| `fairlead` .*" + names[platform.OS]).MatchString(page) {
			t.Errorf("the command line is built for %s", platform)
		}
	}
	for _, platform := range images.Platforms {
		if !regexp.MustCompile("(?m)^\\| images .*" + platform.String()).MatchString(page) {
			t.Errorf("images are built for %s", platform)
		}
	}
}

// Nothing is released: whoever copies the line gets an error.
func TestWhatIsNotReleasedIsNotPromised(t *testing.T) {
	promise := regexp.MustCompile(`oci://ghcr\.io/fairlead-io|fairlead@v0|go install …@|image: ghcr\.io/fairlead-io`)
	files := append(pageFiles(t), "examples/config-repo/.gitlab-ci.yml", "examples/config-repo/.github/workflows/fairlead.yaml")
	found := 0
	for _, file := range files {
		lines := strings.Split(read(t, file), "\n")
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
