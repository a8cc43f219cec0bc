package release

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// accepted are the licences that a dependency may have: with each, Apache-2.0 programs may be given to others, if its text goes along. The
// last one is a grant beside a licence.
var accepted = []string{"Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MPL-2.0", "Unlicense", "CC0-1.0", "0BSD", "GooglePatentsFile"}

// Licence has the licences of a dependency.
type Licence struct {
	Module, Version string
	IDs             []string // SPDX
	Text            string   // of its licences and notices
}

// Licences writes THIRD_PARTY_LICENSES.txt: which modules are in the programs for any platform, what they are under, and the texts. A
// licence that nobody has accepted is an error.
func Licences(ctx context.Context, options Options) error {
	found, err := LicencesOf(ctx, options.Repository)
	if err != nil {
		return err
	}
	var table, texts strings.Builder
	table.WriteString("Fairlead's programs contain the modules below. Their licences follow.\n\n")
	for _, l := range found {
		fmt.Fprintf(&table, "%s %s: %s\n", l.Module, l.Version, strings.Join(l.IDs, ", "))
		fmt.Fprintf(&texts, "\n%s\n%s %s\n\n%s", strings.Repeat("=", 80), l.Module, l.Version, l.Text)
	}
	return options.write("THIRD_PARTY_LICENSES.txt", []byte(table.String()+texts.String()))
}

// LicencesOf returns the licences of the modules, and of Go, by their name.
func LicencesOf(ctx context.Context, repository string) ([]Licence, error) {
	modules := map[string]string{} // path and version: folder
	for _, os := range []string{"linux", "darwin", "windows"} {
		if err := addModules(ctx, repository, os, modules); err != nil {
			return nil, err
		}
	}
	var all []Licence
	for _, module := range slices.Sorted(maps.Keys(modules)) {
		path, version, _ := strings.Cut(module, " ")
		found, err := licenceOf(path, version, modules[module])
		if err != nil {
			return nil, err
		}
		all = append(all, found)
	}
	return all, nil
}

// addModules asks go what the programs import on a platform: other files of a package are compiled there.
func addModules(ctx context.Context, repository, goos string, modules map[string]string) error {
	var complaints bytes.Buffer
	const format = "{{with .Module}}{{if not .Main}}{{with .Replace}}{{.Path}} {{.Version}}\t{{.Dir}}{{else}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}{{end}}"
	list := exec.CommandContext(ctx, "go", "list", "-deps", "-f", format, "./operator/cmd/...")
	list.Dir, list.Stderr = repository, &complaints
	list.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOOS="+goos)
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("list the modules for %s: %w\n%s", goos, err, complaints.String())
	}
	for line := range strings.Lines(string(out)) {
		if module, dir, found := strings.Cut(strings.TrimSpace(line), "\t"); found {
			modules[module] = dir
		}
	}
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOVERSION").Output()
	if err != nil {
		return err
	}
	root, version, _ := strings.Cut(strings.TrimSpace(string(goroot)), "\n")
	modules["go "+version] = root
	return nil
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|unlicense)([.-].*)?$`)

func licenceOf(path, version, dir string) (Licence, error) {
	l := Licence{Module: path, Version: version}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return l, fmt.Errorf("the licence of %s: %w", path, err)
	}
	var texts strings.Builder
	for _, entry := range entries {
		if entry.IsDir() || !licenceFile.MatchString(entry.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return l, err
		}
		fmt.Fprintf(&texts, "%s:\n\n%s\n", entry.Name(), bytes.TrimSpace(text))
		for _, match := range licensecheck.Scan(text).Match {
			l.IDs = append(l.IDs, match.ID)
		}
	}
	slices.Sort(l.IDs)
	l.IDs, l.Text = slices.Compact(l.IDs), texts.String()
	if len(l.IDs) == 0 || slices.ContainsFunc(l.IDs, func(id string) bool { return !slices.Contains(accepted, id) }) {
		return l, fmt.Errorf("%s %s in %s has a licence that is not accepted, or none: %q", path, version, dir, l.IDs)
	}
	return l, nil
}
