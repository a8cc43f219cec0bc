package release

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const sums = "SHA256SUMS"

// Checksums writes SHA256SUMS of all files of the output, as sha256sum --check reads it.
func Checksums(options Options) error {
	entries, err := os.ReadDir(options.Output)
	if err != nil {
		return err
	}
	var out strings.Builder
	for _, entry := range entries {
		if entry.IsDir() || entry.Name() == sums {
			continue
		}
		content, err := os.ReadFile(filepath.Join(options.Output, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%x  %s\n", sha256.Sum256(content), entry.Name())
	}
	return options.write(sums, []byte(out.String()))
}
