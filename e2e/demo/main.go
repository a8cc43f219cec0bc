// Command demo shows Fairlead at work: its charts installed by the real Helm on a real control plane that it starts
// for the purpose, its processes started as the charts' Deployments say, its policies evaluated by the real Kyverno. It
// leaves nothing behind. With KEEP=1 everything stays up for a look around, until demo --stop.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/deployment"
)

// nodeFlag has this program run what Fairlead's Deployments say, beside a demo that is kept. The path of the operator follows.
const nodeFlag = "--node"

func main() {
	log.SetLogger(logr.Discard()) // controller-runtime complains otherwise
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if slices.Equal(args, []string{"--stop"}) {
		if _, err := os.Stat(keptDir()); errors.Is(err, os.ErrNotExist) {
			fmt.Println("No demo is kept running.")
			return nil
		}
		return controlplane.StopKept(keptDir())
	}
	if len(args) == 2 && args[0] == nodeFlag {
		cp, err := controlplane.Kept(keptDir())
		if err != nil {
			return err
		}
		return deployment.RunNode(ctx, cp, args[1])
	}
	return demo(ctx, newScreen(os.Stdout), os.Getenv("KEEP") == "1")
}

// keptDir is where a demo that is kept has its files.
func keptDir() string { return filepath.Join(os.TempDir(), "fairlead-demo") }
