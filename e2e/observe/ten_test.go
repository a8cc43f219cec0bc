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
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
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
func TestTenRealWorkloadClusters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const period = 10 * time.Second // a busy machine is late by seconds, which is no gap
	f.fleet()
	ten := startWorkloads(f, 10)
	for _, w := range ten {
		f.must(f.client.Create(t.Context(), aCluster(f.namespace, w.name)))
		f.secret(w.name, f.kubeconfig(w.cp, w.cp.Admin()))
		go w.publish(t.Context())
	}
	_, err := operator.Start(t.Context(), f.cp, operator.Options{Args: []string{"--leader-elect=false"}})
	f.must(err)
	f.start("--period=" + period.String())
	for _, w := range ten {
		f.await(w.name, "verified", condition(v1alpha1.ConditionEgressVerified, "True", v1alpha1.ReasonVerified))
	}

	ten[9].says(func(r *probe.Result) {
		r.Targets[0].State, r.Targets[0].Reason = probe.Failed, probe.CredentialsRefused
	})
	f.await(ten[9].name, "failed", condition(v1alpha1.ConditionEgressVerified, "False", v1alpha1.ReasonFailed))

	revoked := f.revocable(ten[3])
	f.await(ten[3].name, "verified by a token", egress("Verified"))
	expired, err := ten[2].cp.Expired("somebody", "system:masters")
	f.must(err)
	for _, broken := range []func() error{
		ten[0].cp.FreezeAPIServer, ten[1].cp.StopAPIServer, revoked,
		func() error { f.secret(ten[2].name, f.kubeconfig(ten[2].cp, expired)); return nil },
	} {
		f.must(broken())
	}
	for i, why := range []string{"does not answer within", "nobody listens", "expired or revoked", "expired or revoked"} {
		status := f.await(ten[i].name, why, func(s v1alpha1.ProxyReportStatus) bool {
			return s.Observed != nil && strings.Contains(s.Observed.Message, why)
		})
		if o := status.Observed; o.Egress != v1alpha1.EgressUnknown || o.Time.IsZero() || o.Targets != 1 {
			t.Errorf("%s: %+v", ten[i].name, o)
		}
		f.await(ten[i].name, "stale", condition(v1alpha1.ConditionEgressVerified, "Unknown", v1alpha1.ReasonStale))
	}
	f.othersGoOn(ten[4:9])
	f.unreachedCostNothing(ten[:4], period)

	before := time.Now()
	f.must(errors.Join(ten[0].cp.ThawAPIServer(), ten[1].cp.StartAPIServer(t.Context())))
	for _, w := range ten[:4] {
		f.secret(w.name, f.kubeconfig(w.cp, w.cp.Admin()))
	}
	for _, w := range ten[:4] {
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

func aCluster(namespace, name string) *clusterv1.Cluster {
	return &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: clusterv1.ClusterSpec{
			ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "10.1.2.3", Port: 6443},
			InfrastructureRef:    clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "VSphereCluster", Name: name},
		},
	}
}

// revocable has a cluster's kubeconfig be of a service account, and returns what revokes its token.
func (f *fixture) revocable(w *workload) func() error {
	f.Helper()
	account, err := w.cp.ServiceAccount(f.Context(), operator.Namespace, "kubeconfig")
	f.must(err)
	clients := controlplanetest.Clients(f, w.cp)
	controlplanetest.Role(f, clients, controlplane.ServiceAccountUser(operator.Namespace, "kubeconfig"), rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"},
	})
	f.secret(w.name, f.kubeconfig(w.cp, account))
	controlplanetest.Await(f, "the token", func(ctx context.Context) (bool, error) {
		return true, f.clientFor(account).Get(ctx, client.ObjectKey{Namespace: operator.Namespace, Name: probe.ConfigMapName}, &corev1.ConfigMap{})
	})
	return func() error {
		if err := clients.CoreV1().ServiceAccounts(operator.Namespace).Delete(f.Context(), "kubeconfig", metav1.DeleteOptions{}); err != nil {
			return err
		}
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: account.BearerToken}}
		controlplanetest.Await(f, "the end of the token", func(ctx context.Context) (bool, error) {
			answer, err := clients.AuthenticationV1().TokenReviews().Create(ctx, review, metav1.CreateOptions{})
			if err == nil && answer.Status.Authenticated {
				err = fmt.Errorf("it is of %s", answer.Status.User.Username)
			}
			return err == nil, err
		})
		return nil
	}
}

// othersGoOn requires that clusters beside those that are broken are observed as before.
func (f *fixture) othersGoOn(others []*workload) {
	f.Helper()
	now := metav1.Now()
	for _, w := range others {
		f.await(w.name, "another observation", func(s v1alpha1.ProxyReportStatus) bool {
			return s.Observed != nil && s.Observed.Egress == v1alpha1.EgressVerified && now.Before(&s.Observed.Time)
		})
	}
}

// unreachedCostNothing requires that clusters of which the same is to be said cause no request that writes.
func (f *fixture) unreachedCostNothing(broken []*workload, period time.Duration) {
	f.Helper()
	mark, err := f.cp.AuditMark()
	f.must(err)
	began := metav1.Now()
	f.await("w5", "three periods of another cluster", func(s v1alpha1.ProxyReportStatus) bool {
		return s.Observed != nil && s.Observed.Time.Sub(began.Time) >= 3*period
	})
	most := int(time.Since(began.Time)/period) + 2
	events, err := f.cp.AuditEvents(mark, controlplane.Writes)
	f.must(err)
	writes := map[string]int{}
	for _, event := range events {
		if ref := event.ObjectRef; ref != nil && ref.Resource == "proxyreports" && ref.Namespace == f.namespace {
			writes[ref.Name+" by "+event.User.Username]++
		}
	}
	for _, w := range broken {
		for _, user := range []string{observe.User, operator.User} {
			if n := writes[w.name+" by "+user]; n != 0 {
				f.Errorf("%s: %d writes by %s", w.name, n, user)
			}
		}
	}
	if n := writes["w5 by "+observe.User]; n < 1 || n > most {
		f.Errorf("w5 was written %d times in %s", n, time.Since(began.Time))
	}
	if n := writes["w5 by "+operator.User]; n != 0 {
		f.Errorf("observations without news had the operator write %d times", n)
	}
}
