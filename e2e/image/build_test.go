// Package image_test tests the container images: their content, that every build gives the same bytes, and that the
// real runc runs them as the charts say.
package image_test

import (
	"context"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/registry"
	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/images"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// output is where the tests' archives are: for this machine's platform alone, which is the half of the time.
func output() string { return repository.Path(".cache", "images", "host") }

var platform = v1.Platform{OS: "linux", Architecture: runtime.GOARCH}

// built makes an image, once in a run of the tests.
var built = func() map[string]func() (v1.Hash, error) {
	all := map[string]func() (v1.Hash, error){}
	for _, name := range images.Names {
		all[name] = sync.OnceValues(func() (v1.Hash, error) {
			return images.Build(context.Background(), images.Options{
				Repository: repository.Path(), Output: output(), Name: name, Platforms: []v1.Platform{platform},
			})
		})
	}
	return all
}()

// host is the image for this machine, read from its archive, and the descriptor of the index it is in.
func host(t *testing.T, name string) (v1.Image, v1.Descriptor) {
	t.Helper()
	digest, err := built[name]()
	controlplanetest.Require(t, err)
	return imageIn(t, filepath.Join(output(), name+".tar"), digest)
}

// imageIn is the image in an archive, and the descriptor of its index, which must be the one that was built.
func imageIn(t *testing.T, archive string, want v1.Hash) (v1.Image, v1.Descriptor) {
	t.Helper()
	index, descriptor := registry.Archive(t, archive)
	if descriptor.Digest != want {
		t.Fatalf("the archive %s has %s, and %s was built", archive, descriptor.Digest, want)
	}
	manifests, err := index.IndexManifest()
	controlplanetest.Require(t, err)
	if len(manifests.Manifests) != 1 || manifests.Manifests[0].Platform.String() != platform.String() {
		t.Fatalf("%s has %+v", archive, manifests.Manifests)
	}
	image, err := index.Image(manifests.Manifests[0].Digest)
	controlplanetest.Require(t, err)
	return image, descriptor
}
