package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fairlead-io/fairlead/internal/version"
)

const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// role has the parts of a command that differ. All commands have a log, and a way to reach an API
// server.
type role struct {
	kubeconfig string       // what the flag is for; empty: as for most
	check      func() error // of the options; may be nil
	namespace  *string      // its own, which is the pod's where none is given; nil: it needs none
	run        func(context.Context, *rest.Config) error
}

// on makes the command do what the role is.
func (r role) on(cmd *cobra.Command) *cobra.Command {
	var kubeconfig, level string
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := setLogger(level); err != nil {
			return err
		}
		if r.check != nil {
			if err := r.check(); err != nil {
				return err
			}
		}
		config, err := restConfig(kubeconfig)
		if err != nil {
			return err
		}
		if r.namespace != nil {
			if *r.namespace, err = ownNamespace(*r.namespace); err != nil {
				return err
			}
		}
		return r.run(cmd.Context(), config)
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", cmp.Or(r.kubeconfig, "kubeconfig file; the pod's service account if empty"))
	cmd.Flags().StringVar(&level, "log-level", "info", "error, info, debug or trace")
	return cmd
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
	level, ok := levels[name]
	if !ok {
		return fmt.Errorf("--log-level is error, info, debug or trace, not %q", name)
	}
	logger := logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	return nil
}
