package operator_test

import (
	"context"
	"fmt"
	"os/exec"
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
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/internal/core/revision"
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
	w := newFleet(f, change...)
	for i := range canaries {
		w.canary(fmt.Sprint("canary-", i))
	}
	w.others(rest)
	return w
}

// newFleet has no cluster yet.
func newFleet(f *fixture, change ...func(*v1alpha1.CorporateProxy)) *waves {
	f.Helper()
	w := &waves{fixture: f, history: watchEtcd(f)}
	w.proxy = f.exampleProxy(append([]func(*v1alpha1.CorporateProxy){canaryAndRest}, change...)...)
	return w
}

func (w *waves) canary(name string, change ...func(*clusterv1.Cluster)) {
	w.Helper()
	w.canaries = append(w.canaries, name)
	w.cluster(name, append(change, func(c *clusterv1.Cluster) { c.Labels[stageLabel] = "canary" })...)
}

// others adds the clusters that are no canaries, and awaits that every cluster has revision 1.
func (w *waves) others(n int) {
	w.Helper()
	for i := range n {
		w.rest = append(w.rest, fmt.Sprint("rest-", i))
		w.cluster(w.rest[i])
	}
	w.awaitComplete(1)
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

// fairlead runs the command line as an administrator.
func (w *waves) fairlead(args ...string) string {
	w.Helper()
	program, err := tools.Program(w.Context(), "fairlead")
	w.must(err)
	kubeconfig, err := w.cp.Kubeconfig(w.cp.Admin())
	w.must(err)
	out, err := exec.CommandContext(w.Context(), program, append(args, "--kubeconfig", kubeconfig)...).CombinedOutput()
	if err != nil {
		w.Errorf("fairlead %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (w *waves) undo()   { w.Helper(); w.fairlead("rollout", "undo", w.proxy.Name) }
func (w *waves) pause()  { w.Helper(); w.fairlead("rollout", "pause", w.proxy.Name) }
func (w *waves) resume() { w.Helper(); w.fairlead("rollout", "resume", w.proxy.Name) }

func (w *waves) digest(number int64) string {
	w.Helper()
	configMap := &corev1.ConfigMap{}
	w.must(w.client.Get(w.Context(), client.ObjectKey{Namespace: operator.Namespace, Name: revision.Name(w.proxy.Name, number)}, configMap))
	public, err := revision.ParsePublic(configMap.Data)
	w.must(err)
	return public.Digest
}

func configMapNamed(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// awaitStatus changes the status of an object, again and again if somebody else does.
func awaitStatus[T client.Object](f *fixture, object T, change func(T)) {
	f.Helper()
	controlplanetest.AwaitWithin(f, patience, "a change of the status of "+object.GetName(), func(ctx context.Context) (bool, error) {
		if err := f.client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return false, err
		}
		change(object)
		err := f.client.Status().Update(ctx, object)
		return err == nil, err
	})
}
