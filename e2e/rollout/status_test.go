package rollout_test

import (
	"bufio"
	"context"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

const underWay = `CorporateProxy NAME: revision 3, Progressing since 2026-11-22T10:00:03Z
0 of 2 clusters updated, 1 in progress

WAVE     STATE         UPDATED   OF
canary   Progressing   0         1
rest     Pending       0         1

wave canary gets revision 3
Revision 2: 1 cluster (NAMESPACE/c2)
`

func (f *fixture) halt(s *v1alpha1.CorporateProxyStatus) {
	since := second(9)
	s.Rollout = f.rollout()
	s.Rollout.Halted, s.Rollout.HaltedSince, s.Rollout.Failed = true, &since, 1
	s.Rollout.Failures = []string{f.namespace + "/c1: Refused: no"}
	s.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonHalted, Message: "revision 3 failed in " + f.namespace + "/c1", LastTransitionTime: since,
	}}
}

func TestTheStatusIsThatOfTheObjectAndWhatReportsHave(t *testing.T) {
	f := newFixture(t)
	f.proxy()
	f.says(0, underWay, "status", f.name)
	f.says(0, underWay, "status") // the only one
	f.says(0, "Progressing 3 2", "status", f.name, "-o", "jsonpath={.phase} {.rollout.revision} {.others[0].revision}")
	f.says(0, "NAME", "status", "-o", "jsonpath={[0].name}")
	f.status(f.halt)
	f.says(1, `CorporateProxy NAME: revision 3, Halted since 2026-11-22T10:00:09Z
0 of 2 clusters updated, 1 in progress, 1 failed

WAVE     STATE     UPDATED   OF
canary   Halted    0         1
rest     Pending   0         1

revision 3 failed in NAMESPACE/c1
Failed: NAMESPACE/c1: Refused: no
Next: repair the clusters, and the rollout continues; or go back: fairlead rollout undo NAME
Revision 2: 1 cluster (NAMESPACE/c2)
`, "status", f.name)
}

func TestAWatchShowsEachChangeAndEndsWithTheRollout(t *testing.T) {
	f := newFixture(t)
	f.proxy()
	for name, end := range map[string]struct {
		write  func(*v1alpha1.CorporateProxyStatus)
		status int
		last   string
	}{
		"completed": {func(s *v1alpha1.CorporateProxyStatus) {
			completed := second(30)
			s.Rollout.Updated, s.Rollout.InProgress, s.Rollout.Wave, s.Rollout.Completed, s.Rollout.Message = 2, 0, "", &completed, "all clusters have revision 3"
		}, 0, "revision 3, Completed since 2026-11-22T10:00:30Z\n2 of 2 clusters updated\n"},
		"halted": {f.halt, 1, "revision 3, Halted since 2026-11-22T10:00:09Z\n"},
	} {
		f.status(func(s *v1alpha1.CorporateProxyStatus) { s.Rollout, s.Conditions = f.rollout(), nil })
		command := f.command("status", f.name, "--watch", "--timeout", "2m")
		out, err := command.StdoutPipe()
		f.must(err)
		f.must(command.Start())
		lines := bufio.NewReader(out)
		f.awaitLine(lines, "revision 3, Progressing, 0 of 2 clusters updated, 1 in progress; wave canary gets revision 3\n")
		f.status(func(s *v1alpha1.CorporateProxyStatus) { s.Rollout.Updated = 1 })
		f.awaitLine(lines, "revision 3, Progressing, 1 of 2 clusters updated, 1 in progress; wave canary gets revision 3\n")
		f.status(end.write)
		var rest strings.Builder
		_, err = lines.WriteTo(&rest)
		f.must(err)
		_ = command.Wait()
		if got := command.ProcessState.ExitCode(); got != end.status || !strings.HasPrefix(rest.String(), "CorporateProxy "+f.name+": "+end.last) {
			t.Errorf("%s: status %d: %s", name, got, rest.String())
		}
	}
}

func (f *fixture) awaitLine(lines *bufio.Reader, want string) {
	f.Helper()
	if line, err := lines.ReadString('\n'); err != nil || line != want {
		f.Errorf("%v: %q, want %q", err, line, want)
	}
}

// What nobody has seen yet, the operator least of all, is not completed.
func TestAWatchWaitsForWhatWasAskedFor(t *testing.T) {
	f := newFixture(t)
	f.proxy()
	f.status(func(s *v1alpha1.CorporateProxyStatus) {
		completed := second(30)
		s.Rollout.Completed = &completed
	})
	if status, out := f.run("status", f.name, "-w"); status != 0 || !strings.Contains(out, "Completed") {
		t.Errorf("%d: %s", status, out)
	}
	if status, out := f.run("undo", f.name); status != 0 {
		t.Error(out)
	}
	f.watchesInVain("revision 3, Waiting, 0 of 2 clusters updated, 1 in progress; the operator has not yet seen which revisions are rejected: 3\n")
}

// watchesInVain runs a watch that says this and ends when its time is up. On a busy machine, that is before it has said it: then
// it has longer.
func (f *fixture) watchesInVain(says string) {
	f.Helper()
	for timeout := time.Second; ; timeout *= 2 {
		want := f.named(says + "fairlead: CorporateProxy NAME: its rollout has not ended within " + timeout.String() + "\n")
		status, out := f.run("status", f.name, "--watch", "--timeout", timeout.String())
		if status == 1 && out == want {
			return
		}
		if timeout > 10*time.Second {
			f.Errorf("status %d, it says\n%s\nwant 1\n%s", status, out, want)
			return
		}
	}
}

// An operator that died leaves a status in which something seems to go on.
func TestAnOperatorThatDoesNotRunIsNamed(t *testing.T) {
	f := newFixture(t)
	f.proxy()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "fairlead-operator"}}
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = ptr.To("pod"), ptr.To[int32](15)
	lease.Spec.RenewTime = &metav1.MicroTime{Time: second(0).Time}
	f.must(f.client.Create(t.Context(), lease))
	t.Cleanup(func() { _ = f.client.Delete(context.Background(), lease) })
	const gone = "the operator does not run: it renewed its Lease fairlead-system/fairlead-operator the last time at 2026-11-22T10:00:00Z"
	if status, out := f.run("status", f.name); status != 0 || !strings.Contains(out, "\n\n"+gone+"\nwave canary gets revision 3\n") {
		t.Errorf("status %d: %s", status, out)
	}
	f.watchesInVain("revision 3, Progressing, 0 of 2 clusters updated, 1 in progress; wave canary gets revision 3; " + gone + "\n")
	f.says(0, gone, "status", f.name, "-o", "jsonpath={.operator}")

	lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(time.Minute)} // a busy machine asks late
	f.must(f.client.Update(t.Context(), lease))
	f.says(0, "", "status", f.name, "-o", "jsonpath={.operator}")
}
