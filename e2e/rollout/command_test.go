package rollout_test

import (
	"bufio"
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

// expectControl compares the control ConfigMap.
func (f *fixture) expectControl(want map[string]string) {
	f.Helper()
	if got := f.control(); !maps.Equal(got, want) {
		f.Errorf("the ConfigMap has %v, want %v", got, want)
	}
}

func TestAnUndoRejectsTheNewestRevisionOnceAndNoFurther(t *testing.T) {
	f := newFixture(t)
	f.proxy()
	plan := "1 cluster will go back from revision 3 to revision 2: " + f.namespace + "/c1\n"
	f.says(0, plan+"corporateproxy.fairlead.io/NAME: revision 3 rejected (client dry run)\n", "undo", f.name, "--dry-run")
	f.says(0, plan+"corporateproxy.fairlead.io/NAME: revision 3 rejected (server dry run)\n", "undo", f.name, "--dry-run=server")
	f.expectControl(nil)
	f.says(0, plan+"corporateproxy.fairlead.io/NAME: revision 3 rejected\n", "undo", f.name)
	f.expectControl(map[string]string{"rejected": f.digest(3)})
	f.says(0, "Waiting the operator has not yet seen which revisions are rejected: 3", "status", f.name, "-o", "jsonpath={.phase} {.message}")
	f.says(0, "Revision 3 is rejected already.\n"+plan, "undo", f.name)
	f.expectControl(map[string]string{"rejected": f.digest(3)})
	f.says(0, "1 cluster will go back from revision 2 to revision 1: "+f.namespace+"/c2\ncorporateproxy.fairlead.io/NAME: revision 2 rejected\n", "undo", f.name, "--reject", "2")
	f.expectControl(map[string]string{"rejected": f.digest(3) + " " + f.digest(2)})
	f.says(0, "credentials rejected", "history", f.name, "--revision", "2", "-o", "jsonpath={[0].difference.fields[0].field} {[0].state}")
}

func TestAnUndoToRefusedCredentialsNeedsForce(t *testing.T) {
	f := newFixture(t)
	f.proxy()
	f.status(func(s *v1alpha1.CorporateProxyStatus) {
		s.Credentials = []v1alpha1.CredentialsStatus{{Fingerprint: "f2", Revision: 3}, {Fingerprint: "f1", Revision: 1, Refused: true}}
	})
	f.says(1, "fairlead: CorporateProxy NAME: the proxy has refused the credentials of revision 1, which clusters would go back to from revision 2; nothing is done without --force\n", "undo", f.name, "--reject", "2")
	f.expectControl(nil)
	f.ends(nil, 0, "", "undo", f.name) // those of revision 2 work
	f.ends(nil, 0, "", "undo", f.name, "--reject", "2", "--force")
	f.expectControl(map[string]string{"rejected": f.digest(3) + " " + f.digest(2)})
}

func TestAPauseIsAKeyOfItsOwn(t *testing.T) {
	f := newFixture(t)
	f.proxy()
	f.says(0, "corporateproxy.fairlead.io/NAME was not paused\n", "resume", f.name)
	f.expectControl(nil)
	f.says(0, "corporateproxy.fairlead.io/NAME paused (client dry run)\n", "pause", f.name, "--dry-run=client")
	f.expectControl(nil)
	f.says(0, "corporateproxy.fairlead.io/NAME paused\n", "pause", f.name)
	f.says(0, "corporateproxy.fairlead.io/NAME was paused already\n", "pause", f.name)
	f.must(f.client.Update(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: revision.ControlName(f.name)}, Data: map[string]string{"paused": "true", "note": "of somebody else"},
	}))
	f.ends(nil, 0, "", "undo", f.name)
	f.expectControl(map[string]string{"paused": "true", "note": "of somebody else", "rejected": f.digest(3)})
	f.says(0, "corporateproxy.fairlead.io/NAME resumed\n", "resume", f.name)
	f.expectControl(map[string]string{"note": "of somebody else", "rejected": f.digest(3)})

	paused := strings.Replace(strings.ReplaceAll(manifest, "NAME", f.name), "rollout:", "rollout:\n    paused: true", 1)
	f.must(f.cp.Apply(t.Context(), []byte(paused)))
	f.says(1, "fairlead: spec.rollout.paused of CorporateProxy NAME pauses the rollout: remove it there, or in the repository that the object comes from\n", "resume", f.name)
}

// Two people at a time, where the ConfigMap is there and where it is not: what each rejected is rejected.
func TestWhoComesSecondOverwritesNothing(t *testing.T) {
	f := newFixture(t)
	f.proxy()
	control := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: revision.ControlName(f.name)}}
	for round := range 6 {
		if round%2 == 1 {
			f.must(f.client.Create(t.Context(), control.DeepCopy()))
		}
		newest, second := f.command("undo", f.name), f.command("undo", f.name, "--reject", "2")
		f.must(newest.Start())
		f.must(second.Start())
		f.must(newest.Wait())
		f.must(second.Wait())
		rejected := strings.Fields(f.control()["rejected"])
		slices.Sort(rejected)
		if want := []string{f.digest(2), f.digest(3)}; !slices.Equal(rejected, want) {
			t.Errorf("round %d: %v are rejected, want %v", round, rejected, want)
		}
		f.must(f.client.Delete(t.Context(), control.DeepCopy()))
	}
}

// GitOps applies the object all the time, and does not know of the ConfigMap.
func TestGitOpsDoesNotUndoWhatPeopleSay(t *testing.T) {
	f := newFixture(t)
	f.proxy()
	for _, args := range [][]string{{"pause", f.name}, {"undo", f.name}, {"resume", f.name}, {"pause", f.name}} {
		f.apply()
		f.ends(nil, 0, "", args...)
		f.apply()
	}
	f.expectControl(map[string]string{"paused": "true", "rejected": f.digest(3)})
	var p v1alpha1.CorporateProxy
	f.must(f.client.Get(t.Context(), client.ObjectKey{Name: f.name}, &p))
	if p.Spec.Rollout.Paused || p.Generation != 1 {
		t.Errorf("the object changed: generation %d", p.Generation)
	}
	for _, entry := range p.ManagedFields {
		if entry.Manager == "fairlead-cli" {
			t.Error("fairlead wrote the object")
		}
	}
	c, err := f.clients.CoreV1().ConfigMaps(operatorNamespace).Get(t.Context(), revision.ControlName(f.name), metav1.GetOptions{})
	f.must(err)
	for _, entry := range c.ManagedFields {
		if entry.Manager != "fairlead-cli" {
			t.Errorf("the ConfigMap was written by %s", entry.Manager)
		}
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	f := newFixture(t)
	f.proxy()
	f.says(1, "fairlead: there is no CorporateProxy nobody\n", "status", "nobody")
	f.says(1, "fairlead: the namespace default has no revision of CorporateProxy NAME, and its status has: is the operator in another one (--operator-namespace)?\n", "pause", f.name, "--operator-namespace", "default")
	f.must(f.cp.Apply(t.Context(), []byte("apiVersion: fairlead.io/v1alpha1\nkind: CorporateProxy\nmetadata: {name: plain-"+f.namespace+"}\nspec: {source: {valuesRef: {name: proxy}}}\n")))
	for _, verb := range []string{"status", "pause", "resume", "undo", "history"} {
		f.ends(nil, 1, ": spec.rollout is not set, so that every change reaches all clusters at once", verb, "plain-"+f.namespace)
	}
}

// Who may only look at the objects sees the status. Who may not even do that, or writes, is told which right is missing.
func TestAMissingRightIsNamed(t *testing.T) {
	f := newFixture(t)
	f.proxy()
	f.ends(f.user("nobody"), 1, "fairlead: you need the right to list corporateproxies.fairlead.io in a ClusterRole: ", "status", f.name)
	objects := rbacv1.PolicyRule{APIGroups: []string{"fairlead.io"}, Resources: []string{"corporateproxies", "proxyreports"}, Verbs: []string{"list"}}
	looker := f.user("looker", objects)
	controlplanetest.Await(t, "the role", func(context.Context) (bool, error) {
		status, out := f.run(looker, "status", f.name)
		return controlplanetest.Holds(status == 0 && strings.Contains(out, "warning: you need the right to list configmaps in the namespace fairlead-system: ") && strings.Contains(out, "0 of 2 clusters"),
			"status %d: %s", status, out)
	})
	lister := f.user("lister", objects, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}})
	controlplanetest.Await(t, "the right to list", func(context.Context) (bool, error) {
		status, out := f.run(lister, "pause", f.name)
		return controlplanetest.Holds(status == 1 && strings.Contains(out, "fairlead: you need the right to create configmaps in the namespace fairlead-system: "),
			"status %d: %s", status, out)
	})
	f.expectControl(nil)
	f.ends(nil, 0, "", "pause", f.name)
	f.ends(lister, 1, "fairlead: you need the right to patch configmaps in the namespace fairlead-system: ", "resume", f.name)
}

// user is somebody who may do what the rules say.
func (f *fixture) user(name string, rules ...rbacv1.PolicyRule) *rest.Config {
	f.Helper()
	name += "-" + f.namespace
	controlplanetest.Role(f, f.clients, name, rules...)
	config, err := f.cp.User(name)
	f.must(err)
	return config
}

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
	f.says(0, "Progressing 3 2", "status", f.name, "-o", "jsonpath={.phase} {.rollout.revision} {.others[0].revision}")
	f.says(0, "NAME", "status", "-o", "jsonpath={[0].name}") // the only one
	f.status(f.halt)
	if status, out := f.run(nil, "status", f.name); status != 1 || !strings.HasPrefix(out, "CorporateProxy "+f.name+": revision 3, Halted since 2026-11-22T10:00:09Z\n") {
		t.Errorf("status %d: %s", status, out)
	}
}

func TestAWatchShowsEachChangeAndEndsWithTheRollout(t *testing.T) {
	f := newFixture(t)
	f.proxy()
	if status, out := f.run(nil, "status", f.name, "--watch", "--timeout", "1s"); status != 1 || !strings.HasSuffix(out, "fairlead: CorporateProxy "+f.name+": its rollout has not ended within 1s\n") {
		t.Errorf("without an end: status %d: %s", status, out)
	}
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

// An operator that died leaves a status in which something seems to go on.
func TestAnOperatorThatDoesNotRunIsNamed(t *testing.T) {
	f := newFixture(t)
	f.proxy()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "fairlead-operator"}}
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = ptr.To("pod"), ptr.To[int32](15)
	lease.Spec.RenewTime = &metav1.MicroTime{Time: second(0).Time}
	f.must(f.client.Create(t.Context(), lease))
	t.Cleanup(func() { _ = f.client.Delete(context.Background(), lease) })
	f.says(0, "the operator does not run: it renewed its Lease fairlead-system/fairlead-operator the last time at 2026-11-22T10:00:00Z",
		"status", f.name, "-o", "jsonpath={.operator}")

	lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(time.Minute)} // a busy machine asks late
	f.must(f.client.Update(t.Context(), lease))
	f.says(0, "", "status", f.name, "-o", "jsonpath={.operator}")
}
