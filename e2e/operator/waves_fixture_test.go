package operator_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// many is how many clusters a fleet has beside its five canaries.
func many() int {
	if tier.Short() {
		return 45
	}
	return 295
}

const (
	stageLabel = "stage"
	patience   = 3 * time.Minute
)

// canaryAndRest are the waves of these tests: a few clusters first, then a fifth of the others at a time.
func canaryAndRest(p *v1alpha1.CorporateProxy) {
	fifth := intstr.FromString("20%")
	p.Spec.Rollout = &v1alpha1.Rollout{Waves: []v1alpha1.Wave{
		{Name: "canary", ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{stageLabel: "canary"}}},
		{Name: "rest", MaxParallel: &fifth},
	}}
}

// waves is a fleet whose CorporateProxy has waves, seen by a watch on etcd.
type waves struct {
	*fixture
	proxy          *v1alpha1.CorporateProxy
	history        *etcdHistory
	canaries, rest []string
}

// newWaves returns a fleet in which every cluster has revision 1.
func newWaves(t *testing.T, canaries, rest int, change ...func(*v1alpha1.CorporateProxy)) *waves {
	t.Helper()
	return newWavesOf(newOwnFixture(t), canaries, rest, change...)
}

// newWavesOf is the same with an operator that runs already.
func newWavesOf(f *fixture, canaries, rest int, change ...func(*v1alpha1.CorporateProxy)) *waves {
	f.Helper()
	w := &waves{fixture: f, history: watchEtcd(f)}
	w.proxy = f.exampleProxy(append([]func(*v1alpha1.CorporateProxy){canaryAndRest}, change...)...)
	for i := range canaries {
		w.canaries = append(w.canaries, fmt.Sprint("canary-", i))
		w.cluster(w.canaries[i], func(c *clusterv1.Cluster) { c.Labels[stageLabel] = "canary" })
	}
	for i := range rest {
		w.rest = append(w.rest, fmt.Sprint("rest-", i))
		w.cluster(w.rest[i])
	}
	w.awaitComplete(1)
	return w
}

func (w *waves) all() []string { return slices.Concat(w.canaries, w.rest) }

// awaitRollout awaits a status of the rollout.
func (w *waves) awaitRollout(what string, ok func(v1alpha1.RolloutStatus) bool) v1alpha1.RolloutStatus {
	w.Helper()
	var last v1alpha1.RolloutStatus
	controlplanetest.AwaitWithin(w, patience, "the rollout: "+what, func(ctx context.Context) (bool, error) {
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(w.proxy), w.proxy); err != nil {
			return false, err
		}
		if w.proxy.Status.Rollout == nil {
			return false, fmt.Errorf("no status.rollout; conditions %+v", w.proxy.Status.Conditions)
		}
		last = *w.proxy.Status.Rollout
		if !ok(last) {
			return false, fmt.Errorf("%+v; conditions %+v", last, w.proxy.Status.Conditions)
		}
		return true, nil
	})
	return last
}

func (w *waves) awaitComplete(number int64) {
	w.Helper()
	n := int32(len(w.canaries) + len(w.rest))
	w.awaitRollout(fmt.Sprintf("revision %d in all %d clusters", number, n), func(s v1alpha1.RolloutStatus) bool {
		return s.Revision == number && s.Completed != nil && s.Updated == n && s.Of == n && !s.Halted
	})
}

func (w *waves) awaitHalted(number int64) v1alpha1.RolloutStatus {
	w.Helper()
	return w.awaitRollout(fmt.Sprintf("revision %d is halted", number), func(s v1alpha1.RolloutStatus) bool { return s.Revision == number && s.Halted })
}

// count returns how many versions etcd has seen of the Secrets of these clusters.
func (w *waves) count(clusters []string) int {
	w.Helper()
	w.history.catchUp()
	w.history.mu.Lock()
	defer w.history.mu.Unlock()
	n := 0
	for name, versions := range w.history.versions {
		if cluster, _, _ := strings.Cut(strings.Replace(strings.Replace(name, "-cluster-values", "/", 1), "-systemd-proxy", "/", 1), "/"); slices.Contains(clusters, cluster) {
			n += len(versions)
		}
	}
	return n
}

// contentOf returns the data of both Secrets of each cluster, as etcd has them.
func (w *waves) contentOf(clusters []string) map[string]string {
	w.Helper()
	content := map[string]string{}
	for _, cluster := range clusters {
		values, systemd := w.secrets(cluster)
		content[cluster] = fmt.Sprintf("%q %q", values.Data, systemd.Data)
	}
	return content
}

// tell runs "fairlead rollout" with this verb, as an administrator.
func (w *waves) tell(verb string) {
	w.Helper()
	if status, out, problem := w.fairlead(w.cp.Admin(), "rollout", verb, w.proxy.Name); status != 0 {
		w.Errorf("fairlead rollout %s: status %d: %s%s", verb, status, out, problem)
	}
}

func (w *waves) undo()   { w.Helper(); w.tell("undo") }
func (w *waves) pause()  { w.Helper(); w.tell("pause") }
func (w *waves) resume() { w.Helper(); w.tell("resume") }

func configMapNamed(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}
