package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// build makes the programs before the clock of the demo itself starts.
func (s *stage) build(ctx context.Context) error {
	theirs := []tools.Tool{tools.Etcd, tools.KubeAPIServer, tools.KubeControllerManager, tools.Helm, tools.Kyverno}
	if !s.keep {
		theirs = append(theirs, tools.ClusterAPICore)
	}
	ours := []string{"fairlead-operator", "fairlead", "fairlead-relay"}
	paths := make([]string, len(ours))
	count := len(theirs) + len(ours)
	for i, tool := range theirs {
		path, err := tools.Build(ctx, tool, numbered{s.screen, i + 1, count})
		if err != nil {
			return err
		}
		s.programs[tool.Name] = path
	}
	own := func(i int) error {
		slow := time.AfterFunc(quiet, func() {
			fmt.Fprintf(numbered{s.screen, len(theirs) + i + 1, count}, "building %s of this repository…\n", ours[i])
		})
		defer slow.Stop()
		path, err := tools.Program(ctx, ours[i])
		if ctx.Err() != nil {
			return ctx.Err()
		}
		paths[i] = path
		return err
	}
	// The first one compiles what all of them have in common.
	if err := own(0); err != nil {
		return err
	}
	if err := together(func() error { return own(1) }, func() error { return own(2) }); err != nil {
		return err
	}
	for i, name := range ours {
		s.programs[name] = paths[i]
	}
	return nil
}

// commandLine is what a person types for it.
func commandLine(name string, args []string) string {
	return name + " " + strings.ReplaceAll(strings.Join(args, " "), "--set=", "--set ")
}

// numbered says of which program a message is.
type numbered struct {
	*screen
	number, count int
}

func (n numbered) Write(text []byte) (int, error) {
	_, err := fmt.Fprintf(n.screen, "%d of %d: %s", n.number, n.count, text)
	return len(text), err
}

// run runs one of the programs in the repository's folder, as somebody with all rights would, and returns what it
// prints. An exit status of 1 is an answer to some questions: those take the error.
func (s *stage) run(ctx context.Context, stdin []byte, name string, args ...string) (string, error) {
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, s.programs[name], args...)
	cmd.Dir = repository.Path()
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.cp.AdminKubeconfig(), "KUBECACHEDIR="+filepath.Join(s.cp.Dir(), "cache"))
	for _, home := range []string{"CACHE", "CONFIG", "DATA"} {
		cmd.Env = append(cmd.Env, "HELM_"+home+"_HOME="+filepath.Join(s.cp.Dir(), "helm"))
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &out, &complaints
	err := cmd.Run()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	var status *exec.ExitError
	if errors.As(err, &status) && status.ExitCode() == 1 && complaints.Len() == 0 {
		return out.String(), err
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, args[0], err, strings.TrimSpace(complaints.String()))
	}
	return out.String(), nil
}
