package charts_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// A stolen token of the relay's pod frees its own node of one taint, and does nothing else to any node.
func TestTheRelayTakesItsTaintFromItsOwnNodeAndChangesNothingElse(t *testing.T) {
	tier.Full(t)
	cp := controlplanetest.Start(t, controlplane.Options{})
	controlplanetest.Require(t, policies.Install(t.Context(), cp, values{"engine": "Native", "relay": values{"startupTaint": true}}, relayed(nil)))
	admin := controlplanetest.Client(t, cp.Admin(), nil)
	taints := []corev1.Taint{
		{Key: "fairlead.io/relay", Effect: corev1.TaintEffectNoSchedule}, {Key: "fairlead.io/relay", Effect: corev1.TaintEffectNoExecute}, {Key: "dedicated", Effect: corev1.TaintEffectNoSchedule},
	}
	for _, name := range []string{"own", "other"} {
		controlplanetest.Require(t, admin.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Taints: taints}}))
	}
	config := cp.Admin()
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + policies.Namespace + ":" + relayName, Groups: []string{"system:serviceaccounts", "system:authenticated"},
		Extra: map[string][]string{"authentication.kubernetes.io/node-name": {"own"}},
	}
	relay := controlplanetest.Client(t, config, nil)
	patch := func(node, text string, options ...client.PatchOption) error {
		return relay.Patch(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, client.RawPatch(types.MergePatchType, []byte(text)), options...)
	}
	const notReady = `{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}` // the API server adds it
	const without = `{"spec": {"taints": [{"key": "dedicated", "effect": "NoSchedule"}, ` + notReady + `]}}`
	controlplanetest.Await(t, "the cage", func(context.Context) (bool, error) {
		err := patch("other", without, client.DryRunAll)
		return controlplanetest.Holds(apierrors.IsForbidden(err), "it says %v", err)
	})
	for what, test := range map[string]struct{ node, text string }{
		"another node":                      {"other", without},
		"another taint":                     {"own", `{"spec": {"taints": [{"key": "fairlead.io/relay", "effect": "NoSchedule"}, ` + notReady + `]}}`},
		"all taints":                        {"own", `{"spec": {"taints": null}}`},
		"a taint more":                      {"own", `{"spec": {"taints": [{"key": "dedicated", "effect": "NoSchedule"}, ` + notReady + `, {"key": "x", "effect": "NoExecute"}]}}`},
		"a label beside it":                 {"own", `{"metadata": {"labels": {"a": "b"}}, "spec": {"taints": [{"key": "dedicated", "effect": "NoSchedule"}, ` + notReady + `]}}`},
		"whether pods are scheduled at all": {"own", `{"spec": {"unschedulable": true, "taints": [{"key": "dedicated", "effect": "NoSchedule"}, ` + notReady + `]}}`},
	} {
		err := patch(test.node, test.text, client.DryRunAll)
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "fairlead-relay-taint") {
			t.Errorf("%s: %v", what, err)
		}
	}
	const one = `{"spec": {"taints": [{"key": "fairlead.io/relay", "effect": "NoExecute"}, {"key": "dedicated", "effect": "NoSchedule"}, ` + notReady + `]}}`
	controlplanetest.Require(t, patch("own", one)) // each by itself
	controlplanetest.Require(t, patch("own", without))
	if err := relay.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "own"}}); !apierrors.IsForbidden(err) {
		t.Errorf("it may take nodes away: %v", err)
	}
}
