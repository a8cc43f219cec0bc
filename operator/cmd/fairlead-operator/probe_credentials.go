package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/internal/workload/credentials"
	"github.com/fairlead-io/fairlead/internal/workload/probe"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// countOptions are the flags about who has which credentials.
type countOptions struct {
	count, unseen []string
	copiesLeft    string
}

func (o *countOptions) flags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.count, "count", nil, "whose credentials are counted by fingerprint: copies (and pods, by the replicator), relays; empty: nobody's")
	flags.StringArrayVar(&o.unseen, "unseen", nil, "with --count: what has credentials, too, and cannot be looked at from here; may be repeated")
	flags.StringVar(&o.copiesLeft, "copies-left", "", "with --count: a file; as long as it is there, copies of the Secret fairlead-proxy may be, which nobody counts")
}

// counter returns nil where nobody is to be counted.
func (o *countOptions) counter(config *rest.Config, opts probe.Options) (probe.CredentialsCounter, error) {
	if len(o.count) == 0 {
		return nil, nil //nolint:nilnil // none
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	folder := upstream.NewFolder(opts.Folder, slog.New(slog.DiscardHandler))
	count := credentials.Options{
		Unseen: o.unseen, CopiesLeft: o.copiesLeft, Period: opts.Period,
		List: clients.CoreV1().Pods(opts.Namespace).List,
		Published: func(ctx context.Context) (map[string]string, error) {
			configMap, err := clients.CoreV1().ConfigMaps(opts.Namespace).Get(ctx, credentials.Published, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil, nil
			}
			return configMap.Data, err
		},
		Own: func() (*upstream.Settings, error) { return folder.Read() },
	}
	for _, what := range o.count {
		switch what {
		case "copies":
			count.Copies = true
		case "relays":
			count.Relays = true
		default:
			return nil, fmt.Errorf("--count: %q is neither copies nor relays", what)
		}
	}
	return credentials.New(count), nil
}
