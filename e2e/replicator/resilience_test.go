package replicator_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

func TestAStandbyWritesNothingUntilTheLeaderIsKilled(t *testing.T) {
	tier.Full(t)
	t.Parallel()
	f := newOwnFixture(t)
	namespace := f.namespace()
	f.awaitCopy(namespace)
	leader := f.replicator
	f.start()
	mark := f.mark()
	f.install("second")
	f.awaitCopy(namespace)
	f.awaitCopy("default")
	if writes := f.secretWrites(mark); len(writes) != 2 {
		t.Errorf("two replicas made %d requests for two copies", len(writes))
	}
	leader.Kill()
	f.install("third")
	f.awaitCopy(namespace)
	f.awaitCopy(f.namespace())
}

// A rival that answers every write of ours at once, as a controller does.
func TestARivalDoesNotMakeItWriteWithoutEnd(t *testing.T) {
	tier.Full(t)
	t.Parallel() // it waits for most of its time
	f := newFixture(t)
	for name, answer := range map[string]func(context.Context, client.Client, *corev1.Secret) error{
		"changes it": func(ctx context.Context, c client.Client, s *corev1.Secret) error {
			if string(s.Data["HTTP_PROXY"]) == "theirs" {
				return nil
			}
			s.Data["HTTP_PROXY"] = []byte("theirs")
			return c.Update(ctx, s)
		},
		"deletes it": func(ctx context.Context, c client.Client, s *corev1.Secret) error { return c.Delete(ctx, s) },
	} {
		t.Run(name, func(t *testing.T) {
			namespace := f.namespace()
			secret := f.awaitCopy(namespace)
			mark := f.mark()
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				for ctx.Err() == nil {
					current := &corev1.Secret{}
					if f.client.Get(ctx, client.ObjectKeyFromObject(secret), current) == nil {
						_ = answer(ctx, f.client, current) // a conflict, or too late: again
					}
				}
			}()
			f.awaitCopies("Contended", 1)
			stop()
			<-done
			if writes := len(f.secretWrites(mark, controlplane.InNamespace(namespace))); writes > 12 {
				t.Errorf("%d requests until it slowed down", writes)
			}
			f.awaitEvent(namespace, "Contended", policies.Secret)
			f.awaitCopy(namespace)
			controlplanetest.Await(t, "the metric to forget", func(context.Context) (bool, error) { return f.none("Contended") })
		})
	}
}
