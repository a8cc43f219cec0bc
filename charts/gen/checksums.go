package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

// checksums returns what sha256sum says of the manifests behind a chart's links, by their paths in the chart.
func checksums(chart fs.FS, folders []string) ([]byte, error) {
	var sums bytes.Buffer
	for _, folder := range folders {
		var files []string
		for _, pattern := range []string{"*.yaml", "[^.]*/*.yaml"} { // a policy has a folder of its own
			found, err := fs.Glob(chart, path.Join(folder, pattern))
			if err != nil {
				return nil, err
			}
			files = append(files, found...)
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("%s has no manifests", folder)
		}
		slices.Sort(files)
		for _, file := range files {
			content, err := fs.ReadFile(chart, file)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), file)
		}
	}
	return sums.Bytes(), nil
}
