package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/internal/workload/preflight"
)

// preflightCommand is a role beside the operator, in the management cluster.
func preflightCommand() *cobra.Command {
	opts := preflight.Options{}
	cmd := role{
		check: func() error {
			if opts.Interval < time.Second || opts.Refused < opts.Interval {
				return fmt.Errorf("--interval is at least 1s, and --refused-interval at least as long, not %s and %s", opts.Interval, opts.Refused)
			}
			return nil
		},
		namespace: &opts.Namespace,
		run: func(ctx context.Context, config *rest.Config) (err error) {
			opts.Log = slog.New(slog.NewJSONHandler(os.Stderr, nil))
			return preflight.Run(ctx, config, opts)
		},
	}.on(&cobra.Command{
		Use:   "preflight",
		Short: "Tries the URLs and credentials of new revisions before the first cluster gets them",
		Long: `Tries the URLs and credentials of new revisions before the first cluster gets them. The
operator, with --preflight, says which in the Secret fairlead-preflight; the answers are
in the ConfigMap of that name.`,
	})
	flags := cmd.Flags()
	flags.StringVar(&opts.Namespace, "namespace", "", "the operator's namespace; the pod's if empty")
	flags.DurationVar(&opts.Interval, "interval", 30*time.Second, "until a revision is tried again that failed; up to a fifth longer")
	flags.DurationVar(&opts.Refused, "refused-interval", 10*time.Minute, "the same after the proxy refused the credentials, and twice as long each time, up to four hours: many companies lock an account after some attempts")
	flags.StringVar(&opts.Health, "health-probe-bind-address", ":8081", "address of /healthz and /readyz")
	return cmd
}
