package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/internal/workload/follow"
)

// followCommand is the third role, beside each relay.
func followCommand() *cobra.Command {
	opts := follow.Options{}
	cmd := role{
		check: func() error {
			if opts.Folder == "" {
				return errors.New("--folder is missing")
			}
			if (opts.Taint.Key == "") != (opts.Taint.Node == "") {
				return errors.New("--node and --remove-taint go together")
			}
			return nil
		},
		namespace: &opts.Namespace,
		run: func(ctx context.Context, config *rest.Config) error {
			return follow.Run(ctx, config, opts, slog.New(slog.NewJSONHandler(os.Stderr, nil)))
		},
	}.on(&cobra.Command{
		Use:   "follow",
		Short: "Keeps the files of a relay as the Secret fairlead-source and the ConfigMap fairlead-trusted-ca say",
	})
	flags := cmd.Flags()
	flags.StringVar(&opts.Namespace, "namespace", "", "namespace of the Secret and the ConfigMap; the pod's if empty")
	flags.StringVar(&opts.Folder, "folder", "", "folder that the relay reads")
	flags.BoolVar(&opts.AsSettings, "as-settings", false, "write one file of settings, as a machine's relay reads it, in the place of one file for each key")
	flags.StringVar(&opts.Health, "health-address", ":8098", "address of /healthz, /readyz and /metrics")
	flags.StringVar(&opts.Taint.Node, "node", "", "with --remove-taint: the node")
	flags.StringVar(&opts.Taint.Key, "remove-taint", "", "key of a taint to remove from the node once its relay is ready")
	flags.StringVar(&opts.Taint.Relay, "relay-health", "http://127.0.0.1:8099/readyz", "with --remove-taint: the readiness of the node's relay")
	return cmd
}
