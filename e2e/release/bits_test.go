package release_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/images"
	"github.com/fairlead-io/fairlead/images/release"
)

// platform is this machine's: every other is compiled anew, which takes minutes.
var platform = v1.Platform{OS: "linux", Architecture: runtime.GOARCH}

var lastCommit = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("git", "-C", repository.Path(), "rev-parse", "HEAD").Output()
})

// made is a folder with the command line for this machine and the charts, of a clone of the last commit.
func made(t *testing.T) string {
	t.Helper()
	path := controlplanetest.Tool(t, tools.Helm)
	clone := filepath.Join(t.TempDir(), "clone")
	commit, err := lastCommit() // once: somebody may commit while this runs
	controlplanetest.Require(t, err)
	for _, args := range [][]string{{"clone", "--quiet", repository.Path(), clone}, {"-C", clone, "checkout", "--quiet", strings.TrimSpace(string(commit))}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	options := release.Options{Repository: clone, Output: t.TempDir(), Helm: path}
	created, err := release.CommandLine(t.Context(), options, platform)
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, release.Charts(t.Context(), options, created))
	controlplanetest.Require(t, release.WriteManifests(t.Context(), options))
	controlplanetest.Require(t, release.Checksums(options))
	return options.Output
}

var first struct {
	sync.Once
	files map[string][]byte
}

// files returns the files of a release.
func files(t *testing.T) map[string][]byte {
	t.Helper()
	first.Do(func() { first.files = filesIn(t, made(t)) })
	if first.files == nil {
		t.Skip("they could not be made: another test says why")
	}
	return first.files
}

func filesIn(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	controlplanetest.Require(t, err)
	for _, entry := range entries {
		found[entry.Name()] = controlplanetest.ReadFile(t, filepath.Join(dir, entry.Name()))
	}
	return found
}

func TestTheSameCommitIsTheSameFilesWhereverItIsCheckedOut(t *testing.T) {
	one := files(t)
	dir := made(t)
	another := filesIn(t, dir)
	if len(one) != len(another) || len(one) != 9 {
		t.Errorf("%d files and %d", len(one), len(another))
	}
	for name, content := range one {
		if !bytes.Equal(content, another[name]) {
			t.Errorf("%s is %x and %x", name, sha256.Sum256(content), sha256.Sum256(another[name]))
		}
	}
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = dir
	if out, err := check.CombinedOutput(); err != nil || strings.Count(string(out), ": OK\n") != len(another)-1 {
		t.Errorf("sha256sum: %v\n%s", err, out)
	}
}

// What krew takes out of the archive is a program that says the version of the commit.
func TestTheArchiveHasTheProgramAndTheLicence(t *testing.T) {
	version, err := images.Version(repository.Path())
	controlplanetest.Require(t, err)
	compressed, err := gzip.NewReader(bytes.NewReader(files(t)[fmt.Sprintf("fairlead_%s_%s_%s.tar.gz", version, platform.OS, platform.Architecture)]))
	controlplanetest.Require(t, err)
	found := map[string]int64{}
	program := filepath.Join(t.TempDir(), "fairlead")
	archive := tar.NewReader(compressed)
	for {
		header, err := archive.Next()
		if err != nil {
			break
		}
		found[header.Name] = header.Mode
		if header.Name == "fairlead" {
			content, err := io.ReadAll(archive)
			controlplanetest.Require(t, err)
			controlplanetest.Require(t, os.WriteFile(program, content, 0o700))
		}
	}
	if diff := cmp.Diff(map[string]int64{"fairlead": 0o755, "LICENSE": 0o644}, found); diff != "" {
		t.Errorf("the archive (-want +got):\n%s", diff)
	}
	out, err := exec.CommandContext(t.Context(), program, "version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "v"+version) || strings.Contains(string(out), "modified") {
		t.Errorf("fairlead version: %v\n%s", err, out)
	}
}

// krew's own validator. Archives of other platforms are stand-ins here: the manifest has their names and sums alone.
func TestKrewTakesTheManifest(t *testing.T) {
	version, err := images.Version(repository.Path())
	controlplanetest.Require(t, err)
	options := release.Options{Repository: repository.Path(), Output: t.TempDir()}
	if err := release.Krew(options); err == nil {
		t.Error("a manifest without archives")
	}
	for _, p := range release.Platforms {
		extension := map[bool]string{true: "zip", false: "tar.gz"}[p.OS == "windows"]
		name := fmt.Sprintf("fairlead_%s_%s_%s.%s", version, p.OS, p.Architecture, extension)
		controlplanetest.Require(t, os.WriteFile(filepath.Join(options.Output, name), []byte(name), 0o600))
	}
	controlplanetest.Require(t, release.Krew(options))
	file := filepath.Join(options.Output, "fairlead.yaml")
	validate := func() (string, error) {
		cmd := exec.CommandContext(t.Context(), "go", "tool", "-modfile=tools.mod", "validate-krew-manifest", "-skip-install", "-manifest="+file)
		cmd.Dir = repository.Path()
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := validate(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	content := controlplanetest.ReadFile(t, file)
	if n := strings.Count(string(content), "releases/download/v"+version+"/fairlead_"); n != len(release.Platforms) {
		t.Errorf("%d platforms", n)
	}
	controlplanetest.Require(t, os.WriteFile(file, bytes.Replace(content, []byte("os: linux"), []byte("os: darwin"), 1), 0o600))
	if out, err := validate(); err == nil || !strings.Contains(out, "overlapping") {
		t.Errorf("the validator is asleep: %v\n%s", err, out)
	}
}

// Stand-ins: e2e/image reads the real ones.
func TestWhatIsSaidOfTheImagesIsPublishedWithTheRest(t *testing.T) {
	options := release.Options{Output: t.TempDir(), Images: t.TempDir()}
	if err := release.Images(options); err == nil || !strings.Contains(err.Error(), images.List) {
		t.Errorf("without images: %v", err)
	}
	want := map[string][]byte{images.List: []byte("list")}
	for _, name := range images.Names {
		for _, p := range images.Platforms {
			want[fmt.Sprintf("%s.%s-%s.cdx.json", name, p.OS, p.Architecture)] = []byte(name + p.String())
		}
	}
	for name, content := range want {
		controlplanetest.Require(t, os.WriteFile(filepath.Join(options.Images, name), content, 0o600))
	}
	controlplanetest.Require(t, release.Images(options))
	if diff := cmp.Diff(want, filesIn(t, options.Output)); diff != "" {
		t.Errorf("(-images +published):\n%s", diff)
	}
}

func TestEveryDependencyHasALicenceThatIsAccepted(t *testing.T) {
	licences, err := release.LicencesOf(t.Context(), repository.Path())
	controlplanetest.Require(t, err)
	found := map[string]string{}
	for _, l := range licences {
		found[l.Module] = strings.Join(l.IDs, ",")
		if len(l.Text) < 100 {
			t.Errorf("%s has the text %q", l.Module, l.Text)
		}
	}
	for module, want := range map[string]string{
		"go": "BSD-3-Clause", "github.com/spf13/cobra": "Apache-2.0",
		"github.com/inconshreveable/mousetrap": "Apache-2.0", // on Windows alone
	} {
		if !strings.Contains(found[module], want) {
			t.Errorf("%s is under %q, want %s", module, found[module], want)
		}
	}
	t.Logf("%d modules: %v", len(found), found)
}

func TestTheNotesAreTheSectionOfTheVersion(t *testing.T) {
	dir := t.TempDir()
	options := release.Options{Repository: dir, Output: filepath.Join(dir, "out")}
	controlplanetest.Require(t, os.MkdirAll(filepath.Join(dir, "internal", "version"), 0o755))
	controlplanetest.Require(t, os.WriteFile(filepath.Join(dir, "internal", "version", "VERSION"), []byte("1.2.0\n"), 0o600))
	for changelog, want := range map[string]string{
		"# Changelog\n\n## Unreleased\n\n- new\n\n## 1.2.0 - 2027-01-02\n\n- [a](docs/a.md#b), [c](https://d.example/)\n\n## 1.1.0\n\n- old\n": "- [a](https://github.com/fairlead-io/fairlead/blob/v1.2.0/docs/a.md#b), [c](https://d.example/)\n",
		"## [1.2.0]\n- a\n":                         "- a\n",
		"## Unreleased\n\n- new\n## 1.1.0\n- old\n": "- new\n",
		"## 1.1.0\n- old\n":                         "",
	} {
		controlplanetest.Require(t, os.WriteFile(filepath.Join(dir, "CHANGELOG.md"), []byte(changelog), 0o600))
		err := release.Notes(options)
		got, _ := os.ReadFile(filepath.Join(options.Output, "RELEASE_NOTES.md"))
		switch {
		case want == "" && err == nil:
			t.Errorf("%q: no error", changelog)
		case want != "" && (err != nil || string(got) != want):
			t.Errorf("%q: %v, %q", changelog, err, got)
		}
	}
}
