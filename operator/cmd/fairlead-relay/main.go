// Command fairlead-relay is a sidecar for agents that cannot speak to the company's proxy: docs/relay.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/fairlead-io/fairlead/internal/version"
	"github.com/fairlead-io/fairlead/internal/workload/relay"
)

// memory is what the heap may take before the collector runs more often: what the policy gives the container, less what
// the collector does not see.
const memory = 44 << 20

// Statuses beside 0: it cannot do its work, it was called wrongly.
const (
	statusFailed = 1
	statusUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	debug.SetMemoryLimit(memory)
	flags := flag.NewFlagSet("fairlead-relay", flag.ContinueOnError)
	flags.SetOutput(stderr)
	folder := flags.String("proxy", "", "folder with the keys of the Secret fairlead-proxy; read again for each connection")
	showVersion := flags.Bool("version", false, "print the version")
	var texts []string
	flags.Func("target", "host:port to reach through the proxy; the relay listens at 127.0.0.1:port; may be repeated", func(text string) error {
		texts = append(texts, text)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return statusUsage
	}
	if *showVersion {
		fmt.Fprintln(stdout, version.Version)
		return 0
	}
	targets, err := relay.ParseTargets(texts)
	switch {
	case err != nil:
	case flags.NArg() > 0:
		err = fmt.Errorf("%q is no flag", flags.Arg(0))
	case *folder == "":
		err = errors.New("--proxy is missing: the folder in which the Secret fairlead-proxy is mounted")
	}
	if err != nil {
		fmt.Fprintln(stderr, "fairlead-relay:", err)
		return statusUsage
	}
	if err := relay.Run(ctx, *folder, targets, slog.New(slog.NewTextHandler(stderr, nil))); err != nil {
		fmt.Fprintln(stderr, "fairlead-relay:", err)
		return statusFailed
	}
	return 0
}
