package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// checksums returns what sha256sum says of the manifests behind a chart's links, by their paths in the chart.
func checksums(chart string, folders []string) ([]byte, error) {
	var sums bytes.Buffer
	for _, folder := range folders {
		var files []string
		for _, pattern := range []string{"*.yaml", "[^.]*/*.yaml"} { // a policy has a folder of its own
			found, err := filepath.Glob(filepath.Join(chart, folder, pattern))
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
			content, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			path, err := filepath.Rel(chart, file)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), filepath.ToSlash(path))
		}
	}
	return sums.Bytes(), nil
}
