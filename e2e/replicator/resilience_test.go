package replicator_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/e2e/policies"
)

func TestWhatWentWrongWhileItWasDownIsRightAfterARestart(t *testing.T) {
	t.Parallel()
	f := newOwnFixture(t)
	deleted, drifted, right := f.namespace(), f.namespace(), f.namespace()
	for _, namespace := range []string{deleted, drifted, right} {
		f.awaitCopy(namespace)
	}
	f.replicator.Kill()
	f.must(f.client.Delete(t.Context(), f.secret(deleted)))
	f.change(drifted, func(s *corev1.Secret) { delete(s.Data, "NO_PROXY") })
	fresh := f.namespace()
	untouched := f.secret(right).ResourceVersion
	mark := f.mark()
	f.start()
	for _, namespace := range []string{deleted, drifted, fresh} {
		f.awaitCopy(namespace)
	}
	if len(f.secretWrites(mark)) != 3 || f.secret(right).ResourceVersion != untouched {
		t.Errorf("%d requests for three copies", len(f.secretWrites(mark)))
	}
}

func TestTheReplicatorComesBackAfterARestartOfTheAPIServer(t *testing.T) {
	t.Parallel()
	f := newOwnFixture(t)
	namespace := f.namespace()
	f.awaitCopy(namespace)
	f.must(f.cp.StopAPIServer())
	f.must(f.cp.StartAPIServer(t.Context()))
	f.install("another")
	f.awaitCopy(namespace)
	f.awaitCopy(f.namespace())
	f.must(f.client.Delete(t.Context(), f.secret(namespace)))
	f.awaitCopy(namespace)
	select {
	case <-f.replicator.Done():
		t.Error("it ended")
	default:
	}
}

func TestAStandbyWritesNothingUntilTheLeaderIsKilled(t *testing.T) {
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

func TestSeveralChangesOfTheSourceEndInTheLast(t *testing.T) {
	t.Parallel()
	f := newOwnFixture(t)
	namespace := f.namespace()
	f.awaitCopy(namespace)
	for _, password := range []string{"1", "2", "3", "4", "5"} {
		f.change(policies.Namespace, func(s *corev1.Secret) { s.Data["HTTP_PROXY"] = []byte("http://p:" + password) })
	}
	f.awaitCopy(namespace)
	f.awaitIdle(f.looks())
	f.awaitCopy(namespace)
}
