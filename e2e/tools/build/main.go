// Command build makes the programs that the tests run, ahead of the tests: a first build takes longer
// than go test waits for a package. Without arguments it makes all of them, Fairlead's own, and what machines boot; with
// -short only those of make test.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/images/gobuild"
)

func main() {
	short := flag.Bool("short", false, "leave out what only make test-all runs")
	flag.Parse()
	if err := build(*short, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func build(short bool, names []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	wanted := tools.All()
	for _, name := range names {
		if !slices.ContainsFunc(wanted, func(tool tools.Tool) bool { return tool.Name == name }) {
			return fmt.Errorf("no program %q in the table", name)
		}
	}
	wanted = slices.DeleteFunc(wanted, func(tool tools.Tool) bool {
		return short && tool.Full || len(names) > 0 && !slices.Contains(names, tool.Name)
	})
	if err := buildAll(ctx, wanted); err != nil {
		return err
	}
	if len(names) > 0 {
		return show(ctx, wanted)
	}
	for _, name := range gobuild.Programs {
		if _, err := tools.Program(ctx, name); err != nil {
			return err
		}
	}
	if err := tell(machine.Prepare(ctx, os.Stderr)); err != nil || short {
		return err
	}
	_, _, err := tools.Earlier(ctx, tools.EarlierCommit)
	return tell(err)
}

// show prints where the programs are.
func show(ctx context.Context, wanted []tools.Tool) error {
	for _, tool := range wanted {
		path, err := tools.Build(ctx, tool, os.Stderr)
		if err != nil {
			return err
		}
		fmt.Println(path)
	}
	return nil
}

// tell has what cannot be had on this machine stop nothing: the tests that need it skip, or fail in CI.
func tell(err error) error {
	if errors.Is(err, tools.ErrUnavailable) {
		fmt.Fprintln(os.Stderr, err)
		return nil
	}
	return err
}

// buildAll builds two modules at a time: a program is linked on one processor. Programs of one module have much in common,
// and come one after the other.
func buildAll(ctx context.Context, wanted []tools.Tool) error {
	var order []string
	byModule := make(map[string][]tools.Tool)
	for _, tool := range wanted {
		if byModule[tool.Module] == nil {
			order = append(order, tool.Module)
		}
		byModule[tool.Module] = append(byModule[tool.Module], tool)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for _, module := range order {
		group.Go(func() error {
			for _, tool := range byModule[module] {
				if _, err := tools.Build(ctx, tool, os.Stderr); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
