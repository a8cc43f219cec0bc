// Command cost measures what the creation of a pod costs under each of the policies that give it the proxy's
// variables, and under none: on a real API server, with the real Kyverno, all in one run. The policies take turns,
// so that what else the machine does hits all alike. docs/reference/scale.md has the figures.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func main() {
	log.SetLogger(logr.Discard()) // controller-runtime complains otherwise
	options := options{Progress: os.Stderr}
	flag.IntVar(&options.Rounds, "rounds", 8, "how often each policy has its turn")
	flag.IntVar(&options.Pods, "pods", 200, "how many pods are created in a turn")
	flag.IntVar(&options.WarmUp, "warm-up", 50, "how many before them are not counted")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	results, err := measure(ctx, options)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to cancel
	}
	report(os.Stdout, options, results)
}
