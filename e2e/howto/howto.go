// Package howto runs the commands of a how-to page for the tests of what the page says, so that page and test cannot
// differ. It takes the blocks whose comment says that the test runs them, and writes the files that the page shows.
package howto

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Page is a page of docs/how-to, and the folder and shell in which its commands run.
type Page struct {
	sections []section
	dir      string
	env      []string
}

type section struct {
	title string
	files []block // that the page shows, by name
	runs  []block
}

type block struct{ name, text string }

var (
	mark  = regexp.MustCompile(`^<!-- (file|not run): (.*) -->$`)
	fence = "```"
)

// Read reads a page. Of its blocks of commands those run that have the comment "not run: by <by>": e2e/docs, which runs those
// of other pages, cannot have what they need. The folder is where they run: it has the repository's charts, bin with
// programs, and the values that a reader is assumed to have.
func Read(ctx context.Context, file, by, dir string, programs ...tools.Tool) (*Page, error) {
	text, err := os.ReadFile(repository.Path("docs", "how-to", file))
	if err != nil {
		return nil, err
	}
	p := &Page{dir: dir, sections: parse(string(text), "by "+by)}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return nil, err
	}
	for _, tool := range programs {
		path, err := tools.Build(ctx, tool, os.Stderr)
		if err != nil {
			return nil, err
		}
		if err := os.Symlink(path, filepath.Join(bin, tool.Name)); err != nil {
			return nil, err
		}
	}
	fairlead, err := tools.Program(ctx, "fairlead")
	if err != nil {
		return nil, err
	}
	if err := os.Symlink(fairlead, filepath.Join(bin, "fairlead")); err != nil {
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

func parse(text, runs string) []section {
	sections := []section{{}}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if title, is := strings.CutPrefix(lines[i], "## "); is {
			sections = append(sections, section{title: title})
			continue
		}
		m := mark.FindStringSubmatch(lines[i])
		if m == nil || i+1 == len(lines) || !strings.HasPrefix(lines[i+1], fence) {
			continue
		}
		var content strings.Builder
		for i += 2; i < len(lines) && lines[i] != fence; i++ {
			content.WriteString(lines[i] + "\n")
		}
		last := &sections[len(sections)-1]
		switch {
		case m[1] == "file":
			last.files = append(last.files, block{m[2], content.String()})
		case m[2] == runs:
			last.runs = append(last.runs, block{text: content.String()})
		}
	}
	return sections
}

// Dir is where the page's files are.
func (p *Page) Dir() string { return p.dir }

// File is the path of one of them.
func (p *Page) File(name string) string { return filepath.Join(p.dir, name) }

// Setenv sets a variable for the commands to come.
func (p *Page) Setenv(name, value string) { p.env = append(p.env, name+"="+value) }

// Run writes the files of the section and runs its commands, each block in a shell of its own, with texts replaced as
// strings.NewReplacer does: what the page cannot know here. It returns what they print.
func (p *Page) Run(ctx context.Context, title string, replace ...string) (string, error) {
	for _, s := range p.sections {
		if s.title != title {
			continue
		}
		for _, file := range s.files {
			if err := os.WriteFile(p.File(file.name), []byte(strings.NewReplacer(replace...).Replace(file.text)), 0o600); err != nil {
				return "", err
			}
		}
		var printed strings.Builder
		for _, run := range s.runs {
			output, err := p.Shell(ctx, strings.NewReplacer(replace...).Replace(run.text))
			printed.WriteString(output)
			if err != nil {
				return "", fmt.Errorf("section %q: %w", title, err)
			}
		}
		if len(s.runs)+len(s.files) == 0 {
			return "", fmt.Errorf("section %q has nothing to run", title)
		}
		return printed.String(), nil
	}
	return "", fmt.Errorf("the page has no section %q", title)
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

// Titles are those of the sections with something to run.
func (p *Page) Titles() []string {
	var titles []string
	for _, s := range p.sections {
		if len(s.runs)+len(s.files) > 0 {
			titles = append(titles, s.title)
		}
	}
	return titles
}
