package replicator_test

import (
	"context"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

// The release is there, and of the replicator nothing: its image cannot be pulled, or it crashes.
func TestNoPodWaitsUntilTheReplicatorHasWritten(t *testing.T) {
	f := on(t, controlplanetest.Start(t, controlplane.Options{}))
	controlplanetest.Require(t, f.cp.StartControllerManager(t.Context(), controlplane.ServiceAccounts))
	older := f.namespace()
	f.install("pl4in")
	waits := func(namespace string) (all, waiting int) {
		for _, env := range f.pod(namespace).Spec.Containers[0].Env {
			all++
			if !ptr.Deref(env.ValueFrom.SecretKeyRef.Optional, false) {
				waiting++
			}
		}
		return all, waiting
	}
	controlplanetest.Await(t, "the policies", func(context.Context) (bool, error) {
		all, waiting := waits(older)
		newer := f.namespace()
		_, too := waits(newer)
		if waiting+too > 0 || f.served(newer) != "" {
			t.Fatalf("%d, and in a new namespace %d, variables of a pod wait for what nobody writes", waiting, too)
		}
		return controlplanetest.Holds(all == 6, "the pod has %d variables", all)
	})

	f.start()
	for _, namespace := range []string{older, "kube-system", policies.Namespace} {
		f.awaitServed(namespace, servedSince)
	}
	if _, waiting := waits(older); waiting != 6 {
		t.Errorf("%d variables wait where there is a copy", waiting)
	}
	f.nothingForbidden()
}
