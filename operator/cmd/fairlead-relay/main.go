// Command fairlead-relay leads through the company's proxy, for programs that cannot speak to it or must not have its
// password: docs/how-to/relay.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	quiet "log"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/fairlead-io/fairlead/internal/version"
	"github.com/fairlead-io/fairlead/internal/workload/forward"
	"github.com/fairlead-io/fairlead/internal/workload/relay"
)

// memory is the heap size of a relay with targets above which the collector runs more often. It is the memory that the
// policy gives the container, less the part that the collector does not see.
const memory = 44 << 20

// Statuses beside 0: it cannot do its work, it was called wrongly.
const (
	statusFailed = 1
	statusUsage  = 2
)

func main() {
	quiet.SetOutput(io.Discard) // net/http writes there what a proxy says unasked, which may be what it was told
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// options are the command line.
type options struct {
	forward     forward.Config
	targets     []string
	install     string
	showVersion bool
}

func (o *options) define(flags *flag.FlagSet) {
	several := func(into *[]string) func(string) error {
		return func(text string) error { *into = append(*into, text); return nil }
	}
	flags.StringVar(&o.forward.Folder, "proxy", "", "folder with the keys of the Secret fairlead-proxy; read again for each connection")
	flags.Func("target", "host:port to reach through the proxy; the relay listens at 127.0.0.1:port; may be repeated", several(&o.targets))
	flags.Func("listen", "address of a forward proxy, such as 127.0.0.1:3128, or systemd for its sockets; may be repeated", several(&o.forward.Listen))
	flags.StringVar(&o.forward.Policy, "policy", "", "with --listen: a file that says who may ask, and what is reached directly")
	flags.BoolVar(&o.forward.Direct, "direct", false, "with --listen, beside one client: dial directly what NO_PROXY covers, and everything while no proxy is set")
	flags.StringVar(&o.forward.Health, "health-address", ":8099", "with --listen: address of /healthz, /readyz and /metrics")
	flags.DurationVar(&o.forward.Drain.Delay, "drain-delay", 0, "with --listen: time to go on accepting after SIGTERM")
	flags.DurationVar(&o.forward.Drain.Grace, "grace-period", 25*time.Second, "with --listen: time that tunnels have after that")
	flags.BoolVar(&o.forward.AccessLog, "access-log", false, "with --listen: a line for each request: namespace, host, port, decision, bytes")
	flags.StringVar(&o.install, "install", "", "write this program to a path, if another one or none is there, and end")
	flags.BoolVar(&o.showVersion, "version", false, "print the version")
}

// check returns the targets, or an error if the options are wrong.
func (o *options) check(args []string) ([]relay.Target, error) {
	switch {
	case len(args) > 0:
		return nil, fmt.Errorf("%q is no flag", args[0])
	case len(o.targets) > 0 && len(o.forward.Listen) > 0:
		return nil, errors.New("--target and --listen are two ways: use one")
	case len(o.forward.Listen) == 0:
		targets, err := relay.ParseTargets(o.targets)
		if err != nil {
			return nil, err
		}
		if o.forward.Folder == "" {
			return nil, errors.New("--proxy is missing: the folder in which the Secret fairlead-proxy is mounted")
		}
		return targets, nil
	case o.forward.Folder == "":
		return nil, errors.New("--proxy is missing: the folder with the settings")
	}
	return nil, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("fairlead-relay", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var o options
	o.define(flags)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return statusUsage
	}
	if len(o.forward.Listen) == 0 {
		debug.SetMemoryLimit(memory)
	}
	if o.showVersion {
		fmt.Fprintln(stdout, version.Version)
		return 0
	}
	status, err := o.run(ctx, flags.Args(), slog.New(slog.NewTextHandler(stderr, nil)))
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "fairlead-relay:", strings.TrimSpace(err.Error()))
	return status
}

// run does what the flags say. The status is for an error.
func (o *options) run(ctx context.Context, args []string, log *slog.Logger) (status int, err error) {
	if o.install != "" {
		return statusFailed, install(o.install)
	}
	targets, err := o.check(args)
	switch {
	case err != nil:
		return statusUsage, err
	case len(targets) > 0:
		return statusFailed, relay.Run(ctx, o.forward.Folder, targets, log)
	}
	return statusFailed, forward.Run(ctx, o.forward, log)
}
