// Command demo shows Fairlead doing its main job on a real control plane that it
// starts for the purpose, and leaves nothing behind. With KEEP=1 everything stays
// up for a look around, until demo --stop.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) > 1 && os.Args[1] == "--stop" {
		return controlplane.StopKept(keptDir())
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	return demo(ctx)
}

// keptDir is where a demo that is kept has its files.
func keptDir() string { return filepath.Join(os.TempDir(), "fairlead-demo") }
