// Command build makes the programs that the tests run, ahead of the tests: a first build takes longer than go test
// waits for a package. Without arguments it makes all of them, Fairlead's own, and the parts of machines. With -short
// it makes only those of make test.
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
	if err := tools.BuildAll(ctx, wanted, os.Stderr); err != nil {
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

// tell prints a program that cannot be had on this machine, and goes on: the tests that need it skip, or fail in CI.
func tell(err error) error {
	if errors.Is(err, tools.ErrUnavailable) {
		fmt.Fprintln(os.Stderr, err)
		return nil
	}
	return err
}
