package image_test

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"debug/elf"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	ispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/registry"
	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/images"
)

func TestAnImageIsAStaticProgramTwoUsersAndTheAuthorities(t *testing.T) {
	for _, name := range images.Names {
		image, descriptor := host(t, name)
		controlplanetest.Require(t, validate.Image(image))
		config, err := image.ConfigFile()
		controlplanetest.Require(t, err)
		program := "/usr/local/bin/" + name
		if c := config.Config; c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{program}) || !slices.Contains(c.Env, "PATH=/usr/local/bin:/usr/bin:/bin") {
			t.Errorf("%s: %+v", name, c)
		}
		version := descriptor.Annotations["org.opencontainers.image.ref.name"]
		if got := config.Config.Labels["org.opencontainers.image.version"]; got != version || version == "" {
			t.Errorf("%s: the tag is %q, the label says %q", name, version, got)
		}
		files := filesOf(t, image)
		want := []string{"etc/group", "etc/passwd", "etc/ssl/certs/ca-certificates.crt", program[1:]}
		if name == "fairlead-relay" { // which must not find its hub in the pod's /etc/hosts, where it is itself
			want = append(want, "etc/nsswitch.conf")
			if got := string(files["etc/nsswitch.conf"]); got != "hosts: dns\n" {
				t.Errorf("/etc/nsswitch.conf: %q", got)
			}
		}
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
			t.Errorf("it has the files %q, want %q", got, want)
		}
		file, err := elf.NewFile(bytes.NewReader(files[program[1:]]))
		controlplanetest.Require(t, err)
		if file.Section(".interp") != nil { // the kernel would look for a loader, which is not there
			t.Error("the program is not static")
		}
		checkAuthorities(t, files["etc/ssl/certs/ca-certificates.crt"])
	}
}

func checkAuthorities(t *testing.T, bundle []byte) {
	t.Helper()
	count := 0
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			t.Error(err)
		}
		count++
	}
	if count < 100 {
		t.Errorf("there are %d certificate authorities", count)
	}
}

// filesOf are the regular files of an image; another kind, or one with a special mode, is an error.
func filesOf(t *testing.T, image v1.Image) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	content := mutate.Extract(image)
	defer content.Close()
	archive := tar.NewReader(content)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		controlplanetest.Require(t, err)
		if header.Uid != 0 || header.Mode&^0o755 != 0 {
			t.Errorf("%s is %d's, with mode %o", header.Name, header.Uid, header.Mode)
		}
		switch header.Typeflag {
		case tar.TypeDir:
		case tar.TypeReg:
			files[header.Name], err = io.ReadAll(archive)
			controlplanetest.Require(t, err)
		default:
			t.Errorf("%s is of kind %c", header.Name, header.Typeflag)
		}
	}
}

func TestTheChartsNameTheImagesByDefault(t *testing.T) {
	for _, row := range []struct{ image, named string }{
		{"fairlead-operator", operatorsDeployment(t).Spec.Template.Spec.Containers[0].Image},
		{"fairlead-operator", deployment(t, "fairlead-policies", "fairlead-replicator", policies.Values()).Spec.Template.Spec.Containers[0].Image},
		{"fairlead-relay", relayPod(t).Spec.InitContainers[0].Image},
	} {
		if _, descriptor := host(t, row.image); descriptor.Annotations["io.containerd.image.name"] != row.named {
			t.Errorf("%s is %s, and the chart names %s", row.image, descriptor.Annotations["io.containerd.image.name"], row.named)
		}
	}
}

func TestTheBillOfMaterialsHasEveryModuleOfTheProgram(t *testing.T) {
	for _, name := range images.Names {
		image, _ := host(t, name)
		file := filepath.Join(t.TempDir(), name)
		controlplanetest.Require(t, os.WriteFile(file, filesOf(t, image)["usr/local/bin/"+name], 0o700))
		said, err := exec.Command("go", "version", "-m", file).Output()
		controlplanetest.Require(t, err)
		var bill struct{ Components []struct{ PURL string } }
		content := controlplanetest.ReadFile(t, filepath.Join(output(), name+"."+platform.OS+"-"+platform.Architecture+".cdx.json"))
		controlplanetest.Require(t, json.Unmarshal(content, &bill))
		listed := map[string]bool{}
		for _, component := range bill.Components {
			listed[component.PURL] = true
		}
		if !strings.Contains(string(said), "-gcflags=all=-dwarf=false\n") {
			t.Errorf("%s is compiled as for tests:\n%s", name, said)
		}
		modules := 0
		for line := range strings.Lines(string(said)) {
			if fields := strings.Fields(line); fields[0] == "dep" {
				modules++
				if purl := "pkg:golang/" + fields[1] + "@" + fields[2]; !listed[purl] {
					t.Errorf("%s: the bill lacks %s", name, purl)
				}
			}
		}
		if modules == 0 || len(bill.Components) != modules+2 { // and Go itself, and the authorities
			t.Errorf("%s has %d modules, the bill %d components", name, modules, len(bill.Components))
		}
	}
}

// Whoever reads it by image-spec's types and writes it again, as skopeo does, must have the same digest.
func TestAnIndexIsWrittenAsTheImageSpecWritesIt(t *testing.T) {
	host(t, "fairlead-relay")
	archive, _ := registry.Archive(t, filepath.Join(output(), "fairlead-relay.tar"))
	raw, err := archive.RawManifest()
	controlplanetest.Require(t, err)
	var index ispec.Index
	controlplanetest.Require(t, json.Unmarshal(raw, &index))
	index.Manifests[0].ArtifactType = "" // skopeo 1.9 does not know it
	again, err := json.Marshal(index)
	if err != nil || string(again) != string(raw) {
		t.Errorf("%v\n%s\n%s", err, raw, again)
	}
}

// The relay stands for all: they are built alike, and it is the smallest.
func TestTheSameCommitHasTheSameDigestWhereverItIsCheckedOut(t *testing.T) {
	var digests []v1.Hash
	var revision string
	for _, name := range []string{"a", "another"} {
		clone := filepath.Join(t.TempDir(), name)
		if out, err := exec.Command("git", "clone", "--quiet", repository.Path(), clone).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		into := t.TempDir()
		digest, err := images.Build(t.Context(), images.Options{Repository: clone, Output: into, Name: "fairlead-relay", Platforms: []v1.Platform{platform}})
		controlplanetest.Require(t, err)
		digests = append(digests, digest)
		head, err := exec.Command("git", "-C", clone, "rev-parse", "HEAD").Output()
		controlplanetest.Require(t, err)
		revision = strings.TrimSpace(string(head))
		image, _ := imageIn(t, filepath.Join(into, "fairlead-relay.tar"), digest)
		config, err := image.ConfigFile()
		controlplanetest.Require(t, err)
		if got := config.Config.Labels["org.opencontainers.image.revision"]; got != revision {
			t.Errorf("the label says revision %q, and it is %q", got, revision)
		}
	}
	if digests[0] != digests[1] {
		t.Errorf("of one commit, %s became %s and %s", revision, digests[0], digests[1])
	}
}
