package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/health"
)

// Policy is the ValidatingAdmissionPolicy that keeps this program's writes to what it is there for (config/observe).
const Policy = "fairlead-observe-writes"

// Options are the settings.
type Options struct {
	Period         time.Duration // between two looks at a cluster
	Namespaces     []string      // of the clusters; none: all
	ProbeNamespace string        // of workload clusters, where the probe's ConfigMap is
	Parallel       int           // clusters at a time
	Machines       bool          // write the condition of Machines
	MetricsAddress string        // host:port, or 0 for none
	HealthAddress  string        // host:port, or 0 for none
}

// Check returns an error if an option is wrong.
func (o Options) Check() error {
	switch {
	case o.Period < time.Second || o.Period > time.Hour:
		return fmt.Errorf("--period is 1s to 1h, not %s", o.Period)
	case o.Parallel < 1 || o.Parallel > 1000:
		return fmt.Errorf("--parallel is 1 to 1000, not %d", o.Parallel)
	case o.ProbeNamespace == "":
		return errors.New("--probe-namespace is empty")
	case slices.Contains(o.Namespaces, ""):
		return errors.New("one of --cluster-namespaces is empty")
	}
	return nil
}

// Run observes until the context ends. It has no leader: two at a time look twice, and write the same.
func Run(ctx context.Context, config *rest.Config, opts Options) error {
	mgr, err := newManager(config, opts)
	if err != nil {
		return err
	}
	s := &Sweeper{Options: opts, Client: mgr.GetClient(), Live: mgr.GetAPIReader(), meter: &meter{}}
	metrics.Registry.MustRegister(s.meter)
	watched := []client.Object{&v1alpha1.ProxyReport{}}
	if opts.Machines {
		watched = append(watched, &clusterv1.Machine{})
		if err := mgr.GetFieldIndexer().IndexField(ctx, &clusterv1.Machine{}, clusterIndex, byCluster); err != nil {
			return err
		}
	}
	for _, object := range watched {
		if _, err := mgr.GetCache().GetInformer(ctx, object, cache.BlockUntilSynced(false)); err != nil {
			return err
		}
	}
	if err := errors.Join(mgr.Add(s), health.Add(mgr, watched)); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func newManager(config *rest.Config, opts Options) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), clusterv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	return ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme,
		Cache:  caches(opts),
		Metrics: metricsserver.Options{
			BindAddress: opts.MetricsAddress,
		},
		HealthProbeBindAddress: opts.HealthAddress,
	})
}

func caches(opts Options) cache.Options {
	caches := cache.Options{ReaderFailOnMissingInformer: true, DefaultTransform: trim, DefaultNamespaces: map[string]cache.Config{}}
	for _, namespace := range opts.Namespaces {
		caches.DefaultNamespaces[namespace] = cache.Config{}
	}
	if opts.Machines { // else there may be no such kind
		caches.ByObject = map[client.Object]cache.ByObject{&clusterv1.Machine{}: {Label: ofDeployments}}
		caches.NewInformer = newInformer
	}
	return caches
}

// trim keeps in the caches only the fields that are read.
func trim(object any) (any, error) {
	switch o := object.(type) {
	case *v1alpha1.ProxyReport:
		return &v1alpha1.ProxyReport{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion, DeletionTimestamp: o.DeletionTimestamp,
			},
			Status: v1alpha1.ProxyReportStatus{Mode: o.Status.Mode, Observed: o.Status.Observed},
		}, nil
	case *clusterv1.Machine:
		return trimMachine(o), nil
	}
	return object, nil
}
