package controller

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/provider"
	"github.com/fairlead-io/fairlead/internal/health"
	"github.com/fairlead-io/fairlead/internal/manager/controller/cluster"
	"github.com/fairlead-io/fairlead/internal/manager/controller/corporateproxy"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machines"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
	"github.com/fairlead-io/fairlead/internal/manager/controller/waves"
	"github.com/fairlead-io/fairlead/internal/manager/statuspage"
	"github.com/fairlead-io/fairlead/internal/write/cage"
)

// CheckCage returns an error unless the operator's cage holds for who we are. The cage is three policies of config/rbac:
// admission_policy.yaml lets it write its own Secrets, configmap_policy.yaml its own ConfigMaps, and writes_policy.yaml
// whatever else it is there for.
func CheckCage(ctx context.Context, c client.Client, namespace string) error {
	return cage.Check(ctx, c, cage.Policies{
		Secrets: "fairlead-operator-secrets", ConfigMaps: "fairlead-operator-configmaps", Writes: "fairlead-operator-writes",
	}, namespace)
}

// Options are the operator's settings.
type Options struct {
	Namespace       string               // the operator's own: its Secrets, its lease
	LeaderElection  bool                 // one active replica at a time
	MetricsAddress  string               // host:port, or 0 for none
	MetricsSecure   bool                 // metrics are for those with the right to read them, and by https
	HealthAddress   string               // host:port, or 0 for none
	ReapplyInterval time.Duration        // how often Secrets are applied although nothing changed
	RolloutInterval time.Duration        // between the beginnings of two clusters' rollouts
	Grace           time.Duration        // before a cluster that no CorporateProxy selects gets blank Secrets
	Concurrency     int                  // clusters reconciled at a time
	Preflight       bool                 // "fairlead-operator preflight" runs, and tries new revisions
	Management      types.NamespacedName // the management cluster's own Cluster; may be empty
}

// metricsServer serves the metrics. What else it serves has a filter of its own.
func metricsServer(opts Options) metricsserver.Options {
	server := metricsserver.Options{BindAddress: opts.MetricsAddress, SecureServing: opts.MetricsSecure}
	if !opts.MetricsSecure {
		return server
	}
	server.FilterProvider = func(config *rest.Config, client *http.Client) (metricsserver.Filter, error) {
		filter, err := statuspage.Filter(config, client)
		if err != nil {
			return nil, err
		}
		return func(log logr.Logger, handler http.Handler) (http.Handler, error) {
			filtered, err := filter(log, handler)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == metricsPath {
					filtered.ServeHTTP(w, r)
					return
				}
				handler.ServeHTTP(w, r)
			}), err
		}, nil
	}
	return server
}

const metricsPath = "/metrics" // controller-runtime's

// NewManager returns the operator, ready to be started.
func NewManager(config *rest.Config, opts Options) (manager.Manager, error) {
	scheme, err := machinery.Scheme()
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		MapperProvider:                newMapper,
		Cache:                         caches(opts.Namespace),
		LeaderElection:                opts.LeaderElection,
		LeaderElectionID:              "fairlead-operator",
		LeaderElectionNamespace:       opts.Namespace,
		LeaderElectionReleaseOnCancel: true,
		Metrics:                       metricsServer(opts),
		HealthProbeBindAddress:        opts.HealthAddress,
	})
	if err != nil {
		return nil, err
	}
	recorder := mgr.GetEventRecorder("fairlead")
	read := &settings.Installations{Client: mgr.GetClient(), Namespace: opts.Namespace}
	key := &settings.Key{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Namespace: opts.Namespace}
	clusters := (&cluster.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Events: recorder, Namespace: opts.Namespace, Management: opts.Management,
		Builtin: provider.Builtin, Interval: opts.ReapplyInterval, Grace: opts.Grace, Proxies: read, Key: key,
	}).Begin()
	clusters.Waves = &waves.Reconciler{
		Client: mgr.GetClient(), Proxies: read, Latest: clusters.Latest, Started: time.Now(),
		Revisions: &settings.Revisions{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Namespace: opts.Namespace, Key: key},
		Preflight: &waves.Preflight{Client: mgr.GetClient(), Namespace: opts.Namespace, Enabled: opts.Preflight},
	}
	proxies := &corporateproxy.Reconciler{Client: mgr.GetClient(), Proxies: read, Waves: clusters.Waves, Events: recorder}
	rollout := &machines.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Events: recorder, Interval: opts.RolloutInterval, Now: time.Now, Revisions: clusters.Waves.Revisions,
	}
	RegisterMetrics(mgr.GetClient(), mgr.Elected())
	return mgr, errors.Join(clusters.Register(mgr, opts.Concurrency), clusters.Waves.Register(mgr), proxies.Register(mgr), rollout.Register(mgr), health.Add(mgr, watched()))
}

// caches watches Fairlead's own kinds, and Secrets and ConfigMaps only in the operator's own namespace. A read of any
// other object is an error instead of a new watch.
func caches(namespace string) cache.Options {
	own := map[string]cache.Config{namespace: {}}
	return cache.Options{
		ReaderFailOnMissingInformer: true,
		DefaultTransform:            trim,
		NewInformer:                 newInformer,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}:    {Namespaces: own},
			&corev1.ConfigMap{}: {Namespaces: own},
		},
	}
}

// watched lists what both controllers watch.
func watched() []client.Object {
	namespaces := &metav1.PartialObjectMetadata{}
	namespaces.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	all := []client.Object{
		&clusterv1.Cluster{}, &v1alpha1.CorporateProxy{}, &v1alpha1.ProxyOverride{}, &v1alpha1.ProxyReport{},
		&corev1.Secret{}, &corev1.ConfigMap{}, namespaces,
	}
	for _, object := range cluster.MachineMetadata() {
		all = append(all, object)
	}
	return all
}

// mapper remembers what the kinds of Kubernetes and our own are called in requests: the one of controller-runtime finds it
// anew for each read and each write. Of other kinds, versions come and go.
type mapper struct {
	meta.RESTMapper
	known sync.Map // schema.GroupVersionKind to *meta.RESTMapping
}

func newMapper(config *rest.Config, client *http.Client) (meta.RESTMapper, error) {
	of, err := apiutil.NewDynamicRESTMapper(config, client)
	return &mapper{RESTMapper: of}, err
}

// RESTMapping has the errors of the mapper that it asks.
func (m *mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if len(versions) != 1 || kind.Group != corev1.GroupName && kind.Group != v1alpha1.GroupVersion.Group {
		return m.RESTMapper.RESTMapping(kind, versions...)
	}
	key := kind.WithVersion(versions[0])
	if found, ok := m.known.Load(key); ok {
		return found.(*meta.RESTMapping), nil
	}
	found, err := m.RESTMapper.RESTMapping(kind, versions...)
	if err == nil {
		m.known.Store(key, found)
	}
	return found, err
}
