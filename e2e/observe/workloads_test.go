package observe_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/observe"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/internal/core/probe"
)

// workload is a workload cluster: a real etcd and API server.
type workload struct {
	name   string
	cp     *controlplane.ControlPlane
	client client.Client

	mu     sync.Mutex
	change func(*probe.Result)
}

func (w *workload) says(change func(*probe.Result)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.change = change
}

// publish plays the probe: it writes a result every second, as long as the API server takes it.
func (w *workload) publish(ctx context.Context) {
	for ctx.Err() == nil {
		result := observe.Good(time.Now())
		w.mu.Lock()
		w.change(&result)
		w.mu.Unlock()
		within, cancel := context.WithTimeout(ctx, 10*time.Second)
		_ = observe.Publish(within, w.client, result)
		cancel()
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// startWorkloads starts them three at a time.
func startWorkloads(f *fixture, n int) []*workload {
	f.Helper()
	all := make([]*workload, n)
	var group errgroup.Group
	group.SetLimit(3)
	for i := range all {
		group.Go(func() error {
			cp, err := controlplane.Start(f.Context(), controlplane.Options{})
			all[i] = &workload{name: fmt.Sprint("w", i), cp: cp, change: func(*probe.Result) {}}
			return err
		})
	}
	err := group.Wait()
	for _, w := range all {
		if w.cp != nil {
			f.Cleanup(func() { _ = w.cp.Stop() })
			w.client = f.clientFor(w.cp.Admin())
		}
	}
	f.must(err)
	return all
}

// The operator runs, too: it draws the conditions from what is observed.
func TestFiveRealWorkloadClusters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fleet()
	five := startWorkloads(f, 5)
	for _, w := range five {
		f.must(f.client.Create(t.Context(), operator.Cluster(f.namespace, w.name)))
		f.secret(w.name, f.kubeconfig(w.cp, w.cp.Admin()))
		go w.publish(t.Context())
	}
	_, err := operator.Start(t.Context(), f.cp, operator.Options{Args: []string{"--leader-elect=false"}})
	f.must(err)
	f.start("--period=10s") // a busy machine is late by seconds, which is no gap
	for _, w := range five {
		f.await(w.name, "verified", condition(v1alpha1.ConditionEgressVerified, "True", v1alpha1.ReasonVerified))
	}

	five[4].says(func(r *probe.Result) {
		r.Targets[0].State, r.Targets[0].Reason = probe.Failed, probe.CredentialsRefused
	})
	f.await(five[4].name, "failed", condition(v1alpha1.ConditionEgressVerified, "False", v1alpha1.ReasonFailed))
	five[4].says(func(*probe.Result) {})

	expired, err := five[2].cp.Expired("somebody", "system:masters")
	f.must(err)
	f.must(errors.Join(five[0].cp.FreezeAPIServer(), five[1].cp.StopAPIServer()))
	f.secret(five[2].name, f.kubeconfig(five[2].cp, expired))
	for i, why := range []string{"does not answer within", "nobody listens", "expired or revoked"} {
		status := f.await(five[i].name, why, func(s v1alpha1.ProxyReportStatus) bool {
			return s.Observed != nil && strings.Contains(s.Observed.Message, why)
		})
		if o := status.Observed; o.Egress != v1alpha1.EgressUnknown || o.Time.IsZero() || o.Targets != 1 {
			t.Errorf("%s: %+v", five[i].name, o)
		}
		f.await(five[i].name, "stale", condition(v1alpha1.ConditionEgressVerified, "Unknown", v1alpha1.ReasonStale))
	}
	now := metav1.Now()
	for _, w := range five[3:] { // which are not broken, and observed as before
		f.await(w.name, "another observation", func(s v1alpha1.ProxyReportStatus) bool {
			return s.Observed != nil && s.Observed.Egress == v1alpha1.EgressVerified && now.Before(&s.Observed.Time)
		})
	}

	before := time.Now()
	f.must(errors.Join(five[0].cp.ThawAPIServer(), five[1].cp.StartAPIServer(t.Context())))
	for _, w := range five[:3] {
		f.secret(w.name, f.kubeconfig(w.cp, w.cp.Admin()))
	}
	for _, w := range five[:3] {
		status := f.await(w.name, "verified again", condition(v1alpha1.ConditionEgressVerified, "True", v1alpha1.ReasonVerified))
		if since := status.Observed.Since; since == nil || since.Add(time.Minute).Before(before) {
			t.Errorf("%s was not seen for a while, and is observed since %v", w.name, since)
		}
	}
}

// fleet is a CorporateProxy for all clusters.
func (f *fixture) fleet() {
	f.Helper()
	f.must(f.client.Create(f.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: "source"}, StringData: map[string]string{"http": "http://me:pw@proxy.example:3128"},
	}))
	f.must(f.client.Create(f.Context(), &v1alpha1.CorporateProxy{
		ObjectMeta: metav1.ObjectMeta{Name: "default"},
		Spec:       v1alpha1.CorporateProxySpec{Source: v1alpha1.ProxySource{ValuesRef: &v1alpha1.SecretReference{Name: "source"}}},
	}))
}
