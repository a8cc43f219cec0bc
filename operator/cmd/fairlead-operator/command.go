package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fairlead-io/fairlead/internal/manager/controller"
	"github.com/fairlead-io/fairlead/internal/version"
)

const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

func command() *cobra.Command {
	opts := controller.Options{}
	var kubeconfig, level, management string
	var page bool
	cmd := &cobra.Command{
		Use:           "fairlead-operator",
		Short:         "Keeps the proxy configuration of a fleet of Cluster API clusters",
		Example:       "  fairlead-operator --namespace fairlead-system --kubeconfig ./operator.kubeconfig --leader-elect=false",
		Version:       version.Version,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := setLogger(level); err != nil {
				return err
			}
			var err error
			if opts.Management, err = managementCluster(management); err != nil {
				return err
			}
			if opts.ReapplyInterval < time.Second {
				return fmt.Errorf("--reapply-interval is at least 1s, not %s", opts.ReapplyInterval)
			}
			if opts.RolloutInterval < time.Second {
				return fmt.Errorf("--rollout-interval is at least 1s, not %s", opts.RolloutInterval)
			}
			if opts.Grace < 0 {
				return fmt.Errorf("--unselected-grace-period is not negative, as %s is", opts.Grace)
			}
			if page && opts.MetricsAddress == "0" {
				return errors.New("--status-page is served beside the metrics: --metrics-bind-address is not 0 with it")
			}
			return run(cmd, kubeconfig, opts, page)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file; the pod's service account if empty")
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
	flags.StringVar(&level, "log-level", "info", "error, info, debug or trace")
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

func run(cmd *cobra.Command, kubeconfig string, opts controller.Options, page bool) error {
	config, err := restConfig(kubeconfig)
	if err != nil {
		return err
	}
	if opts.Namespace, err = ownNamespace(opts.Namespace); err != nil {
		return err
	}
	mgr, err := controller.NewManager(config, opts)
	if err != nil {
		return err
	}
	if page {
		if err := addStatusPage(mgr, opts); err != nil {
			return err
		}
	}
	if err := controller.CheckCage(cmd.Context(), mgr.GetClient(), opts.Namespace); err != nil {
		return err
	}
	return mgr.Start(cmd.Context())
}

// ownNamespace is the pod's where none is given.
func ownNamespace(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	text, err := os.ReadFile(namespaceFile)
	if err != nil {
		return "", errors.New("--namespace is needed outside a pod")
	}
	return strings.TrimSpace(string(text)), nil
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig) // the pod's service account for ""
	if err != nil {
		return nil, fmt.Errorf("no way to reach the API server: %w", err)
	}
	config.UserAgent = "fairlead-operator/" + version.Version
	config.QPS = -1 // the API server's priority and fairness limits, not the client
	return config, nil
}

// setLogger writes JSON to stderr. The levels end at trace, 5 in klog's
// counting: from 8 on, client-go logs the bodies of requests, and ours hold
// passwords.
func setLogger(name string) error {
	levels := map[string]slog.Level{"error": slog.LevelError, "info": slog.LevelInfo, "debug": -1, "trace": -5}
	level, known := levels[name]
	if !known {
		return fmt.Errorf("--log-level is error, info, debug or trace, not %q", name)
	}
	logger := logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	return nil
}
