package controller

import (
	"errors"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/provider"
	"github.com/fairlead-io/fairlead/internal/health"
	"github.com/fairlead-io/fairlead/internal/manager/callers"
	"github.com/fairlead-io/fairlead/internal/manager/intern"
)

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

// Scheme knows the kinds that the operator works with.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), clusterv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
}

// metricsServer serves the metrics. What else it serves has a filter of its own.
func metricsServer(opts Options) metricsserver.Options {
	server := metricsserver.Options{BindAddress: opts.MetricsAddress, SecureServing: opts.MetricsSecure}
	if !opts.MetricsSecure {
		return server
	}
	server.FilterProvider = func(config *rest.Config, client *http.Client) (metricsserver.Filter, error) {
		filter, err := callers.Filter(config, client)
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
	scheme, err := Scheme()
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
	read := &installations{client: mgr.GetClient(), namespace: opts.Namespace}
	known, key := &memory{}, &writeKey{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Namespace: opts.Namespace}
	clusters := &ClusterReconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Events: recorder,
		Namespace: opts.Namespace, Management: opts.Management, Builtin: provider.Builtin, Interval: opts.ReapplyInterval, Grace: opts.Grace,
		Proxies: read, Key: key, memory: known, changes: &changes{client: mgr.GetClient(), live: mgr.GetAPIReader(), events: recorder, memory: known},
	}
	clusters.Waves = &WaveReconciler{
		Client: mgr.GetClient(), Proxies: read, Latest: known.latest, started: time.Now(),
		Revisions: &revisions{client: mgr.GetClient(), live: mgr.GetAPIReader(), namespace: opts.Namespace, key: key},
		Preflight: &preflight{client: mgr.GetClient(), namespace: opts.Namespace, enabled: opts.Preflight},
	}
	proxies := &CorporateProxyReconciler{Client: mgr.GetClient(), Proxies: read, Waves: clusters.Waves, Events: recorder, Now: time.Now}
	rollout := &RolloutReconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Events: recorder, Interval: opts.RolloutInterval, Revisions: clusters.Waves.Revisions,
	}
	RegisterMetrics(mgr.GetClient(), mgr.Elected())
	return mgr, errors.Join(clusters.Register(mgr, opts.Concurrency), clusters.Waves.Register(mgr), proxies.Register(mgr), rollout.Register(mgr), health.Add(mgr, watched()))
}

// caches watches what is ours, and of Secrets and ConfigMaps only the operator's
// own namespace. A read of anything else is an error instead of a new watch.
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

// trim drops from the caches what the operator does not read. (Transforms of single kinds would need these to be
// installed.)
func trim(object any) (any, error) {
	switch o := object.(type) {
	case *metav1.PartialObjectMetadata:
		if o.GroupVersionKind().Group == clusterv1.GroupVersion.Group {
			return trimMachine(o)
		}
	case *clusterv1.Cluster:
		return trimCluster(o), nil
	case *v1alpha1.ProxyReport:
		return trimReport(o), nil
	}
	return cache.TransformStripManagedFields()(object)
}

// trimReport has one copy of each text that most reports have.
func trimReport(report *v1alpha1.ProxyReport) *v1alpha1.ProxyReport {
	if len(report.ManagedFields) > 0 {
		report.ManagedFields = []metav1.ManagedFieldsEntry{{}} // that there are some
	}
	report.Labels, report.Annotations = intern.Pairs(report.Labels), intern.Pairs(report.Annotations)
	status := &report.Status
	texts := []*string{&report.Namespace, &status.Mode, &status.ProxyName, &status.Form}
	for i := range status.Entries {
		texts = append(texts, &status.Entries[i].Value, &status.Entries[i].Source, &status.Entries[i].Field)
	}
	for i := range status.Conditions {
		texts = append(texts, &status.Conditions[i].Type, &status.Conditions[i].Reason, &status.Conditions[i].Message)
	}
	for i := range status.Secrets {
		texts = append(texts, &status.Secrets[i].Role)
	}
	if revision := status.Revision; revision != nil {
		texts = append(texts, &revision.Proxy, &revision.Digest, &revision.Override, &revision.Facts)
	}
	if facts := status.Facts; facts != nil {
		texts = append(texts, &facts.Version, &facts.Source, &facts.Kind)
	}
	for _, text := range texts {
		*text = intern.Text(*text)
	}
	status.Findings = sharedFindings(status.Findings)
	status.Entries = exact(status.Entries)
	status.Conditions = exact(status.Conditions)
	status.Secrets = exact(status.Secrets)
	return report
}

// exact is a copy in no more memory than it needs: decoding leaves room for twice as many.
func exact[T any](all []T) []T {
	if len(all) == 0 {
		return nil
	}
	return append(make([]T, 0, len(all)), all...)
}

// trimCluster keeps of a Cluster what decides about its proxy.
func trimCluster(c *clusterv1.Cluster) *clusterv1.Cluster {
	kept := &clusterv1.Cluster{TypeMeta: c.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Namespace: intern.Text(c.Namespace), Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion, Generation: c.Generation,
		CreationTimestamp: c.CreationTimestamp, DeletionTimestamp: c.DeletionTimestamp, Labels: c.Labels, Finalizers: c.Finalizers,
	}}
	if value, is := c.Annotations[clusterv1.PausedAnnotation]; is {
		kept.Annotations = map[string]string{clusterv1.PausedAnnotation: value}
	}
	kept.Spec = clusterv1.ClusterSpec{
		Paused: c.Spec.Paused, ClusterNetwork: c.Spec.ClusterNetwork, ControlPlaneEndpoint: c.Spec.ControlPlaneEndpoint,
		ControlPlaneRef: c.Spec.ControlPlaneRef, InfrastructureRef: c.Spec.InfrastructureRef,
	}
	kept.Spec.Topology.ClassRef.Name = intern.Text(c.Spec.Topology.ClassRef.Name)
	return kept
}

// watched lists what both controllers watch.
func watched() []client.Object {
	namespaces := &metav1.PartialObjectMetadata{}
	namespaces.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	all := []client.Object{
		&clusterv1.Cluster{}, &v1alpha1.CorporateProxy{}, &v1alpha1.ProxyOverride{}, &v1alpha1.ProxyReport{},
		&corev1.Secret{}, &corev1.ConfigMap{}, namespaces,
	}
	for _, object := range machineMetadata() {
		all = append(all, object)
	}
	return all
}
