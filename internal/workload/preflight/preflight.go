// Package preflight tries, in the management cluster, what a new revision says, before the first cluster gets it. It is a
// program of its own: the operator reads nothing but the API server, and this one has no right but for one Secret and one
// ConfigMap.
package preflight

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/workload/healthz"
	"github.com/fairlead-io/fairlead/internal/write/cage"
)

// Policy keeps the writes of this program to its one ConfigMap (config/preflight).
const Policy = "fairlead-preflight-writes"

// Options are all required.
type Options struct {
	Namespace string        // of the Secret and the ConfigMap
	Interval  time.Duration // until something is tried again
	Refused   time.Duration // the same after the proxy refused the credentials, at first: accounts get locked
	Health    string        // address of /healthz and /readyz
	Log       *slog.Logger
}

// Run tries until the context is done. The error says why it cannot begin.
func Run(ctx context.Context, config *rest.Config, opts Options) error {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return err
	}
	writing := rest.CopyConfig(config)
	writing.Timeout = 10 * time.Second
	writer, err := client.New(writing, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	answers := &corev1.ConfigMap{}
	if err := writer.Get(ctx, types.NamespacedName{Namespace: opts.Namespace, Name: probe.PreflightName}, answers); err != nil {
		return fmt.Errorf("reading the ConfigMap of the answers, which the chart makes with preflight.enabled: %w", err)
	}
	if err := cage.AwaitPatch(ctx, writer, answers, Policy); err != nil {
		return err
	}
	r := newRunner(opts, writer, answers)
	secrets := watch(clients, opts.Namespace, r.hear)
	stop, err := healthz.ListenAndServe(opts.Health, health(secrets.HasSynced))
	if err != nil {
		return err
	}
	defer stop()
	go secrets.Run(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), secrets.HasSynced) {
		return nil
	}
	r.run(ctx)
	return nil
}

// health is ready once the Secret was read.
func health(read func() bool) http.Handler {
	return healthz.Mux("it runs", func(http.Header) (string, error) {
		if !read() {
			return "", errors.New("it does not know yet what to try")
		}
		return "it knows what to try", nil
	})
}

// watch tells of every state of the one Secret; nil: it is gone.
func watch(clients kubernetes.Interface, namespace string, hear func(*corev1.Secret)) cache.Controller {
	changed := func(found any) {
		secret, _ := found.(*corev1.Secret)
		hear(secret)
	}
	_, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(clients.CoreV1().RESTClient(), "secrets", namespace, fields.OneTermEqualSelector("metadata.name", probe.PreflightName)),
		ObjectType:    &corev1.Secret{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: changed, UpdateFunc: func(_, found any) { changed(found) }, DeleteFunc: func(any) { hear(nil) },
		},
	})
	return controller
}
