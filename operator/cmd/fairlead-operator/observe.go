package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/internal/manager/observe"
)

// observeCommand is a role in the management cluster, with rights of its own.
func observeCommand() *cobra.Command {
	opts := observe.Options{}
	cmd := role{
		kubeconfig: "kubeconfig file of the management cluster; the pod's service account if empty",
		check:      func() error { return opts.Check() }, //nolint:gocritic // as the flags have set them by then
		run:        func(ctx context.Context, config *rest.Config) error { return observe.Run(ctx, config, opts) },
	}.on(&cobra.Command{
		Use:   "observe",
		Short: "Reads in each workload cluster, with its kubeconfig, what the probe saw, and writes status.observed of its ProxyReport",
	})
	flags := cmd.Flags()
	flags.DurationVar(&opts.Period, "period", 5*time.Minute, "how often each cluster is observed")
	flags.StringSliceVar(&opts.Namespaces, "cluster-namespaces", nil, "namespaces of the clusters that are observed; all if empty")
	flags.StringVar(&opts.ProbeNamespace, "probe-namespace", "fairlead-system", "namespace of the ConfigMap fairlead-probe in workload clusters")
	flags.IntVar(&opts.Parallel, "parallel", 50, "clusters observed at a time")
	flags.BoolVar(&opts.Machines, "machines", false, "write the condition EgressVerified of Machines that have it as a readiness gate")
	flags.StringVar(&opts.MetricsAddress, "metrics-bind-address", ":8080", "address of the metrics endpoint; 0 for none")
	flags.StringVar(&opts.HealthAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 for none")
	return cmd
}
