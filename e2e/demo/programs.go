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

	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// build builds the command line, and begins everything else: at once if that is built, and otherwise after it, so that there
// is something to be read while programs are built.
func (s *stage) build(ctx context.Context) error {
	if _, err := os.Stat(keptDir()); err == nil && s.keep {
		return errors.New("one that was kept is there already: end it with make demo-stop")
	}
	theirs := []tools.Tool{tools.Kyverno, tools.Etcd, tools.KubeAPIServer, tools.Helm}
	if s.keep {
		theirs = append(theirs, tools.KubeControllerManager, tools.Kubectl)
	} else {
		theirs = append(theirs, tools.Aggregate, tools.ClusterAPICore)
	}
	built := tools.Built(theirs...)
	if built {
		s.begin(ctx, theirs)
	}
	if _, err := tools.Program(ctx, "fairlead"); err != nil {
		return err
	}
	if !built {
		s.begin(ctx, theirs)
	}
	return nil
}

// begin builds programs in the order of their use, and starts the control plane. A step waits for the programs that it runs,
// and fails if one cannot be built.
func (s *stage) begin(ctx context.Context, theirs []tools.Tool) {
	s.starting.Go(func() { _ = tools.BuildAll(ctx, theirs, s.screen) })
	s.starting.Go(func() {
		for _, name := range []string{"fairlead-operator", "fairlead-relay"} {
			_, _ = tools.Program(ctx, name)
		}
	})
	s.begun = s.meanwhile(func() error { return s.startControlPlane(ctx) })
}

// program returns the path of one, which is built by then.
func (s *stage) program(ctx context.Context, name string) (path string, err error) {
	s.await("the build of "+name, func() {
		if name == tools.Helm.Name {
			path, err = tools.Build(ctx, tools.Helm, s.screen)
		} else {
			path, err = tools.Program(ctx, name)
		}
	})
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return path, err
}

// examples are questions that need no cluster.
var examples = [][]string{
	{"render", "--values", valuesFile, "--cluster", clusterFile, "-o", "noproxy"},
	{"explain", "example.com", "github.com", "--values", valuesFile, "--cluster", clusterFile},
}

// askWithoutCluster is there to be read while programs are built.
func (s *stage) askWithoutCluster(ctx context.Context) error {
	for _, args := range examples {
		answer, err := s.run(ctx, nil, "fairlead", args...)
		if err != nil {
			return err
		}
		s.answers = append(s.answers, answer)
	}
	return nil
}

func (s *stage) showAnswers(context.Context) error {
	for i, args := range examples {
		s.command(commandLine("fairlead", args))
		s.say("%s", folded(strings.TrimSpace(namesOfClients.ReplaceAllString(s.answers[i], "$1 ...\n"))))
	}
	return nil
}

// commandLine returns a command as a person types it.
func commandLine(name string, args []string) string {
	return name + " " + strings.ReplaceAll(strings.Join(args, " "), "--set=", "--set ")
}

// run runs one of the programs in the repository's folder, as somebody with all rights would, and returns what it
// prints. An exit status of 1 is an answer to some questions: those take the error.
func (s *stage) run(ctx context.Context, stdin []byte, name string, args ...string) (string, error) {
	path, err := s.program(ctx, name)
	if err != nil {
		return "", err
	}
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = repository.Path()
	cmd.Env = append(os.Environ(), s.environment()...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &out, &complaints
	err = cmd.Run()
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

// environment returns variables by which programs ask this control plane, and write nowhere else.
func (s *stage) environment() []string {
	if !s.hasStarted {
		return nil
	}
	set := []string{"KUBECONFIG=" + s.cp.AdminKubeconfig(), "KUBECACHEDIR=" + filepath.Join(s.cp.Dir(), "cache")}
	for _, home := range []string{"CACHE", "CONFIG", "DATA"} {
		set = append(set, "HELM_"+home+"_HOME="+filepath.Join(s.cp.Dir(), "helm"))
	}
	return set
}
