package controller

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
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// ClusterReconciler keeps the two Secrets and the ProxyReport of each Cluster.
type ClusterReconciler struct {
	Client     client.Client // reads from caches
	Live       client.Reader // reads from the API server
	Events     events.EventRecorder
	Namespace  string               // the operator's own
	Management types.NamespacedName // the Cluster whose pods dial the endpoints of all others; empty: none
	Builtin    func(version string) (provider.Table, error)
	Interval   time.Duration // of the paced re-apply
	Proxies    *installations
	Waves      *WaveReconciler // decides, where a CorporateProxy has spec.rollout
	Grace      time.Duration   // in which a label or a CorporateProxy may come, before a cluster that nothing selects is blank
	Key        *writeKey
	newcomers  newcomers
	memory     *memory
	changes    *changes
	tables     tables
}

// Reconcile brings one cluster to where it should be. While the API server does not answer, the worker waits a moment,
// and the cluster a little longer each time, up to half a minute: an API server that is back meets few requests, and no
// cluster of a large fleet is in a back-off of many minutes. A cluster whose requests alone take too long, because of a
// webhook for instance, waits longer and leaves the workers to others.
func (r *ClusterReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
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
	case unavailable(err):
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

func (r *ClusterReconciler) reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	s, err := r.read(ctx, request.NamespacedName)
	var unsettled *unsettledError
	if errors.As(err, &unsettled) {
		return ctrl.Result{RequeueAfter: unsettled.wait}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if s.cluster == nil {
		if request.NamespacedName == r.Management {
			log.FromContext(ctx).Info("--management-cluster names a Cluster that does not exist")
		}
		if wait := r.memory.expected(request.NamespacedName, s.report, time.Now()); wait > 0 {
			return ctrl.Result{RequeueAfter: wait}, nil
		}
		r.memory.arrived(request.NamespacedName)
		return ctrl.Result{}, errors.Join(r.forget(ctx, request.NamespacedName, s), r.noCluster(ctx, request.NamespacedName))
	}
	r.memory.arrived(request.NamespacedName)
	result, err := r.write(ctx, s, r.decide(s))
	if apierrors.IsNotFound(err) {
		r.memory.reportGone(request.NamespacedName) // the report is gone, and the cache does not know it yet
	}
	return result, err
}

// forget removes the report of a Cluster that is gone; the Secrets, which the
// report owns, go with it. Until then the finalizer keeps the report, and with it
// the Secrets, from whoever deletes a report or the CRD of reports.
func (r *ClusterReconciler) forget(ctx context.Context, key types.NamespacedName, s state) error {
	if s.report != nil {
		if err := apply.Release(ctx, r.Client, s.report, v1alpha1.ReportFinalizer); err != nil {
			return err
		}
	}
	r.memory.forget(key)
	return nil
}
