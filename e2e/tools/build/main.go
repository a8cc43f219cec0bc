// Command build makes the programs that the tests run, ahead of the tests: a first build takes longer
// than go test waits for a package. Without arguments it makes all of them, and Fairlead's own.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/images/gobuild"
)

func main() {
	if err := build(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func build(names []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	known := make(map[string]bool)
	for _, tool := range tools.All() {
		known[tool.Name] = true
	}
	for _, name := range names {
		if !known[name] {
			return fmt.Errorf("no program %q in the table", name)
		}
	}
	if err := buildAll(ctx, names); err != nil || len(names) > 0 {
		return err
	}
	for _, name := range gobuild.Programs {
		path, err := tools.Program(ctx, name)
		if err != nil {
			return err
		}
		fmt.Println(path)
	}
	return nil
}

// buildAll builds two modules at a time: a program is linked on one processor. Programs of one module have much in common,
// and come one after the other.
func buildAll(ctx context.Context, names []string) error {
	var order []string
	byModule := make(map[string][]tools.Tool)
	for _, tool := range tools.All() {
		if len(names) > 0 && !slices.Contains(names, tool.Name) {
			continue
		}
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
