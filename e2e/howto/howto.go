// Package howto runs the commands of a how-to page for the tests of the page's claims, so that page and test cannot
// differ. It takes the blocks whose comment says that the test runs them, and writes the files that the page shows.
package howto

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Page is a page of docs/how-to, and the folder and shell in which its commands run.
type Page struct {
	steps []Step // that write a file, or that the test runs
	dir   string
	env   []string
}

// Read reads a page. Of its blocks of commands those run that have the comment "not run: by <by>": e2e/docs, which runs those
// of other pages, cannot have what they need. The folder is where they run: it has the repository's charts, bin with
// kubectl, helm, fairlead and more programs, and the values that a reader is assumed to have.
func Read(ctx context.Context, file, by, dir string, more ...tools.Tool) (*Page, error) {
	text, err := os.ReadFile(repository.Path("docs", "how-to", file))
	if err != nil {
		return nil, err
	}
	document, err := Parse(file, string(text))
	if err != nil {
		return nil, err
	}
	p := &Page{dir: dir, steps: slices.DeleteFunc(document.Steps, func(s Step) bool { return s.Writes == "" && s.NotRun != "by "+by })}
	bin := filepath.Join(dir, "bin")
	if err := tools.Link(ctx, bin, os.Stderr, more...); err != nil {
		return nil, err
	}
	// Nothing of this machine's settings, and no look for a newer clusterctl.
	p.env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir, "CLUSTERCTL_DISABLE_VERSIONCHECK=true"}
	const values = "secret-values.yaml"
	content, err := os.ReadFile(repository.Path("examples", values))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, values), content, 0o600); err != nil {
		return nil, err
	}
	return p, os.Symlink(repository.Path("charts"), filepath.Join(dir, "charts"))
}

// File is the path of one of the page's files.
func (p *Page) File(name string) string { return filepath.Join(p.dir, name) }

// Setenv sets a variable for the commands to come.
func (p *Page) Setenv(name, value string) { p.env = append(p.env, name+"="+value) }

// Run writes the files of the section and runs its commands, each block in a shell of its own, with texts replaced as
// strings.NewReplacer does: what the page cannot know here. It returns what they print.
func (p *Page) Run(ctx context.Context, title string, replace ...string) (string, error) {
	var printed strings.Builder
	found := false
	for _, s := range p.steps {
		if s.Section != title {
			continue
		}
		found = true
		text := strings.NewReplacer(replace...).Replace(s.Text)
		if s.Writes != "" {
			if err := os.WriteFile(p.File(s.Writes), []byte(text+"\n"), 0o600); err != nil {
				return "", err
			}
			continue
		}
		output, err := p.Shell(ctx, text)
		printed.WriteString(output)
		if err != nil {
			return "", fmt.Errorf("section %q: %w", title, err)
		}
	}
	if !found {
		return "", fmt.Errorf("the page has no section %q with something to run", title)
	}
	return printed.String(), nil
}

// Shell runs a script as Run does, for what the page does not say.
func (p *Page) Shell(ctx context.Context, script string) (string, error) {
	var output, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", "-eu", "-o", "pipefail", "-c", script)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, p.env, &output, &complaints
	if err := cmd.Run(); err != nil {
		return output.String(), fmt.Errorf("%w:\n%s\n%s%s", err, script, output.String(), complaints.String())
	}
	return output.String(), nil
}

// Titles returns the titles of the sections with something to run.
func (p *Page) Titles() []string {
	var titles []string
	for _, s := range p.steps {
		titles = append(titles, s.Section)
	}
	return slices.Compact(titles)
}
