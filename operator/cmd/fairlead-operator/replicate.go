package main

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/internal/workload/replicator"
)

// replicateCommand is the second role, in a workload cluster.
func replicateCommand() *cobra.Command {
	opts := replicator.Options{}
	cmd := role{
		namespace: &opts.Namespace,
		run:       func(ctx context.Context, config *rest.Config) error { return replicator.Run(ctx, config, opts) },
	}.on(&cobra.Command{
		Use:   "replicate",
		Short: "Keeps a copy of the Secret fairlead-proxy of its own namespace in every other one, and of the ConfigMap fairlead-trusted-ca where pods mount it",
	})
	flags := cmd.Flags()
	flags.StringVar(&opts.Namespace, "namespace", "", "the replicator's own namespace, where the source is; the pod's if empty")
	flags.StringVar(&opts.Source, "source", "", "Secret of that namespace to copy instead, with HTTP_PROXY, HTTPS_PROXY and NO_PROXY, such as fairlead-source; fairlead-proxy if empty")
	flags.StringSliceVar(&opts.ExcludeNamespaces, "exclude-namespaces", nil, "namespaces without a copy, beside those with the label policies.kyverno.io/inject-proxy-env=exclude")
	flags.StringSliceVar(&opts.OnDemandNamespaces, "on-demand-namespaces", nil, "namespaces with a copy only while a pod there refers to it; * for all")
	flags.BoolVar(&opts.CountCredentials, "count-credentials", false, "count copies and pods by the fingerprint of their credentials; it watches all pods")
	flags.BoolVar(&opts.EndExclusions, "end-exclusions", false, "remove the label policies.kyverno.io/inject-proxy-env=exclude from a namespace at the time that its annotation fairlead.io/exclude-until says")
	flags.BoolVar(&opts.LeaderElection, "leader-elect", true, "take part in leader election")
	flags.StringVar(&opts.MetricsAddress, "metrics-bind-address", ":8080", "address of the metrics endpoint; 0 for none")
	flags.StringVar(&opts.HealthAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 for none")
	return cmd
}
