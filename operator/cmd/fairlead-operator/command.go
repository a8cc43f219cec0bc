package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/internal/manager/controller"
	"github.com/fairlead-io/fairlead/internal/version"
)

func command() *cobra.Command {
	opts := controller.Options{}
	var management string
	var page bool
	cmd := role{
		check: func() (err error) {
			if opts.Management, err = managementCluster(management); err != nil {
				return err
			}
			switch {
			case opts.ReapplyInterval < time.Second:
				return fmt.Errorf("--reapply-interval is at least 1s, not %s", opts.ReapplyInterval)
			case opts.RolloutInterval < time.Second:
				return fmt.Errorf("--rollout-interval is at least 1s, not %s", opts.RolloutInterval)
			case opts.Grace < 0:
				return fmt.Errorf("--unselected-grace-period is not negative, as %s is", opts.Grace)
			case page && opts.MetricsAddress == "0":
				return errors.New("--status-page is served beside the metrics: --metrics-bind-address is not 0 with it")
			}
			return nil
		},
		namespace: &opts.Namespace,
		run:       func(ctx context.Context, config *rest.Config) error { return run(ctx, config, opts, page) },
	}.on(&cobra.Command{
		Use:           "fairlead-operator",
		Short:         "Keeps the proxy configuration of a fleet of Cluster API clusters",
		Example:       "  fairlead-operator --namespace fairlead-system --kubeconfig ./operator.kubeconfig --leader-elect=false",
		Version:       version.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
	})
	flags := cmd.Flags()
	flags.StringVar(&opts.Namespace, "namespace", "", "the operator's own namespace; the pod's if empty")
	flags.BoolVar(&opts.LeaderElection, "leader-elect", true, "take part in leader election")
	flags.StringVar(&opts.MetricsAddress, "metrics-bind-address", ":8080", "address of the metrics endpoint; 0 for none")
	flags.BoolVar(&opts.MetricsSecure, "metrics-secure", false, "serve the metrics by https, to whom the API server knows and gives the right to get /metrics")
	flags.StringVar(&opts.HealthAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 for none")
	flags.DurationVar(&opts.ReapplyInterval, "reapply-interval", time.Hour, "how often unchanged Secrets are applied again, to repair drift")
	flags.DurationVar(&opts.RolloutInterval, "rollout-interval", 10*time.Minute, "shortest time between the starts of two clusters' rollouts")
	flags.DurationVar(&opts.Grace, "unselected-grace-period", time.Minute, "how long a new cluster that no CorporateProxy selects waits for one, or for its labels, before it gets blank Secrets")
	flags.IntVar(&opts.Concurrency, "concurrency", 4, "clusters reconciled at a time")
	flags.BoolVar(&opts.Preflight, "preflight", false, "have fairlead-operator preflight try a new revision before the first cluster gets it")
	flags.BoolVar(&page, "status-page", false, "serve /status and /status.json beside the metrics, to whom the API server knows and gives the right")
	flags.StringVar(&management, "management-cluster", "", "namespace/name of the Cluster that is the management cluster: its report shows whether it reaches the other endpoints directly")
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.AddCommand(replicateCommand(), followCommand(), probeCommand(), observeCommand(), deliverCommand(), preflightCommand())
	return cmd
}

// managementCluster reads the flag of that name.
func managementCluster(flag string) (types.NamespacedName, error) {
	if flag == "" {
		return types.NamespacedName{}, nil
	}
	namespace, name, _ := strings.Cut(flag, "/")
	if namespace == "" || name == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}, fmt.Errorf("--management-cluster is namespace/name of a Cluster, not %q", flag)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

func run(ctx context.Context, config *rest.Config, opts controller.Options, page bool) error {
	mgr, err := controller.NewManager(config, opts)
	if err != nil {
		return err
	}
	if page {
		if err := addStatusPage(mgr, opts); err != nil {
			return err
		}
	}
	if err := controller.CheckCage(ctx, mgr.GetClient(), opts.Namespace); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
