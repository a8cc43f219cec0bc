package operator_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
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

func (k killPoint) policy() string {
	return fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: kill-point}
spec:
  failurePolicy: Ignore
  matchConstraints:
    resourceRules:
    - {apiGroups: [%q], apiVersions: [%q], operations: [%s], resources: [%q]}
  matchConditions:
  - {name: operator, expression: "%s && !request.?dryRun.orValue(false)"}
  validations:
  - {expression: "!(%s)", message: this far}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: kill-point}
spec: {policyName: kill-point, validationActions: [Deny]}
`, k.group, k.version, k.operations, k.resource, ofOperator, k.condition)
}

// The operator is killed at each step of a rollout and of an undo. The outcome is that of the undisturbed run: every
// cluster has both Secrets of the same revision, and the rollout is complete.
func TestTheOperatorKilledAtEachStepComesToTheSameEnd(t *testing.T) {
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
	w.history.stop()
	if len(w.history.failures) > 0 {
		t.Error(w.history.failures)
	}
	w.neverBlank()
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
		w.undo()
	} else {
		w.setNoProxy(w.proxy, next)
		*current = next
	}
	w.awaitRefused(mark, k.name)
	w.operator.Kill()
	w.disarm(k)
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

// arm has the API server refuse a write, and returns once it does.
func (w *waves) arm(k killPoint) {
	w.Helper()
	w.must(w.cp.Apply(w.Context(), []byte(k.policy())))
	w.awaitPolicy(k)
}

// awaitPolicy awaits that the API server has noticed a policy: a policy of the same kind for a probe's writes is applied
// after it, and refuses.
func (w *waves) awaitPolicy(killPoint) {
	w.Helper()
	probe := `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: kill-point-probe}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  matchConditions:
  - {name: probe, expression: "request.name == 'kill-point-probe'"}
  validations:
  - {expression: "false", message: seen}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: kill-point-probe}
spec: {policyName: kill-point-probe, validationActions: [Deny]}
`
	w.must(w.cp.Apply(w.Context(), []byte(probe)))
	try := func(ctx context.Context) error {
		return w.client.Create(ctx, configMapNamed(w.namespace, "kill-point-probe"), client.DryRunAll)
	}
	controlplanetest.Await(w, "the API server to notice the policy", func(ctx context.Context) (bool, error) {
		err := try(ctx)
		return holds(err != nil && strings.Contains(err.Error(), "seen"), "it says: %v", err)
	})
	w.remove(probe)
	controlplanetest.Await(w, "the API server to forget the probe", func(ctx context.Context) (bool, error) { return true, try(ctx) })
}

func (w *waves) disarm(k killPoint) {
	w.Helper()
	w.remove(k.policy())
}

func (w *waves) remove(manifests string) {
	w.Helper()
	objects, err := controlplane.Parse([]byte(manifests))
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
		if err != nil {
			return false, err
		}
		for _, e := range events {
			if s := e.ResponseStatus; s != nil && strings.Contains(s.Message, "this far") {
				return true, nil
			}
		}
		return false, fmt.Errorf("none of %d requests was refused", len(events))
	})
}

// neverBlank: no version of a Secret lost its content, and none was deleted.
func (w *waves) neverBlank() {
	w.Helper()
	for name, versions := range maps.All(w.history.versions) {
		for i, v := range versions {
			if v.deleted || len(v.data) == 0 || !v.whole {
				w.Errorf("%s, version %d: deleted %t, %d keys, whole %t", name, i+1, v.deleted, len(v.data), v.whole)
			}
		}
	}
}
