package cluster

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/provider"
	"github.com/fairlead-io/fairlead/internal/manager/controller/decide"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
	"github.com/fairlead-io/fairlead/internal/manager/controller/waves"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// Reconciler keeps the two Secrets and the ProxyReport of each Cluster.
type Reconciler struct {
	Client     client.Client // reads from caches
	Live       client.Reader // reads from the API server
	Events     events.EventRecorder
	Namespace  string               // the operator's own
	Management types.NamespacedName // the Cluster whose pods dial the endpoints of all others; empty: none
	Builtin    func(version string) (provider.Table, error)
	Interval   time.Duration // of the paced re-apply
	Proxies    *settings.Installations
	Waves      *waves.Reconciler // decides, where a CorporateProxy has spec.rollout
	Grace      time.Duration     // in which a label or a CorporateProxy may come, before a cluster that nothing selects is blank
	Key        *settings.Key
	newcomers  newcomers
	memory     memory
	changes    *changes
	tables     tables
}

// Begin has the reconciler remember nothing.
func (r *Reconciler) Begin() *Reconciler {
	r.changes = &changes{client: r.Client, live: r.Live, events: r.Events, memory: &r.memory}
	return r
}

// Latest returns the newer one of a report as it was last written, and as the cache has it.
func (r *Reconciler) Latest(cluster types.NamespacedName, cached *v1alpha1.ProxyReport) *v1alpha1.ProxyReport {
	return r.memory.latest(cluster, cached)
}

// Reconcile brings one cluster to where it should be. While the API server does not answer, the worker waits a moment,
// and the cluster a little longer each time, up to half a minute: an API server that is back meets few requests, and no
// cluster of a large fleet is in a back-off of many minutes. A cluster whose requests alone take too long, because of a
// webhook for instance, waits longer and leaves the workers to others.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	within, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	result, err := r.reconcile(within, request)
	key, logger := request.NamespacedName, log.FromContext(ctx)
	switch {
	case err == nil, ctx.Err() != nil:
		return result, err
	case errors.Is(err, context.DeadlineExceeded):
		logger.Error(err, "the requests of this cluster take too long")
		return ctrl.Result{RequeueAfter: r.memory.failed(key, "slow", firstSlow, r.Interval, time.Now())}, nil
	case machinery.Unavailable(err):
		logger.Info("the API server does not answer; the cluster waits", "error", err.Error())
		select {
		case <-ctx.Done():
		case <-time.After(outagePause):
		}
		return ctrl.Result{RequeueAfter: r.memory.failed(key, "outage", firstOutage, longestOutage, time.Now())}, nil
	}
	return result, err
}

// answerTime is how long all requests of one reconcile may take. A connection that broke without a word is noticed after
// 45 s otherwise.
const answerTime = 30 * time.Second

func (r *Reconciler) reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	s, err := r.read(ctx, request.NamespacedName)
	var unsettled *settings.UnsettledError
	if errors.As(err, &unsettled) {
		return ctrl.Result{RequeueAfter: unsettled.Wait}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if s.Cluster == nil {
		if request.NamespacedName == r.Management {
			log.FromContext(ctx).Info("--management-cluster names a Cluster that does not exist")
		}
		if wait := r.memory.expected(request.NamespacedName, s.Report, time.Now()); wait > 0 {
			return ctrl.Result{RequeueAfter: wait}, nil
		}
		r.memory.change(request.NamespacedName, func(c *clusterMemory) { c.arrival = arrival{} })
		return ctrl.Result{}, errors.Join(r.forget(ctx, request.NamespacedName, s), r.noCluster(ctx, request.NamespacedName))
	}
	r.memory.change(request.NamespacedName, func(c *clusterMemory) { c.arrival = arrival{} })
	result, err := r.write(ctx, s, r.decide(s))
	if apierrors.IsNotFound(err) {
		r.memory.change(request.NamespacedName, func(c *clusterMemory) { c.written = writtenReport{} }) // the report is gone, and the cache does not know it yet
	}
	return result, err
}

// forget removes the report of a Cluster that is gone; the Secrets, which the
// report owns, go with it. Until then the finalizer keeps the report, and with it
// the Secrets, from whoever deletes a report or the CRD of reports.
func (r *Reconciler) forget(ctx context.Context, key types.NamespacedName, s decide.State) error {
	if s.Report != nil {
		if err := apply.Release(ctx, r.Client, s.Report, v1alpha1.ReportFinalizer); err != nil {
			return err
		}
	}
	r.memory.forget(key)
	return nil
}

// decide calls package decide, with the findings that are remembered about the cluster's list.
func (r *Reconciler) decide(s decide.State) decide.Decision {
	return decide.Decide(s, r.memory.lintOf(client.ObjectKeyFromObject(s.Cluster)))
}

const (
	outagePause   = 300 * time.Millisecond // of a worker, when the API server does not answer
	longestOutage = 30 * time.Second       // of a cluster
)
