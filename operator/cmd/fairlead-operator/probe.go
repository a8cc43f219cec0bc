package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/internal/workload/probe"
)

// shortestPeriod keeps a typing error from becoming a load.
const shortestPeriod = 10 * time.Second

// probeCommand is a role in a workload cluster.
func probeCommand() *cobra.Command {
	opts := probe.Options{}
	count := countOptions{}
	cmd := role{
		check: func() error {
			switch {
			case opts.Folder == "":
				return errors.New("--folder is missing")
			case opts.Period < shortestPeriod:
				return fmt.Errorf("--period is at least %s, not %s", shortestPeriod, opts.Period)
			}
			return nil
		},
		namespace: &opts.Namespace,
		run: func(ctx context.Context, config *rest.Config) (err error) {
			opts.Log = slog.New(slog.NewJSONHandler(os.Stderr, nil))
			if opts.Credentials, err = count.counter(config, opts); err != nil {
				return err
			}
			return probe.Run(ctx, config, opts)
		},
	}.on(&cobra.Command{
		Use:   "probe",
		Short: "Tries what the cluster must reach and what not, from its own pod and through every node's relay, and publishes the result",
	})
	flags := cmd.Flags()
	flags.StringVar(&opts.Namespace, "namespace", "", "namespace of the relays and of the result; the pod's if empty")
	flags.StringVar(&opts.Folder, "folder", "", "folder of the settings, as a relay reads it")
	flags.StringVar(&opts.Targets, "targets", "", "file of targets: a list of url, expect and route; read again when it changes")
	flags.DurationVar(&opts.Period, "period", time.Minute, "time between two rounds")
	flags.StringVar(&opts.Client, "client", "go", "the HTTP client whose reading of NO_PROXY decides; fairlead clients lists them")
	flags.StringVar(&opts.RelaySelector, "relay-selector", "", "labels of the relays' pods, one on each node; empty: no node is tried")
	flags.StringVar(&opts.NodeSelector, "node-selector", "", "with --relay-selector: labels of the nodes that have a relay; empty: all")
	flags.BoolVar(&opts.Discover, "discover", false, "try the registries of images on nodes, and the hubs of --agent-selector, too")
	flags.StringArrayVar(&opts.AgentSelectors, "agent-selector", nil, "with --discover: labels of agents of reverse tunnels; may be repeated")
	flags.StringVar(&opts.MetricsAddress, "metrics-bind-address", ":8080", "address of the metrics endpoint; 0 for none")
	flags.StringVar(&opts.HealthAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 for none")
	count.flags(flags)
	return cmd
}
