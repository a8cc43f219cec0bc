package deliver

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/delivery"
	"github.com/fairlead-io/fairlead/internal/health"
	"github.com/fairlead-io/fairlead/internal/write/cage"
)

// Policy is the ValidatingAdmissionPolicy that keeps this program's writes to what it is there for (config/deliver).
const Policy = "fairlead-deliver-writes"

const secretType = addonsv1.ClusterResourceSetSecretType

// Options are the settings.
type Options struct {
	Namespace         string        // our own
	WorkloadNamespace string        // of the Secret fairlead-source in workload clusters
	Renew             time.Duration // how often what has not changed is given to Cluster API again
	ReportAfter       time.Duration // how long something is not applied before the report says so
	MetricsAddress    string        // host:port, or 0 for none
	HealthAddress     string        // host:port, or 0 for none
}

// Check returns an error if an option is wrong.
func (o Options) Check() error {
	switch {
	case o.Renew < time.Second || o.Renew > 24*time.Hour:
		return fmt.Errorf("--renew is 1s to 24h, not %s", o.Renew)
	case o.ReportAfter < time.Second || o.ReportAfter > 24*time.Hour:
		return fmt.Errorf("--report-after is 1s to 24h, not %s", o.ReportAfter)
	case len(validation.IsDNS1123Label(o.WorkloadNamespace)) > 0:
		return fmt.Errorf("--workload-namespace is the name of a namespace, not %q", o.WorkloadNamespace)
	}
	return nil
}

var watched = []client.Object{
	&clusterv1.Cluster{}, &v1alpha1.ProxyReport{}, &addonsv1.ClusterResourceSet{}, &addonsv1.ClusterResourceSetBinding{},
}

// Run delivers until the context ends. It has no leader: two at a time write the same, but for what is random.
func Run(ctx context.Context, config *rest.Config, opts Options) error {
	mgr, err := newManager(config, opts)
	if err != nil {
		return err
	}
	if err := cage.Check(ctx, mgr.GetClient(), cage.Policies{Secrets: Policy}, opts.Namespace); err != nil {
		return err
	}
	r := &Reconciler{Options: opts, Client: mgr.GetClient(), Live: mgr.GetAPIReader(), memory: newMemory()}
	metrics.Registry.MustRegister(r.memory)
	if err := mgr.GetFieldIndexer().IndexField(ctx, &clusterv1.Cluster{}, labelIndex, byLabel); err != nil {
		return err
	}
	if err := errors.Join(r.register(mgr), health.Add(mgr, watched)); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func newManager(config *rest.Config, opts Options) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), clusterv1.AddToScheme(scheme), addonsv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	ours, err := labels.NewRequirement(delivery.Label, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	return ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme,
		Cache: cache.Options{
			ReaderFailOnMissingInformer: true, DefaultTransform: trim,
			ByObject: map[client.Object]cache.ByObject{&addonsv1.ClusterResourceSet{}: {Label: labels.NewSelector().Add(*ours)}},
		},
		Metrics:                metricsserver.Options{BindAddress: opts.MetricsAddress},
		HealthProbeBindAddress: opts.HealthAddress,
	})
}
