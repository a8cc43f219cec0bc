package images

import (
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	source = "https://github.com/fairlead-io/fairlead"
	// folder is in PATH: charts name the program, not where it is.
	folder = "/usr/local/bin"
	// user is a number: the charts ask for runAsNonRoot, which does not believe a name.
	user = "65532:65532"
)

// imageOf is the image for one platform.
func imageOf(p program, version string, platform v1.Platform) (v1.Image, error) {
	files, err := commonFiles()
	if err != nil {
		return nil, err
	}
	common, err := layerOf(files)
	if err != nil {
		return nil, err
	}
	own, err := layerOf(ownFiles(p))
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: p.created()}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(
		image,
		mutate.Addendum{Layer: common, History: v1.History{Created: created, CreatedBy: "users, certificate authorities"}},
		mutate.Addendum{Layer: own, History: v1.History{Created: created, CreatedBy: "go build ./operator/cmd/" + p.name}},
	)
	if err != nil {
		return nil, fmt.Errorf("put the layers together: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = platform.OS, platform.Architecture, created
	config.Config = v1.Config{
		Entrypoint: []string{folder + "/" + p.name},
		Env:        []string{"PATH=" + folder + ":/usr/bin:/bin"},
		User:       user,
		WorkingDir: "/",
		Labels: map[string]string{
			"org.opencontainers.image.source":  source,
			"org.opencontainers.image.title":   p.name,
			"org.opencontainers.image.version": version,
		},
	}
	if revision := p.revision(); revision != "" {
		config.Config.Labels["org.opencontainers.image.revision"] = revision
	}
	return mutate.ConfigFile(image, config)
}
