package tools

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/images/gobuild"
)

// EarlierCommit is the one that upgrades begin with.
const EarlierCommit = "8f5aafea79e285c47523e4be6c63663e4ee19b36"

// Earlier returns the source of an earlier commit and the operator that it makes, and builds them first if they are not in
// the cache.
func Earlier(ctx context.Context, commit string) (source, program string, err error) {
	root, err := repository.Root()
	if err != nil {
		return "", "", err
	}
	id, err := run(ctx, "git", "-C", root, "rev-parse", "--verify", "--quiet", commit+"^{commit}")
	if err != nil {
		shallow, _ := run(ctx, "git", "-C", root, "rev-parse", "--is-shallow-repository")
		hint := ""
		if shallow == "true" {
			hint = ": it is shallow, and git fetch --unshallow gets the rest"
		}
		return "", "", fmt.Errorf("%w: this clone lacks commit %s, which an upgrade begins with%s", ErrUnavailable, commit, hint)
	}
	folder, err := Folder(ctx, "earlier", id, func(temp string) error {
		archive, source := filepath.Join(temp, "source.tar"), filepath.Join(temp, "source")
		for _, command := range [][]string{
			{"mkdir", source},
			{"git", "-C", root, "archive", "--output", archive, id},
			{"tar", "-xf", archive, "-C", source},
			{"rm", archive},
		} {
			if _, err := run(ctx, command[0], command[1:]...); err != nil {
				return err
			}
		}
		return gobuild.Build(ctx, gobuild.Options{
			Repository: source, Program: operatorProgram, File: filepath.Join(temp, operatorProgram),
			Flags: slices.Concat(gobuild.Quick, []string{"-buildvcs=false"}), Environment: noCollector,
		})
	})
	return filepath.Join(folder, "source"), filepath.Join(folder, operatorProgram), err
}

const operatorProgram = "fairlead-operator"

func run(ctx context.Context, name string, arguments ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, name, arguments...)
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}
