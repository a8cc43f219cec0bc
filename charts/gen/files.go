package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// alike are lines that several policies have, from BEGIN and a name to END and that name: each policy is whole without a chart.
// The first of files is where they are written.
var alike = []struct {
	name  string
	files []string
}{
	{"left-out", []string{"inject-proxy-env/inject-proxy-env.yaml", "inject-trusted-ca/inject-trusted-ca.yaml", "audit-proxy-env/audit-proxy-env.yaml"}},
	{"audited", []string{"audit-proxy-env/audit-proxy-env.yaml", "audit-proxy-env/audit-proxy-unreached.yaml"}},
}

func copyAlike(folder string) error {
	for _, lines := range alike {
		var source string
		for i, file := range lines.files {
			path := filepath.Join(folder, file)
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			before, between, after, err := cutLines(string(text), lines.name)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if i == 0 {
				source = between
				continue
			}
			if err := os.WriteFile(path, []byte(before+source+after), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// cutLines cuts a text at the lines of two comments. The comment lines stay with the parts before and after.
func cutLines(text, name string) (before, between, after string, err error) {
	begin := strings.Index(text, "# BEGIN "+name)
	end := strings.Index(text, "# END "+name)
	if begin < 0 || end < begin {
		return "", "", "", fmt.Errorf("lacks a comment BEGIN %s, and after it END %s", name, name)
	}
	begin += strings.Index(text[begin:], "\n") + 1
	end = strings.LastIndex(text[:end], "\n") + 1
	return text[:begin], text[begin:end], text[end:], nil
}

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
