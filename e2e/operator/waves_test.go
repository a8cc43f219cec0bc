package operator_test

import (
	"context"
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

// shortLists is a rule of somebody's: the machines of canaries take no long list.
const shortLists = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: short-lists}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [secrets]}
  matchConditions:
  - {name: canaries, expression: "request.name.startsWith('canary-') && request.name.endsWith('-systemd-proxy')"}
  validations:
  - {expression: "object.data.containerdProxy.size() < 2000", message: no list of that length}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: short-lists}
spec: {policyName: short-lists, validationActions: [Deny]}
`

func longList() string {
	var list []string
	for i := range 60 {
		list = append(list, strings.Repeat("h", i+1)+".example")
	}
	return strings.Join(list, ",")
}

// refuseLongLists returns once the rule holds.
func (w *waves) refuseLongLists() {
	w.Helper()
	w.must(w.cp.Apply(w.Context(), []byte(shortLists)))
	controlplanetest.Await(w, "the API server to refuse", func(ctx context.Context) (bool, error) {
		_, systemd := w.secrets(w.canaries[0])
		systemd.Data["containerdProxy"] = []byte(longList() + longList())
		err := w.client.Update(ctx, systemd, client.DryRunAll)
		if err != nil && strings.Contains(err.Error(), "no list of that length") {
			return true, nil
		}
		return holds(false, "it says: %v", err)
	})
}

// The canaries' Secrets are refused: the rollout is halted, and nothing outside their wave is written. The canaries go
// back, and a corrected change goes through without anybody removing a pin.
func TestCanariesWhoseSecretsAreRefusedHaltTheRollout(t *testing.T) {
	w := newWaves(t, 5, many())
	w.refuseLongLists()
	before := w.contentOf(w.canaries)
	versions := w.count(w.rest)

	w.setNoProxy(w.proxy, longList())
	halted := w.awaitHalted(2)
	if halted.Wave != "canary" || halted.Failed == 0 || !strings.Contains(strings.Join(halted.Failures, " "), "no list of that length") {
		t.Errorf("%+v", halted)
	}
	stalled := meta.FindStatusCondition(w.proxy.Status.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Status != metav1.ConditionTrue || stalled.Reason != v1alpha1.ReasonHalted || !strings.Contains(stalled.Message, w.namespace+"/canary-") { // whichever was tried first
		t.Errorf("%+v", stalled)
	}
	w.undo()
	w.awaitComplete(1)
	if after := w.contentOf(w.canaries); !maps.Equal(before, after) {
		t.Errorf("the canaries have\n%v\nand had\n%v", after, before)
	}
	if now := w.count(w.rest); now != versions {
		t.Errorf("outside the wave %d Secrets were written", now-versions)
	}

	w.setNoProxy(w.proxy, "corrected.example")
	w.awaitComplete(3)
	for _, cluster := range []string{w.canaries[0], w.rest[0], w.rest[len(w.rest)-1]} {
		if list := w.noProxy(cluster); !strings.Contains(list, "corrected.example") {
			t.Errorf("%s has %s", cluster, list)
		}
	}
	w.history.stop()
	if len(w.history.failures) > 0 {
		t.Error(w.history.failures)
	}
}
