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
	for _, tool := range tools.All() {
		if len(names) > 0 && !slices.Contains(names, tool.Name) {
			continue
		}
		path, err := tools.Build(ctx, tool, os.Stderr)
		if err != nil {
			return err
		}
		fmt.Println(path)
	}
	if len(names) > 0 {
		return nil
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
