package release

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/fairlead-io/fairlead/images"
)

// Images copies the files about the pushed images to the release: the list with their digests, and a bill of materials
// for each platform.
func Images(options Options) error {
	names := []string{images.List}
	for _, name := range images.Names {
		for _, platform := range images.Platforms {
			names = append(names, images.BillName(name, platform))
		}
	}
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(options.Images, name))
		if err != nil {
			return fmt.Errorf("build the images first: %w", err)
		}
		if err := options.write(name, content); err != nil {
			return err
		}
	}
	return nil
}
