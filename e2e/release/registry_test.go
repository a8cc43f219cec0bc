package release_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/ports"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/images"
)

// startRegistry starts Debian's docker-registry, which has nothing, and returns its address.
func startRegistry(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("docker-registry")
	if err != nil {
		controlplanetest.Require(t, fmt.Errorf("%w: %w", tools.ErrUnavailable, err))
	}
	port, err := ports.Reserve()
	controlplanetest.Require(t, err)
	t.Cleanup(func() { _ = port.Release() })
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yml")
	content := fmt.Sprintf("version: 0.1\nstorage: {filesystem: {rootdirectory: %s/images}}\nhttp: {addr: %q}\n", dir, port.Address())
	controlplanetest.Require(t, os.WriteFile(config, []byte(content), 0o600))
	running, err := process.Start(t.Context(), process.Spec{
		Name: "registry", Path: path, Args: []string{"serve", config}, LogFile: filepath.Join(dir, "log"),
		Ready: func(ctx context.Context) error {
			_, err := process.Get(ctx, "http://"+port.Address()+"/v2/")
			return err
		},
	})
	controlplanetest.Require(t, err)
	t.Cleanup(func() {
		if err := running.Stop(); err != nil {
			t.Error(err)
		}
	})
	return port.Address()
}

// The relay stands for all images: they are made alike, and it is the smallest. e2e/machine has containerd pull from such a registry.
func TestARegistryTakesImagesAndChartsAndHelmPullsFromIt(t *testing.T) {
	registry, dir := startRegistry(t), t.TempDir()
	version, err := images.Version(repository.Path())
	controlplanetest.Require(t, err)
	for file, content := range files(t) {
		controlplanetest.Require(t, os.WriteFile(filepath.Join(dir, file), content, 0o600))
	}
	for _, chart := range []string{"fairlead", "fairlead-policies"} {
		_, err := helm.Run(t.Context(), "push", filepath.Join(dir, chart+"-"+version+".tgz"), "oci://"+registry+"/fairlead/charts", "--plain-http")
		controlplanetest.Require(t, err)
		args := []string{"--namespace", "other", "--set", "engine=Native", "--set", "source.existing=true"}
		if chart == "fairlead" {
			args = []string{"--namespace", "other", "--set", "corporateProxy.create=false"}
		}
		pulled, err := helm.Run(t.Context(), append([]string{"template", chart, "oci://" + registry + "/fairlead/charts/" + chart, "--version", version, "--plain-http"}, args...)...)
		controlplanetest.Require(t, err)
		own, err := helm.Run(t.Context(), append([]string{"template", chart, repository.Path("charts", chart)}, args...)...)
		controlplanetest.Require(t, err)
		if diff := cmp.Diff(parsed(t, own), parsed(t, pulled)); diff != "" {
			t.Errorf("of %s in the registry, Helm renders something else (-checkout +registry):\n%s", chart, diff)
		}
	}

	digest, err := images.Build(t.Context(), images.Options{
		Repository: repository.Path(), Output: dir, Name: "fairlead-relay", Platforms: []v1.Platform{platform},
	})
	controlplanetest.Require(t, err)
	reference := registry + "/fairlead/fairlead-relay:" + version
	push(t, filepath.Join(dir, "fairlead-relay.tar"), reference)
	got, err := crane.Digest(reference, crane.WithContext(t.Context()))
	if err != nil || got != digest.String() {
		t.Errorf("the registry has %s, and %s was built (%v)", got, digest, err)
	}
	config, err := crane.Config(reference, crane.WithContext(t.Context()), crane.WithPlatform(&platform))
	if err != nil || !strings.Contains(string(config), `"org.opencontainers.image.title":"fairlead-relay"`) {
		t.Errorf("%v: %s", err, config)
	}
}

// parsed are the objects, without what Helm says before them of what it pulls.
func parsed(t *testing.T, printed []byte) []*unstructured.Unstructured {
	t.Helper()
	if i := bytes.Index(printed, []byte("---\n")); i > 0 {
		printed = printed[i:]
	}
	objects, err := controlplane.Parse(printed)
	controlplanetest.Require(t, err)
	if len(objects) < 5 {
		t.Errorf("%d objects", len(objects))
	}
	return objects
}

// push does what skopeo copy --all does, which Debian's machines here lack: index and all, as they are.
func push(t *testing.T, archive, reference string) {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "tar", "--extract", "--file", archive, "--directory", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	top, err := layout.ImageIndexFromPath(dir)
	controlplanetest.Require(t, err)
	manifest, err := top.IndexManifest()
	controlplanetest.Require(t, err)
	index, err := top.ImageIndex(manifest.Manifests[0].Digest)
	controlplanetest.Require(t, err)
	to, err := name.ParseReference(reference)
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, remote.WriteIndex(to, index, remote.WithContext(t.Context())))
}
