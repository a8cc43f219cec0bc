package operator_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/internal/core/render"
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
	w.awaitProxy(w.proxy, "the rollout: "+what, func(p *v1alpha1.CorporateProxy) bool {
		return p.Status.Rollout != nil && ok(*p.Status.Rollout)
	})
	return *w.proxy.Status.Rollout
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
	for _, cluster := range clusters {
		n += len(w.history.versions[cluster+render.ValuesSuffix]) + len(w.history.versions[cluster+render.SystemdSuffix])
	}
	return n
}

// tell runs "fairlead rollout" with this verb, as an administrator.
func (w *waves) tell(verb string) {
	w.Helper()
	if status, out, problem := w.fairlead(w.cp.Admin(), "rollout", verb, w.proxy.Name); status != 0 {
		w.Errorf("fairlead rollout %s: status %d: %s%s", verb, status, out, problem)
	}
}

// denial is an admission policy: of the requests that the condition chooses, it lets those through for which the expression holds.
type denial struct {
	name, group, version, resource, operations string
	condition, expression, message             string
	failurePolicy                              string // of an expression that cannot be evaluated
}

func (d denial) manifests() []byte {
	return fmt.Appendf(nil, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: %[9]s
  matchConstraints:
    resourceRules:
    - {apiGroups: [%[2]q], apiVersions: [%[3]q], operations: [%[4]s], resources: [%[5]q]}
  matchConditions:
  - {name: chosen, expression: %[6]q}
  validations:
  - {expression: %[7]q, message: %[8]s}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`, d.name, d.group, d.version, d.operations, d.resource, d.condition, d.expression, d.message, d.failurePolicy)
}
