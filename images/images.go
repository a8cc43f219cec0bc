// Package images makes the container images of Fairlead's programs, without a container engine and from no base image:
// a static program, two users, the public certificate authorities, and nothing else. The same commit, built by the same
// Go, has the same digests, wherever it is checked out.
//
// It is not ko, which starts from a base image of a registry as it comes: here nothing is asked for but Go modules.
package images

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/fairlead-io/fairlead/images/gobuild"
)

// Registry is where charts look for the images.
const Registry = "ghcr.io/fairlead-io/"

// List is the file with the name, tag and digest of every image, one a line.
const List = "images.txt"

// Names are the names of the images, and of the programs below operator/cmd that they hold.
var Names = gobuild.Programs

// Platforms that images are for.
var Platforms = []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}}

// Options say which image to make, and from which repository.
type Options struct {
	Repository string // the top folder
	Output     string // a folder, for <name>.tar and <name>.<os>-<architecture>.cdx.json
	Name       string // one of Names
	Platforms  []v1.Platform
}

// Build writes the archive of an image, in the OCI image layout, and a bill of materials for each platform. It returns
// the digest of the index of the platforms. A registry knows the image by this digest.
func Build(ctx context.Context, options Options) (v1.Hash, error) {
	version, err := Version(options.Repository)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("read the version: %w", err)
	}
	output, err := filepath.Abs(options.Output) // go build runs elsewhere
	if err != nil {
		return v1.Hash{}, err
	}
	if err := os.MkdirAll(output, 0o755); err != nil {
		return v1.Hash{}, err
	}
	temp, err := os.MkdirTemp(output, ".building-")
	if err != nil {
		return v1.Hash{}, err
	}
	defer os.RemoveAll(temp)

	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, platform := range options.Platforms {
		program, err := compile(ctx, options.Repository, options.Name, platform, temp)
		if err != nil {
			return v1.Hash{}, err
		}
		image, err := imageOf(program, version, platform)
		if err != nil {
			return v1.Hash{}, fmt.Errorf("image of %s for %s: %w", options.Name, platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
		file := filepath.Join(output, BillName(options.Name, platform))
		if err := writeBill(file, program, version); err != nil {
			return v1.Hash{}, fmt.Errorf("bill of materials of %s for %s: %w", options.Name, platform, err)
		}
	}
	same, err := plain(index)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := writeArchive(filepath.Join(output, options.Name+".tar"), temp, same, Registry+options.Name, version); err != nil {
		return v1.Hash{}, fmt.Errorf("write the archive of %s: %w", options.Name, err)
	}
	return same.Digest()
}

// BillName is the file with the bill of materials of an image for one platform.
func BillName(name string, platform v1.Platform) string {
	return fmt.Sprintf("%s.%s-%s.cdx.json", name, platform.OS, platform.Architecture)
}
