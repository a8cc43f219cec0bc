package operator_test

import (
	"net"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/e2e/observe"
	"github.com/fairlead-io/fairlead/e2e/ports"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

// awaitRevision awaits that the Secrets of clusters have a revision.
func (w *waves) awaitRevision(number int64, clusters ...string) {
	w.Helper()
	for _, cluster := range clusters {
		w.awaitReport(cluster, "the revision", func(r *v1alpha1.ProxyReport) bool {
			return r.Status.Revision != nil && r.Status.Revision.Number == number && r.Status.RevisionSince != nil
		})
	}
}

// newProbedFleet has 300 clusters with revision 2, by which they leave through squid. The canaries have API servers and probes, and
// observe has seen that two of them get out, and one does not: a target of its own is down.
func newProbedFleet(f *fixture, s *companySquid) (w *waves, cut *inside, good []*inside) {
	f.Helper()
	_, port, err := net.SplitHostPort(listens(f))
	f.must(err)
	down, err := ports.Reserve()
	f.must(err)
	f.must(f.cp.ApplyFS(f.Context(), config.Observe))
	w = newFleet(f, func(p *v1alpha1.CorporateProxy) {
		p.Spec.Probes = &v1alpha1.Probes{
			BeforeChange: v1alpha1.BeforeChangeNever, MustReach: []v1alpha1.ProbeTarget{{URL: "tcp://" + net.JoinHostPort(outside, port), Route: "Proxied"}},
		}
		p.Spec.Rollout.HaltOn.Probes = v1alpha1.ProbesRequired
	})
	cut = newInside(w, "canary-0", map[string]any{"url": "tcp://" + down.Address(), "expect": "Reachable", "route": "Direct"})
	good = []*inside{newInside(w, "canary-1"), newInside(w, "canary-2")}
	w.others(297)
	w.setAccount(s, "me", "first")
	w.awaitComplete(2) // nobody has been observed
	_, err = observe.Start(f.Context(), f.cp, "--period=5s")
	f.must(err)
	cut.start(2)
	for _, c := range good {
		c.start(2)
	}
	cut.awaitObserved(2, v1alpha1.EgressFailed, "ConnectionRefused")
	for _, c := range good {
		c.awaitObserved(2, v1alpha1.EgressVerified, "")
	}
	return w, cut, good
}

// With nothing tried before, a password that squid refuses reaches the canaries alone: the rollout halts with 407, and undo
// brings them back. One whose probes failed before the change halts nothing, and nobody waits for it.
func TestAPasswordThatTheProxyRefusesReachesTheCanariesAlone(t *testing.T) {
	tier.Full(t)
	f := newOwnFixture(t, "--preflight")
	s := startSquid(f, map[string]string{"me": "first"})
	w, cut, good := newProbedFleet(f, s)
	versions := w.count(w.rest)

	w.setAccount(s, "me", "wrong")
	w.awaitRevision(3, w.canaries...)
	waiting := w.awaitRollout("the canaries have it, and are waited for", func(s v1alpha1.RolloutStatus) bool {
		return s.Revision == 3 && s.Updated == 1 && s.InProgress == int32(len(good))
	})
	if waiting.Halted || waiting.Waves[0].State != v1alpha1.WaveProgressing {
		t.Errorf("%+v", waiting)
	}
	cut.deliver(3)
	cut.awaitObserved(3, v1alpha1.EgressFailed, "407")
	good[0].deliver(3)
	halted := w.awaitHalted(3)
	if failures := strings.Join(halted.Failures, "; "); halted.Failed != 1 || !strings.Contains(failures, good[0].name+": its egress check failed: tcp://"+outside) || !strings.Contains(failures, "407") {
		t.Errorf("%+v", halted)
	}
	good[1].deliver(3)
	good[1].awaitObserved(3, v1alpha1.EgressFailed, "407")
	s.awaitRefused("me", 1)
	w.awaitReachable(metav1.ConditionUnknown, v1alpha1.ReasonNotTried, "beforeChange is Never")
	w.undo()
	w.awaitRevision(2, w.canaries...)
	if now := w.count(w.rest); now != versions {
		t.Errorf("outside the wave %d Secrets were written", now-versions)
	}
	back := w.awaitRollout("who went back is probed as well", func(s v1alpha1.RolloutStatus) bool {
		return s.Revision == 2 && s.InProgress == int32(len(good))
	})
	if back.Completed != nil {
		t.Errorf("it is completed before anybody has seen that they get out: %+v", back)
	}
	for _, c := range good {
		c.deliver(2)
	}
	w.awaitRollout("the canaries are back", func(s v1alpha1.RolloutStatus) bool {
		return s.Revision == 2 && s.Completed != nil && s.InProgress == 0 && !s.Halted
	})

	s.setUsers(map[string]string{"me": "first", "you": "fourth"})
	w.setAccount(s, "you", "fourth")
	for _, c := range good {
		c.deliver(4)
	}
	w.awaitRollout("all have revision 4", func(s v1alpha1.RolloutStatus) bool {
		return s.Revision == 4 && s.Completed != nil && !s.Halted && s.InProgress == 0
	})
	w.awaitRevision(4, w.rest...)
	w.restartsAreNoDoubt(good)
}

// restartsAreNoDoubt: what was seen to hold is in the records, and what cannot be told any more changes nothing.
func (w *waves) restartsAreNoDoubt(clusters []*inside) {
	w.Helper()
	for _, c := range clusters {
		w.awaitReport(c.name, "a record", func(r *v1alpha1.ProxyReport) bool {
			record, is, err := revision.ParseRecord(r.Annotations[v1alpha1.RevisionAnnotation])
			return is && err == nil && record.Verified && record.Proven != nil
		})
		w.must(c.cp.StopAPIServer())
		c.awaitObserved(4, v1alpha1.EgressUnknown, "nobody listens")
	}
	w.must(w.operator.Stop())
	w.startOperator("--preflight")
	w.awaitRollout("it is as it was", func(s v1alpha1.RolloutStatus) bool {
		return s.Revision == 4 && s.Completed != nil && !s.Halted && s.InProgress == 0 && s.Failed == 0
	})
}
