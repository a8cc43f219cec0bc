package images

import (
	"context"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Standalone is a program without an image.
type Standalone struct {
	Content []byte
	Info    *debug.BuildInfo
	Created time.Time // of the commit
	Bill    []byte    // of materials, CycloneDX
}

// BuildStandalone builds a program as it is in the images, for any platform.
func BuildStandalone(ctx context.Context, repository, name, version string, platform v1.Platform) (Standalone, error) {
	temp, err := os.MkdirTemp("", "fairlead-build-")
	if err != nil {
		return Standalone{}, err
	}
	defer os.RemoveAll(temp)
	p, err := compile(ctx, repository, name, platform, temp)
	if err != nil {
		return Standalone{}, err
	}
	bill, err := billOf(p, version)
	return Standalone{Content: p.content, Info: p.info, Created: p.created(), Bill: bill}, err
}

// Version returns the version in the repository: the charts and the images have
// the same one.
func Version(repository string) (string, error) {
	number, err := os.ReadFile(filepath.Join(repository, "internal", "version", "VERSION"))
	return strings.TrimSpace(string(number)), err
}
