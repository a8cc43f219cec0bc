package main

import (
	"errors"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/workload/follow"
)

// followCommand is the third role, beside each relay.
func followCommand() *cobra.Command {
	opts := follow.Options{}
	var kubeconfig, level string
	cmd := &cobra.Command{
		Use:   "follow",
		Short: "Keeps the files of a relay as the Secret fairlead-source and the ConfigMap fairlead-trusted-ca say",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := setLogger(level); err != nil {
				return err
			}
			if opts.Folder == "" {
				return errors.New("--folder is missing")
			}
			if (opts.Taint.Key == "") != (opts.Taint.Node == "") {
				return errors.New("--node and --remove-taint go together")
			}
			config, err := restConfig(kubeconfig)
			if err != nil {
				return err
			}
			if opts.Namespace, err = ownNamespace(opts.Namespace); err != nil {
				return err
			}
			return follow.Run(cmd.Context(), config, opts, slog.New(slog.NewJSONHandler(os.Stderr, nil)))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file; the pod's service account if empty")
	flags.StringVar(&opts.Namespace, "namespace", "", "namespace of the Secret and the ConfigMap; the pod's if empty")
	flags.StringVar(&opts.Folder, "folder", "", "folder that the relay reads")
	flags.BoolVar(&opts.AsSettings, "as-settings", false, "write one file of settings, as a machine's relay reads it, in the place of one file for each key")
	flags.StringVar(&opts.Health, "health-address", ":8098", "address of /healthz, /readyz and /metrics")
	flags.StringVar(&opts.Taint.Node, "node", "", "with --remove-taint: the node")
	flags.StringVar(&opts.Taint.Key, "remove-taint", "", "key of a taint to remove from the node once its relay is ready")
	flags.StringVar(&opts.Taint.Relay, "relay-health", "http://127.0.0.1:8099/readyz", "with --remove-taint: the readiness of the node's relay")
	flags.StringVar(&level, "log-level", "info", "error, info, debug or trace")
	return cmd
}
