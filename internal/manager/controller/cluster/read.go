package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/manager/controller/decide"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
)

// readEndpoints reads what the controllers of the management cluster dial: the
// control-plane endpoints of all other clusters, as far as they are known.
func (r *Reconciler) readEndpoints(ctx context.Context, s *decide.State) error {
	clusters := &clusterv1.ClusterList{}
	if err := r.Client.List(ctx, clusters, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	s.Management = true
	for i := range clusters.Items {
		cluster := &clusters.Items[i]
		if endpoint := cluster.Spec.ControlPlaneEndpoint; endpoint.Host != "" && client.ObjectKeyFromObject(cluster) != r.Management {
			s.Endpoints = append(s.Endpoints, endpoint)
		}
	}
	return nil
}

// The operator alone writes conditions: who has the token of "fairlead-operator observe" changes what was observed, and
// nothing else.

// readAccount notes whose credentials the cluster's Secrets are to have, where somebody observes the cluster.
func (r *Reconciler) readAccount(ctx context.Context, s *decide.State) error {
	if s.Last().Observed == nil || s.Account != nil || s.Held != nil && s.Held.Condition == v1alpha1.ConditionRevisionUnknown {
		return nil
	}
	key, err := r.Key.Get(ctx)
	if err != nil {
		return err
	}
	account := settings.Fingerprints(key, s.Installation).Current
	s.Account = &account
	return nil
}

func (r *Reconciler) read(ctx context.Context, key types.NamespacedName) (decide.State, error) {
	now := time.Now()
	s := decide.State{Paced: r.memory.untilTurn(key, r.Interval, now) <= 0, Now: now}
	var err error
	if s.Report, err = machinery.Get[v1alpha1.ProxyReport](ctx, r.Client, key); err != nil {
		return s, err
	}
	s.Report = r.memory.latest(key, s.Report)
	if err := r.changes.load(ctx); err != nil {
		return s, err
	}
	s.InDoubt = r.memory.inDoubt(key)
	if s.Cluster, err = machinery.Get[clusterv1.Cluster](ctx, r.Client, key); err != nil {
		return s, err
	}
	if s.Cluster == nil {
		return s, r.confirmGone(ctx, key, "")
	}
	if uid := s.Last().Cluster.UID; uid != "" && uid != s.Cluster.UID && !machinery.Paused(s.Cluster) {
		s.Cluster = nil // the report is about an earlier Cluster of that name
		return s, r.confirmGone(ctx, key, uid)
	}
	if s.Machines, err = r.readMachines(ctx, key); err != nil {
		return s, err
	}
	if key == r.Management {
		if err := r.readEndpoints(ctx, &s); err != nil {
			return s, err
		}
	}
	if s.Wish, err = machinery.Get[v1alpha1.ProxyOverride](ctx, r.Client, key); err != nil {
		return s, err
	}
	s.Override = s.Wish
	err = r.readInstallation(ctx, &s)
	r.endOverride(&s)
	if err == nil {
		err = r.readAccount(ctx, &s)
	}
	if err == nil && s.Held == nil {
		err = r.readFacts(ctx, &s)
	}
	if err == nil {
		r.holdOwnChange(&s)
	}
	if err != nil && !errors.As(err, &s.Problem) {
		return s, err
	}
	r.waitForSelection(key, &s)
	return s, nil
}

// waitForSelection begins, and ends, the grace period of a cluster that nothing selects and that is not blank yet.
func (r *Reconciler) waitForSelection(key types.NamespacedName, s *decide.State) {
	if s.Problem == nil || s.Problem.Reason != resolve.ReasonNotSelected || s.Past().CountsAsProxied() || s.Past().Mode == resolve.ModeUnproxied {
		r.memory.change(key, func(c *clusterMemory) { c.unselected = time.Time{} })
		return
	}
	s.Settles = max(r.memory.unselectedFor(key, r.Grace, s.Now), 0)
}

// confirmGone asks the API server whether the Cluster is really gone, before the
// report and with it the Secrets are removed. A cache can be empty for other
// reasons, or behind the reports' one, and a CRD that is gone for a moment answers
// "not found", too. uid is that of the Cluster; empty: any of the name is meant.
func (r *Reconciler) confirmGone(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	live := &clusterv1.Cluster{}
	err := r.Live.Get(ctx, key, live)
	switch {
	case err == nil && uid != "" && live.UID != uid:
		return nil
	case err == nil:
		return fmt.Errorf("the cache does not have the Cluster %s that the API server has", key)
	case machinery.IsAbsent(err, key.Name):
		return nil
	}
	return fmt.Errorf("asking whether Cluster %s is gone: %w", key, err)
}

// readInstallation chooses the cluster's CorporateProxy and reads it.
func (r *Reconciler) readInstallation(ctx context.Context, s *decide.State) error {
	proxies := &v1alpha1.CorporateProxyList{}
	if err := r.Client.List(ctx, proxies, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := r.Client.Get(ctx, types.NamespacedName{Name: s.Cluster.Namespace}, namespace); err != nil {
		return fmt.Errorf("reading the labels of namespace %s: %w", s.Cluster.Namespace, err)
	}
	override := inputs.OverrideInEffect(s.Override, r.Proxies.Ends.At("", s.Now))
	proxy, err := inputs.ChooseProxy(proxies.Items, s.Cluster, namespace.Labels, inputs.Has(s.Report, override))
	if err != nil {
		return err
	}
	if proxy.Spec.Rollout != nil {
		return r.readRevision(ctx, s, proxy)
	}
	s.Unrecorded = true
	now := s.Now
	read, err := r.Proxies.Get(ctx, proxy, now)
	s.Installation, s.Source, s.NextEnd = read.Installation, read.Version, read.NextEnd
	s.Settles = r.Proxies.Settles(proxy, now)
	if err == nil && s.Installation.Probes != nil {
		key, err := r.Key.Get(ctx)
		if err != nil {
			return fmt.Errorf("reading the key of the write memory: %w", err)
		}
		s.Fingerprints = settings.Fingerprints(key, s.Installation)
	}
	return err
}

// endOverride takes what has ended out of the ProxyOverride of a cluster.
func (r *Reconciler) endOverride(s *decide.State) {
	now := settings.OverrideClock(r.Proxies.Ends.At("", s.Now), s.Record)
	s.OverrideEnds, s.OverrideNow = inputs.EndsOfOverride(s.Override), now
	s.Override = inputs.OverrideInEffect(s.Override, now)
}
