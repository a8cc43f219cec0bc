package replicator

import (
	"context"
	"errors"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
	"github.com/fairlead-io/fairlead/internal/health"
	"github.com/fairlead-io/fairlead/internal/write/cage"
)

// Options are the replicator's settings.
type Options struct {
	Namespace          string   // its own, where the source is
	Source             string   // the Secret that is copied; empty: that of the name that the copies have
	ExcludeNamespaces  []string // that get no copy
	OnDemandNamespaces []string // that get one only while a pod there refers to it
	LeaderElection     bool     // one active replica at a time
	CountCredentials   bool     // and watch all pods for that
	EndExclusions      bool     // of namespaces, when their time has come
	MetricsAddress     string   // host:port, or 0 for none
	HealthAddress      string   // host:port, or 0 for none
}

// Run runs the replicator until the context ends. It refuses to run uncaged: without the
// ValidatingAdmissionPolicies of charts/fairlead-policies.
func Run(ctx context.Context, config *rest.Config, opts Options) error {
	mgr, err := newManager(config, opts)
	if err != nil {
		return err
	}
	policies := cage.Policies{
		Secrets: "fairlead-replicator-secrets", ConfigMaps: "fairlead-replicator-configmaps", Writes: "fairlead-replicator-writes",
	}
	if err := cage.Check(ctx, mgr.GetClient(), policies, opts.Namespace); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func newManager(config *rest.Config, opts Options) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), coordinationv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         caches(),
		LeaderElection:                opts.LeaderElection,
		LeaderElectionID:              "fairlead-replicator",
		LeaderElectionNamespace:       opts.Namespace,
		LeaderElectionReleaseOnCancel: true,
		Metrics:                       metricsserver.Options{BindAddress: opts.MetricsAddress},
		HealthProbeBindAddress:        opts.HealthAddress,
	})
	if err != nil {
		return nil, err
	}
	demand, err := newOnDemand(config, opts.OnDemandNamespaces)
	if err != nil {
		return nil, err
	}
	origin, err := newOrigin(config, opts.Namespace, opts.Source)
	if err != nil {
		return nil, err
	}
	r := &Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Events: mgr.GetEventRecorder("fairlead"),
		Namespace: opts.Namespace, Excluded: opts.ExcludeNamespaces, OnDemand: demand,
		origin: origin, secrets: secretCopies(), trustedCAs: trustedCACopies(),
	}
	metrics.Registry.MustRegister(r.collectors()...)
	if opts.CountCredentials {
		counter, err := newCredentials(config, opts.Namespace, mgr.GetClient())
		if err != nil {
			return nil, err
		}
		metrics.Registry.MustRegister(counter)
		if err := mgr.Add(counter.pods); err != nil {
			return nil, err
		}
	}
	if opts.EndExclusions {
		exclusions := &Exclusions{Client: mgr.GetClient(), Events: mgr.GetEventRecorder("fairlead"), Now: time.Now}
		metrics.Registry.MustRegister(exclusions)
		if err := exclusions.Register(mgr); err != nil {
			return nil, err
		}
	}
	// A bad source is no reason not to be ready: it concerns no other replica less.
	watched := []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}, metadata("Namespace"), metadata("Pod")}
	return mgr, errors.Join(r.Register(mgr), health.Add(mgr, watched))
}

// caches watches the Secrets and ConfigMaps of our names in all namespaces, by field selectors, which is what RBAC lets
// through with resourceNames, the metadata of namespaces, and which pods have the label of those that mount the
// ConfigMap. A read of anything else is an error instead of a new watch.
func caches() cache.Options {
	shared := &bundle{}
	return cache.Options{
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {
				Field:     fields.OneTermEqualSelector("metadata.name", proxysecret.Name),
				Transform: shared.share,
			},
			&corev1.ConfigMap{}: {
				Field:     fields.OneTermEqualSelector("metadata.name", proxysecret.TrustedCAName),
				Transform: shared.share,
			},
			metadata("Namespace"): {Transform: cache.TransformStripManagedFields()},
			metadata("Pod"):       {Label: mounting, Transform: nameAlone},
		},
	}
}

// mounting selects the pods that mount the ConfigMap.
var mounting = func() labels.Selector {
	exists, _ := labels.NewRequirement(proxysecret.TrustedCALabel, selection.Exists, nil)
	return labels.NewSelector().Add(*exists)
}()

// nameAlone is all that is kept of a pod.
func nameAlone(object any) (any, error) {
	pod, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	kept := metadata("Pod")
	kept.ObjectMeta = identity(pod)
	return kept, nil
}

// identity returns what a cache needs of an object.
func identity(object client.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
	}
}

// ownCache is one beside the manager's. It runs on a standby, too: what a controller of a standby awaits in vain ends it.
type ownCache struct{ cache.Cache }

// NeedLeaderElection is false: a manager would take it for work of the leader (manager.LeaderElectionRunnable).
func (ownCache) NeedLeaderElection() bool { return false }

func newCache(config *rest.Config, options cache.Options) (cache.Cache, error) {
	made, err := cache.New(config, options)
	if err != nil {
		return nil, err
	}
	return ownCache{made}, nil
}

// bundle is the one that was last seen. A bundle can have a quarter of a megabyte, and hundreds of copies in the cache
// have the same.
type bundle struct {
	mu     sync.Mutex
	text   string // of ConfigMaps
	binary []byte // of Secrets from before there was a ConfigMap
}

// share makes equal bundles of successive objects one in memory. It is a transformation of the cache's.
func (b *bundle) share(object any) (any, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch o := object.(type) {
	case *corev1.ConfigMap:
		if text, ok := o.Data[proxysecret.CAKey]; ok {
			if text != b.text {
				b.text = text
			}
			o.Data[proxysecret.CAKey] = b.text
		}
	case *corev1.Secret:
		if binary, ok := o.Data[proxysecret.CAKey]; ok {
			if string(binary) != string(b.binary) {
				b.binary = binary
			}
			o.Data[proxysecret.CAKey] = b.binary
		}
	}
	return object, nil
}
