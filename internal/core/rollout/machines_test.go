package rollout

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

const changedAt = 10_000 // the second of the change that all of these tests are about

// outdatedCluster needs a rollout and can have one, unless changed.
func outdatedCluster(name string, changes ...func(*MachineCluster)) *MachineCluster {
	c := &MachineCluster{
		Key: types.NamespacedName{Namespace: "org-acme", Name: name}, Wanted: true, Ready: true,
		Nodes: &v1alpha1.ReportedNodes{Since: since(changedAt), Machines: 5, Outdated: 3, Owners: []v1alpha1.ReportedOwner{
			{Kind: MachineDeployment, Name: "md-b", Machines: 1, Outdated: 1},
			{Kind: MachineDeployment, Name: "md-a", Machines: 1, Outdated: 1},
			{Kind: KubeadmControlPlane, Name: "cp", Machines: 3, Outdated: 1},
		}},
	}
	for _, change := range changes {
		change(c)
	}
	return c
}

func onlyOwners(owners ...v1alpha1.ReportedOwner) func(*MachineCluster) {
	return func(c *MachineCluster) { c.Nodes.Owners = owners }
}

func beganAt(second int64) func(*MachineCluster) {
	return func(c *MachineCluster) {
		c.Rollout = v1alpha1.ReportedRollout{After: since(changedAt), Started: since(second)}
	}
}

func claimed(c *MachineCluster) { c.Claimed = true }

func seenAt(second int64) func(*MachineCluster) {
	return func(c *MachineCluster) { c.Seen = time.Unix(second, 0) }
}

func retryAt(second int64) func(*MachineCluster) {
	return func(c *MachineCluster) { c.Retry = time.Unix(second, 0) }
}

// startedAt had its rollout, before the change.
func startedAt(second int64) func(*MachineCluster) {
	return func(c *MachineCluster) { c.Rollout.Started = since(second) }
}

// skippedAt is given up, at its control plane.
func skippedAt(second int64) func(*MachineCluster) {
	return func(c *MachineCluster) {
		c.Rollout = v1alpha1.ReportedRollout{Skipped: since(second), Owner: KubeadmControlPlane + "/cp", Message: "skipped"}
	}
}

// ended is released, after its turn.
func ended(began int64) func(*MachineCluster) {
	return func(c *MachineCluster) { isDone(c); c.Rollout.Started = since(began) }
}

func isDone(c *MachineCluster) {
	for i := range c.Nodes.Owners {
		c.Nodes.Owners[i].Outdated = 0
	}
	c.Nodes.Outdated = 0
}

func names(clusters []*MachineCluster) string {
	var all []string
	for _, c := range clusters {
		all = append(all, c.Key.Name)
	}
	return strings.Join(all, " ")
}

func TestWhoseTurnItIs(t *testing.T) {
	const now = changedAt + 3600
	paused := func(c *MachineCluster) { c.Paused = true }
	deleting := func(c *MachineCluster) { c.Deleting = true }
	notReady := func(c *MachineCluster) { c.Ready = false }
	never := func(c *MachineCluster) { c.Wanted = false }
	unchanged := func(c *MachineCluster) { c.Nodes.Since = nil }
	others := onlyOwners(v1alpha1.ReportedOwner{Kind: "RKE2ControlPlane", Name: "cp", Machines: 3, Outdated: 3}, v1alpha1.ReportedOwner{Machines: 1, Outdated: 1})
	changedAgain := func(c *MachineCluster) { c.Nodes.Since = since(now - 60) }
	for name, tc := range map[string]struct {
		fleet      []*MachineCluster
		candidates string
		wait       time.Duration
	}{
		"nobody":  {nil, "", 0},
		"by name": {[]*MachineCluster{outdatedCluster("b"), outdatedCluster("a")}, "a b", 0},
		"who never began comes first": {
			[]*MachineCluster{outdatedCluster("a", startedAt(now-1000)), outdatedCluster("b", startedAt(now-2000)), outdatedCluster("d"), outdatedCluster("c")}, "c d b a", 0,
		},
		"not before the proxy says so":    {[]*MachineCluster{outdatedCluster("a", never), outdatedCluster("b")}, "b", 0},
		"not with a problem":              {[]*MachineCluster{outdatedCluster("a", notReady), outdatedCluster("b")}, "b", 0},
		"not while paused":                {[]*MachineCluster{outdatedCluster("a", paused), outdatedCluster("b")}, "b", 0},
		"not on the way out":              {[]*MachineCluster{outdatedCluster("a", deleting), outdatedCluster("b")}, "b", 0},
		"not without a change":            {[]*MachineCluster{outdatedCluster("a", unchanged)}, "", 0},
		"not without an outdated machine": {[]*MachineCluster{outdatedCluster("a", isDone), outdatedCluster("b")}, "b", 0},
		"not for other control planes":    {[]*MachineCluster{outdatedCluster("a", others), outdatedCluster("b")}, "b", 0},
		"not before anything was counted": {[]*MachineCluster{outdatedCluster("a", func(c *MachineCluster) { c.Nodes = nil })}, "", 0},
		"one at a time":                   {[]*MachineCluster{outdatedCluster("a"), outdatedCluster("b", beganAt(now-900))}, "b", 0},
		"a stuck one halts the fleet":     {[]*MachineCluster{outdatedCluster("a"), outdatedCluster("b", beganAt(now-86_400))}, "b", 0},
		"so does one that is paused":      {[]*MachineCluster{outdatedCluster("a"), outdatedCluster("b", beganAt(now-900), paused)}, "b", 0},
		"so does one with a problem":      {[]*MachineCluster{outdatedCluster("a"), outdatedCluster("b", beganAt(now-900), notReady)}, "b", 0},
		"one that is changed again":       {[]*MachineCluster{outdatedCluster("a"), outdatedCluster("b", beganAt(now-900), changedAgain)}, "b", 0},
		"one without outdated machines":   {[]*MachineCluster{outdatedCluster("a"), outdatedCluster("b", beganAt(now-900), isDone)}, "b", 0},
		"one that goes is released first": {[]*MachineCluster{outdatedCluster("a"), outdatedCluster("b", beganAt(now-900), deleting)}, "", 0},
		"so is one that is to be left":    {[]*MachineCluster{outdatedCluster("a", never, beganAt(now-900)), outdatedCluster("b")}, "", 0},
		"the next after the last":         {[]*MachineCluster{outdatedCluster("a", ended(now-600)), outdatedCluster("b")}, "b", 0},
		"not within the interval":         {[]*MachineCluster{outdatedCluster("a", ended(now-590)), outdatedCluster("b")}, "", 10 * time.Second},
		"nor by a clock that is behind":   {[]*MachineCluster{outdatedCluster("a", ended(now+5)), outdatedCluster("b")}, "", 605 * time.Second},
		"but not for years by a wrong one": {
			[]*MachineCluster{outdatedCluster("a", ended(now+1e9)), outdatedCluster("b")}, "b", 0,
		},
		"nor because of a change that was dated by one": {
			[]*MachineCluster{outdatedCluster("a", func(c *MachineCluster) { c.Nodes.Since = since(now + 1e9) }), outdatedCluster("b")}, "a b", 0,
		},
		"nor after one that was left": {
			[]*MachineCluster{outdatedCluster("a", never, ended(now-590)), outdatedCluster("b")}, "", 10 * time.Second,
		},
		"no wait where nobody waits": {[]*MachineCluster{outdatedCluster("a", ended(now-590))}, "", 0},
		"not while Cluster API's clock may be behind": {
			[]*MachineCluster{outdatedCluster("a", seenAt(now-1))}, "", SettleTime - time.Second,
		},
		"nor before the change has gone round": {
			[]*MachineCluster{outdatedCluster("a", seenAt(now-1)), outdatedCluster("b")},
			"", SettleTime - time.Second,
		},
		"not before its next try": {
			[]*MachineCluster{outdatedCluster("a", retryAt(now+60)), outdatedCluster("b")}, "b", time.Minute,
		},
		"nor is one under way looked at before": {
			[]*MachineCluster{outdatedCluster("a", beganAt(now-900), retryAt(now+15)), outdatedCluster("b")}, "", 15 * time.Second,
		},
		"not one that was skipped":            {[]*MachineCluster{outdatedCluster("a", skippedAt(changedAt)), outdatedCluster("b")}, "b", 0},
		"unless its settings change again":    {[]*MachineCluster{outdatedCluster("a", skippedAt(changedAt-1)), outdatedCluster("b")}, "a b", 0},
		"or none of its machines is outdated": {[]*MachineCluster{outdatedCluster("a", skippedAt(changedAt), isDone), outdatedCluster("b")}, "a b", 0},
		"a claim yields to what is under way": {
			[]*MachineCluster{outdatedCluster("a", beganAt(now-1), claimed), outdatedCluster("b", beganAt(now-2))}, "b", 0,
		},
		"a claim alone is under way": {[]*MachineCluster{outdatedCluster("a"), outdatedCluster("b", beganAt(now-1), claimed)}, "b", 0},
		"nor if it is under way": {
			[]*MachineCluster{outdatedCluster("a", beganAt(now-900), seenAt(now-1)), outdatedCluster("b")},
			"", SettleTime - time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := NextMachines(tc.fleet, time.Unix(now, 0), time.Time{}, 10*time.Minute)
			if all := names(slices.Concat(p.Going, p.Try)); all != tc.candidates || p.Wait != tc.wait {
				t.Errorf("turn %q, wait %s", all, p.Wait)
			}
		})
	}
}

func TestTheControlPlaneComesFirst(t *testing.T) {
	var order []string
	for _, o := range outdatedCluster("a").ToRoll() {
		order = append(order, o.Name)
	}
	if diff := cmp.Diff([]string{"cp", "md-a", "md-b"}, order); diff != "" {
		t.Error(diff)
	}
}

func TestAReportSaysWhatItsRolloutWaitsFor(t *testing.T) {
	began := since(9)
	for name, tc := range map[string]struct {
		change func(*MachineCluster)
		want   v1alpha1.ReportedRollout
	}{
		"its turn":  {func(*MachineCluster) {}, v1alpha1.ReportedRollout{Message: "waits for its turn"}},
		"paused":    {func(c *MachineCluster) { c.Paused = true }, v1alpha1.ReportedRollout{Message: "waits: the Cluster is paused"}},
		"a problem": {func(c *MachineCluster) { c.Ready = false }, v1alpha1.ReportedRollout{Message: "waits: the report is not Ready"}},
		"what the last try came to": {
			func(c *MachineCluster) { c.Rollout.Message = "not rolled by Fairlead: MachineDeployment md-a, which" },
			v1alpha1.ReportedRollout{Message: "not rolled by Fairlead: MachineDeployment md-a, which"},
		},
		"it gave its turn back": {
			func(c *MachineCluster) { beganAt(9)(c); c.Rollout.Message = "rolling MachineDeployment md-a" },
			v1alpha1.ReportedRollout{Started: began, Message: "waits for its turn"},
		},
		"it was skipped":   {skippedAt(changedAt), v1alpha1.ReportedRollout{Message: "skipped"}},
		"it was, before":   {skippedAt(changedAt - 1), v1alpha1.ReportedRollout{Message: "waits for its turn"}},
		"nothing":          {isDone, v1alpha1.ReportedRollout{}},
		"nothing any more": {func(c *MachineCluster) { isDone(c); beganAt(9)(c) }, v1alpha1.ReportedRollout{Started: began}},
		"not wanted":       {func(c *MachineCluster) { c.Wanted = false; c.Rollout.Message = "waits for its turn" }, v1alpha1.ReportedRollout{}},
		"others": {
			onlyOwners(v1alpha1.ReportedOwner{Kind: "RKE2ControlPlane", Name: "cp", Outdated: 1}, v1alpha1.ReportedOwner{Outdated: 1}),
			v1alpha1.ReportedRollout{Message: "not rolled by Fairlead: RKE2ControlPlane cp, machines without owner"},
		},
	} {
		if got := outdatedCluster("a", tc.change).Describe(); got.Message != tc.want.Message || !got.Started.Equal(tc.want.Started) || got.After != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestATurnIsHeldInTheReport(t *testing.T) {
	now, md := time.Unix(changedAt+60, 5), v1alpha1.ReportedOwner{Kind: MachineDeployment, Name: "md-a"}
	status := outdatedCluster("a").UnderWay(now, md)
	if !status.After.Equal(since(changedAt)) || !status.Started.Equal(since(changedAt+60)) || status.Owner != "MachineDeployment/md-a" || status.Message != "rolling MachineDeployment md-a" {
		t.Errorf("%+v", status)
	}
	again := outdatedCluster("a", beganAt(changedAt+1)).UnderWay(now, md)
	if !again.Started.Equal(since(changedAt + 1)) {
		t.Errorf("the beginning moves with the second owner: %+v", again)
	}
	later := outdatedCluster("a", func(c *MachineCluster) { c.Rollout.Started = since(1) }).UnderWay(now, md)
	if !later.Started.Equal(since(changedAt + 60)) {
		t.Errorf("the second rollout has the first one's beginning: %+v", later)
	}
}

func TestTheOwnerThatWasToldIsAwaitedOnceNoneOfItsMachinesIsOutdated(t *testing.T) {
	told := func(owner string) func(*MachineCluster) {
		return func(c *MachineCluster) { beganAt(changedAt + 5)(c); c.Rollout.Owner = owner }
	}
	for name, tc := range map[string]struct {
		cluster *MachineCluster
		want    string
	}{
		"it has outdated machines":          {outdatedCluster("a", told("MachineDeployment/md-a")), ""},
		"others have":                       {outdatedCluster("a", told("MachineDeployment/md-c")), "md-c"},
		"no other has":                      {outdatedCluster("a", told("MachineDeployment/md-a"), isDone), "md-a"},
		"it has no machine, not even a new": {outdatedCluster("a", told("MachineDeployment/md-a"), onlyOwners()), "md-a"},
		"nobody was told":                   {outdatedCluster("a"), ""},
	} {
		if o, ok := tc.cluster.LastRolled(); ok != (tc.want != "") || ok && o.Name != tc.want {
			t.Errorf("%s: %t, %+v", name, ok, o)
		}
	}
}

func since(second int64) *metav1.Time {
	t := metav1.Unix(second, 0)
	return &t
}

// One tenant changes the settings of its cluster every two seconds.
func TestOneThatAlwaysChangesHoldsUpTheOthersForAWhileAlone(t *testing.T) {
	const now = changedAt + 3600
	var unsettled time.Time
	for at := int64(now); at < now+600; at += 2 {
		p := NextMachines([]*MachineCluster{outdatedCluster("others"), outdatedCluster("tenants", seenAt(at))}, time.Unix(at, 0), unsettled, time.Second)
		if began := names(p.Try); (began == "others") != (at-now >= 120) {
			t.Fatalf("after %d s: turn %q", at-now, began)
		}
		unsettled = p.Unsettled
	}
	if p := NextMachines([]*MachineCluster{outdatedCluster("others")}, time.Unix(now+600, 0), unsettled, time.Second); !p.Unsettled.IsZero() {
		t.Error("it is remembered that one changed")
	}
}
