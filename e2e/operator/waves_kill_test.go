package operator_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// killPoint is a write of the operator that the API server refuses: the operator is killed when it has tried, with all
// that comes before done, and nothing that comes after.
type killPoint struct {
	name                                 string
	group, version, resource, operations string
	condition                            string // of the request
	undo                                 bool   // it is a write of undoing
}

const ofOperator = "request.userInfo.username == 'system:serviceaccount:fairlead-system:fairlead-operator'"

func killPoints() []killPoint {
	return []killPoint{
		{"before the Secret of the revision", "", "v1", "secrets", "CREATE", "request.name.startsWith('fairlead-revision-')", false},
		{"between Secret and ConfigMap of the revision", "", "v1", "configmaps", "CREATE", "request.name.startsWith('fairlead-revision-')", false},
		{"before a cluster's record", "fairlead.io", "v1alpha1", "proxyreports", "UPDATE", "request.name == 'canary-0'", false},
		{"before the mark of the change", "fairlead.io", "v1alpha1", "corporateproxies/status", "UPDATE", "has(object.status.applying)", false},
		{"before a cluster's first Secret", "", "v1", "secrets", "UPDATE", "request.name.startsWith('canary-0-')", false},
		{"between a cluster's Secrets", "", "v1", "secrets", "UPDATE", "request.name == 'canary-0-systemd-proxy'", false},
		{"before a cluster's status", "fairlead.io", "v1alpha1", "proxyreports/status", "UPDATE", "request.name == 'canary-0'", false},
		{"before the second wave's records", "fairlead.io", "v1alpha1", "proxyreports", "UPDATE", "request.name.startsWith('rest-')", false},
		{"between Secrets in the second wave", "", "v1", "secrets", "UPDATE", "request.name == 'rest-3-cluster-values'", false},
		{"before the last status", "fairlead.io", "v1alpha1", "corporateproxies/status", "UPDATE", "object.status.?rollout.?progress.orValue('') == '8/8'", false},
		{"before the record of a cluster that goes back", "fairlead.io", "v1alpha1", "proxyreports", "UPDATE", "request.name == 'canary-1'", true},
		{"between the Secrets of a cluster that goes back", "", "v1", "secrets", "UPDATE", "request.name == 'canary-1-cluster-values'", true},
	}
}

func (k killPoint) policy() []byte {
	return denial{
		"kill-point", k.group, k.version, k.resource, k.operations,
		ofOperator + " && !request.?dryRun.orValue(false)", "!(" + k.condition + ")", "this far", "Ignore",
	}.manifests()
}

// The operator is killed at each step of a rollout and of an undo. The outcome is the same as without a kill: every
// cluster has both Secrets of the same revision, and the rollout is complete.
func TestTheOperatorKilledAtEachStepComesToTheSameEnd(t *testing.T) {
	tier.Full(t)
	w := newWaves(t, 2, 6)
	current := ""
	for i, k := range killPoints() {
		w.killAt(k, fmt.Sprintf("list-%d.example", i), &current)
		for _, cluster := range w.all() {
			if got := w.noProxy(cluster); !strings.Contains(got, current) {
				t.Errorf("%s: %s has %q, without %s", k.name, cluster, got, current)
			}
		}
		t.Logf("killed %s: revision %d", k.name, w.proxy.Status.Rollout.Revision)
	}
	w.history.neverBlank()
}

const otherMerged = "cluster.local,100.64.0.0/13,100.96.0.0/11,178.170.32.59,other.example,svc,127.0.0.1,localhost"

// A change reaches the Secrets, no report records it, the operator dies, and the change is taken back: the reports say
// that all is as it should be.
func TestAChangeThatIsTakenBackBeforeItWasRecordedDoesNotStayInTheSecrets(t *testing.T) {
	tier.Full(t)
	w := &waves{fixture: newOwnFixture(t)}
	proxy := w.exampleProxy()
	w.servedCluster("c1")
	status := killPoint{"", "fairlead.io", "v1alpha1", "proxyreports/status", "UPDATE", "true", false}
	w.arm(status)
	mark, err := w.cp.AuditMark()
	w.must(err)
	w.setNoProxy(proxy, "other.example")
	w.awaitNoProxy("c1", otherMerged)
	w.awaitRefused(mark, "to write the status")
	w.operator.Kill()
	w.setNoProxy(proxy, exampleNoProxy)
	w.remove(status.policy())
	w.startOperator()
	w.awaitNoProxy("c1", exampleMerged)
	w.awaitProxy(proxy, "nothing is being applied", func(p *v1alpha1.CorporateProxy) bool { return p.Status.Applying == nil })
}

// killAt makes a change, or undoes it, kills the operator on the way, and awaits the end with another one.
func (w *waves) killAt(k killPoint, next string, current *string) {
	w.Helper()
	before := w.proxy.Status.Rollout.Revision
	if k.undo {
		w.setNoProxy(w.proxy, next)
		w.awaitLater(before)
	}
	w.arm(k)
	mark, err := w.cp.AuditMark()
	w.must(err)
	if k.undo {
		w.tell("undo")
	} else {
		w.setNoProxy(w.proxy, next)
		*current = next
	}
	w.awaitRefused(mark, k.name)
	w.operator.Kill()
	w.remove(k.policy())
	w.startOperator()
	if k.undo {
		w.awaitComplete(before)
	} else {
		w.awaitLater(before)
	}
}

// awaitLater awaits that all clusters have a later revision. A number may be left out, where a process ended that had
// recorded half of it.
func (w *waves) awaitLater(before int64) {
	w.Helper()
	w.awaitRollout(fmt.Sprintf("a revision after %d in all clusters", before), func(s v1alpha1.RolloutStatus) bool {
		return s.Revision > before && s.Completed != nil && s.Updated == s.Of && !s.Halted
	})
}

// arm makes the API server refuse a write, and returns once it does.
func (w *waves) arm(k killPoint) {
	w.Helper()
	w.must(w.cp.Apply(w.Context(), k.policy()))
	// That it has noticed the policy shows another of the same kind, for a probe's writes, that is applied after it.
	probe := denial{"kill-point-probe", "", "v1", "configmaps", "CREATE", "request.name == 'kill-point-probe'", "false", "seen", "Fail"}.manifests()
	w.must(w.cp.Apply(w.Context(), probe))
	try := func(ctx context.Context) error {
		return w.client.Create(ctx, configMapNamed(w.namespace, "kill-point-probe"), client.DryRunAll)
	}
	controlplanetest.Await(w, "the API server to notice the policy", func(ctx context.Context) (bool, error) {
		err := try(ctx)
		return controlplanetest.Holds(err != nil && strings.Contains(err.Error(), "seen"), "it says: %v", err)
	})
	w.remove(probe)
	controlplanetest.Await(w, "the API server to forget the probe", func(ctx context.Context) (bool, error) { return true, try(ctx) })
}

func (w *waves) remove(manifests []byte) {
	w.Helper()
	objects, err := controlplane.Parse(manifests)
	w.must(err)
	for _, object := range objects {
		w.must(client.IgnoreNotFound(w.client.Delete(w.Context(), object)))
	}
}

// awaitRefused awaits that the operator has tried.
func (w *waves) awaitRefused(mark controlplane.AuditMark, what string) {
	w.Helper()
	controlplanetest.AwaitWithin(w, patience, "the operator to try, "+what, func(context.Context) (bool, error) {
		events, err := w.cp.AuditEvents(mark, controlplane.ByUser(operator.User))
		refused := slices.ContainsFunc(events, func(e auditv1.Event) bool {
			return e.ResponseStatus != nil && strings.Contains(e.ResponseStatus.Message, "this far")
		})
		return controlplanetest.Holds(refused, "none of %d requests was refused (%v)", len(events), err)
	})
}

// neverBlank: no version of a Secret lost its content, and none was deleted.
func (h *etcdHistory) neverBlank() {
	h.Helper()
	h.close()
	for name, versions := range h.versions {
		for i, v := range versions {
			if v.deleted || len(v.data) == 0 || !v.whole {
				h.Errorf("%s, version %d: deleted %t, %d keys, whole %t", name, i+1, v.deleted, len(v.data), v.whole)
			}
		}
	}
}
