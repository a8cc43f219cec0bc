package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/howto"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// pageFiles are the files whose commands run, by their path from the root of the repository.
func pageFiles(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(markdown(t), func(file string) bool {
		top, _, _ := strings.Cut(file, "/")
		return !slices.Contains([]string{"README.md", "docs", "charts", "policies", "examples"}, top)
	})
}

// run counts what the pages do.
type run struct {
	mu               sync.Mutex
	blocks, compared int
	notRun           []string // rows of a table
}

// TestEveryCommandOfTheDocumentationRuns runs a page's blocks in their order. A block that neither runs nor says why not
// fails it. Pages without a cluster run beside those that share the demo's; those that begin with nothing come last.
func TestEveryCommandOfTheDocumentationRuns(t *testing.T) {
	pages := readPages(t)
	path := programs(t)
	r := &run{}
	began := time.Now()
	t.Run("WithoutACluster", func(t *testing.T) { r.all(t, of(pages, ""), path, nil) })
	t.Run("OnTheDemo", func(t *testing.T) {
		pages := of(pages, "demo")
		if tier.Short() {
			pages = slices.DeleteFunc(pages, func(p howto.Document) bool { return p.File != "docs/tutorial.md" })
		}
		if len(pages) > 0 {
			r.all(t, pages, path, startCluster(t))
		}
	})
	for _, p := range of(pages, "empty") {
		t.Run("OnAClusterOfItsOwn", func(t *testing.T) { tier.Full(t); r.all(t, []howto.Document{p}, path, startCluster(t)) })
	}
	slices.Sort(r.notRun)
	fmt.Printf("%s\n%s, %d pages, %.0f s\n", strings.Join(r.notRun, "\n"), r, len(pages), time.Since(began).Seconds())
	if t.Failed() || os.Getenv("PAGE") != "" || tier.Short() {
		return
	}
	if r.blocks < 100 || r.compared < 45 {
		t.Errorf("too few: %s", r)
	}
	if len(r.notRun)*2 > r.blocks {
		t.Errorf("too many that do not run: %s", r)
	}
}

func of(pages []howto.Document, cluster string) []howto.Document {
	return slices.DeleteFunc(slices.Clone(pages), func(p howto.Document) bool { return p.Cluster != cluster })
}

func readPages(t *testing.T) []howto.Document {
	t.Helper()
	var pages []howto.Document
	only := regexp.MustCompile(os.Getenv("PAGE")) // for who writes one
	for _, file := range pageFiles(t) {
		content := controlplanetest.ReadFile(t, filepath.Join(root, file))
		p, err := howto.Parse(file, string(content))
		if err != nil {
			t.Error(err)
		}
		if only.MatchString(file) {
			pages = append(pages, p)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	return pages
}

func (r *run) all(t *testing.T, pages []howto.Document, path string, cp *controlplane.ControlPlane) {
	t.Helper()
	for _, p := range pages {
		for _, s := range p.Steps {
			if s.NotRun != "" {
				first, _, _ := strings.Cut(s.Text, "\n")
				r.notRun = append(r.notRun, fmt.Sprintf("not run: %s:%d: %.60s: %s", p.File, s.Line, first, s.NotRun))
			}
		}
		if !slices.ContainsFunc(p.Steps, func(s howto.Step) bool { return len(s.Commands) > 0 && !s.Given }) {
			continue // nothing runs
		}
		t.Run(p.File, func(t *testing.T) {
			kubeconfig := "/dev/null"
			if cp == nil {
				t.Parallel()
			} else {
				kubeconfig = cp.AdminKubeconfig()
			}
			sh := startShell(t, checkout(t), environment(t, path, kubeconfig))
			if p.Cluster == "demo" {
				if output, status, err := sh.run(demo, true); err != nil || status != 0 {
					t.Fatalf("install the demo: status %d, %v\n%s", status, err, output)
				}
			}
			for _, s := range p.Steps {
				r.step(t, sh, p, s)
			}
		})
	}
}

func (r *run) step(t *testing.T, sh *shell, p howto.Document, s howto.Step) {
	t.Helper()
	if s.Writes != "" {
		if err := os.WriteFile(filepath.Join(sh.cmd.Dir, s.Writes), []byte(s.Text+"\n"), 0o600); err != nil {
			t.Fatalf("%s:%d: %v", p.File, s.Line, err)
		}
	}
	for i, c := range s.Commands {
		want := 0
		if i == len(s.Commands)-1 {
			want = s.Status
		}
		if !s.Console {
			output, status, err := sh.run(ending(c.Text, want), want == 0)
			if err != nil || status != want {
				t.Fatalf("%s:%d: status %d, want %d, %v:\n%s\n%s", p.File, s.Line, status, want, err, c.Text, output)
			}
			continue
		}
		if err := sh.show(c, want, p.Cluster != ""); err != nil {
			t.Errorf("%s:%d: %v", p.File, s.Line, err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.Given || len(s.Commands) == 0 {
		return
	}
	r.blocks++
	if s.Console {
		r.compared += len(s.Commands)
	}
}

// show runs a command until it prints what the page shows: a cluster may take a moment. One that changes something is
// run once.
func (s *shell) show(c howto.Command, want int, cluster bool) error {
	deadline := time.Now().Add(time.Minute)
	for {
		output, status, err := s.run(c.Text, false)
		switch {
		case err != nil:
			return err
		case status == want && shows(c.Want, output):
			return nil
		case !cluster || !onlyReads(c.Text) || time.Now().After(deadline):
			return fmt.Errorf("status %d, want %d:\n$ %s\n%s\nThe page shows\n%s", status, want, c.Text, output, c.Want)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func onlyReads(text string) bool {
	return strings.Contains(text, "--dry-run=server") || strings.HasPrefix(text, "kubectl get ") || strings.HasPrefix(text, "fairlead nodes") || strings.HasPrefix(text, "fairlead pods")
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	controlplanetest.Require(t, err)
	return strings.TrimSpace(string(output))
}
