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
	if err := buildAll(ctx, wanted); err != nil || len(names) > 0 {
		return err
	}
	for _, name := range gobuild.Programs {
		path, err := tools.Program(ctx, name)
		if err != nil {
			return err
		}
		fmt.Println(path)
	}
	if err := machine.Prepare(ctx, os.Stderr); errors.Is(err, tools.ErrUnavailable) {
		fmt.Fprintln(os.Stderr, "tests of machines cannot run:", err)
	} else if err != nil {
		return err
	}
	if short {
		return nil
	}
	_, _, err := tools.Earlier(ctx, tools.EarlierCommit)
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
				path, err := tools.Build(ctx, tool, os.Stderr)
				if err != nil {
					return err
				}
				fmt.Println(path)
			}
			return nil
		})
	}
	return group.Wait()
}
