package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/internal/manager/deliver"
)

// deliverCommand is a role in the management cluster, with rights of its own.
func deliverCommand() *cobra.Command {
	opts := deliver.Options{}
	cmd := role{
		kubeconfig: "kubeconfig file of the management cluster; the pod's service account if empty",
		check:      func() error { return opts.Check() }, //nolint:gocritic // as the flags have set them by then
		namespace:  &opts.Namespace,
		run:        func(ctx context.Context, config *rest.Config) error { return deliver.Run(ctx, config, opts) },
	}.on(&cobra.Command{
		Use:   "deliver",
		Short: "Has Cluster API write the Secret fairlead-source into the workload clusters of labelled Clusters",
	})
	flags := cmd.Flags()
	flags.StringVar(&opts.Namespace, "namespace", "", "its own namespace; the pod's if empty")
	flags.StringVar(&opts.WorkloadNamespace, "workload-namespace", "fairlead-system", "namespace of the Secret fairlead-source in workload clusters")
	flags.DurationVar(&opts.Renew, "renew", time.Hour, "how often unchanged settings are given to Cluster API again, which mends them in the workload cluster")
	flags.DurationVar(&opts.ReportAfter, "report-after", 10*time.Minute, "how long Cluster API may take before the report says that the settings are not applied")
	flags.StringVar(&opts.MetricsAddress, "metrics-bind-address", ":8080", "address of the metrics endpoint; 0 for none")
	flags.StringVar(&opts.HealthAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 for none")
	return cmd
}
