package release

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/fairlead-io/fairlead/images"
)

// Notes writes RELEASE_NOTES.md: the section of the changelog for the version, or the section for unreleased
// changes.
func Notes(options Options) error {
	version, err := images.Version(options.Repository)
	if err != nil {
		return err
	}
	changelog, err := os.ReadFile(filepath.Join(options.Repository, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	notes, err := notesOf(string(changelog), version)
	if err != nil {
		return err
	}
	return options.write("RELEASE_NOTES.md", []byte(notes))
}

func notesOf(changelog, version string) (string, error) {
	var notes, unreleased strings.Builder
	section := ""
	for line := range strings.Lines(changelog) {
		if title, is := strings.CutPrefix(line, "## "); is {
			section, _, _ = strings.Cut(strings.Trim(strings.Fields(title)[0], "[]"), "]")
			continue
		}
		switch section {
		case version:
			notes.WriteString(line)
		case "Unreleased":
			unreleased.WriteString(line)
		}
	}
	text := strings.TrimSpace(notes.String())
	if text == "" {
		text = strings.TrimSpace(unreleased.String())
	}
	if text == "" {
		return "", fmt.Errorf("CHANGELOG.md has no section %s, and nothing under Unreleased", version)
	}
	return relative.ReplaceAllString(text, "](https://github.com/fairlead-io/fairlead/blob/v"+version+"/$1)") + "\n", nil
}

// relative are links of the changelog to files beside it, which notes are not.
var relative = regexp.MustCompile(`\]\(([^()#:\s][^():\s]*)\)`)
