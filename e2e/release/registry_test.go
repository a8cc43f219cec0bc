package release_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/registry"
	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/images"
)

// The relay stands for all images: they are made alike, and it is the smallest. e2e/nodes has containerd pull it, e2e/flux the chart by Flux.
func TestARegistryTakesImagesAndChartsAndHelmPullsFromIt(t *testing.T) {
	address, dir := registry.Start(t), t.TempDir()
	version, err := images.Version(repository.Path())
	controlplanetest.Require(t, err)
	for file, content := range files(t) {
		controlplanetest.Require(t, os.WriteFile(filepath.Join(dir, file), content, 0o600))
	}
	for _, chart := range []string{"fairlead", "fairlead-policies"} {
		_, err := helm.Run(t.Context(), "push", filepath.Join(dir, chart+"-"+version+".tgz"), "oci://"+address+"/fairlead/charts", "--plain-http")
		controlplanetest.Require(t, err)
		args := []string{"--namespace", "other", "--set", "engine=Native", "--set", "source.existing=true"}
		if chart == "fairlead" {
			args = []string{"--namespace", "other", "--set", "corporateProxy.create=false"}
		}
		pulled, err := helm.Run(t.Context(), append([]string{"template", chart, "oci://" + address + "/fairlead/charts/" + chart, "--version", version, "--plain-http"}, args...)...)
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
	reference := address + "/fairlead/fairlead-relay:" + version
	// What skopeo copy --all does, which Debian's machines here lack: index and all, as they are.
	to, err := name.ParseReference(reference)
	controlplanetest.Require(t, err)
	index, _ := registry.Archive(t, filepath.Join(dir, "fairlead-relay.tar"))
	controlplanetest.Require(t, remote.WriteIndex(to, index, remote.WithContext(t.Context())))
	got, err := crane.Digest(reference, crane.WithContext(t.Context()))
	if err != nil || got != digest.String() {
		t.Errorf("the registry has %s, and %s was built (%v)", got, digest, err)
	}
	config, err := crane.Config(reference, crane.WithContext(t.Context()), crane.WithPlatform(&platform))
	if err != nil || !strings.Contains(string(config), `"org.opencontainers.image.title":"fairlead-relay"`) {
		t.Errorf("%v: %s", err, config)
	}
}

// parsed returns the objects. Helm prints lines about the pulled chart before them.
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
