package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

const changedAt = 10_000 // the second of the change that all of these tests are about

// outdatedCluster needs a rollout and can have one, unless changed.
func outdatedCluster(name string, changes ...func(*fleetCluster)) *fleetCluster {
	c := &fleetCluster{
		key: clusterKey(name), wanted: true, ready: true,
		nodes: &v1alpha1.ReportedNodes{Since: since(changedAt), Machines: 5, Outdated: 3, Owners: []v1alpha1.ReportedOwner{
			{Kind: kindMachineDeployment, Name: "md-b", Machines: 1, Outdated: 1},
			{Kind: kindMachineDeployment, Name: "md-a", Machines: 1, Outdated: 1},
			{Kind: kindKubeadmControlPlane, Name: "cp", Machines: 3, Outdated: 1},
		}},
	}
	for _, change := range changes {
		change(c)
	}
	return c
}

func onlyOwners(owners ...v1alpha1.ReportedOwner) func(*fleetCluster) {
	return func(c *fleetCluster) { c.nodes.Owners = owners }
}

func beganAt(second int64) func(*fleetCluster) {
	return func(c *fleetCluster) {
		c.rollout = v1alpha1.ReportedRollout{After: since(changedAt), Started: since(second)}
	}
}

func claimed(c *fleetCluster) { c.claimed = true }

func seenAt(second int64) func(*fleetCluster) {
	return func(c *fleetCluster) { c.seen = time.Unix(second, 0) }
}

func retryAt(second int64) func(*fleetCluster) {
	return func(c *fleetCluster) { c.retry = time.Unix(second, 0) }
}

// startedAt had its rollout, before the change.
func startedAt(second int64) func(*fleetCluster) {
	return func(c *fleetCluster) { c.rollout.Started = since(second) }
}

// skippedAt is given up, at its control plane.
func skippedAt(second int64) func(*fleetCluster) {
	return func(c *fleetCluster) {
		c.rollout = v1alpha1.ReportedRollout{Skipped: since(second), Owner: kindKubeadmControlPlane + "/cp", Message: "skipped"}
	}
}

// ended is released, after its turn.
func ended(began int64) func(*fleetCluster) {
	return func(c *fleetCluster) { isDone(c); c.rollout.Started = since(began) }
}

func isDone(c *fleetCluster) {
	for i := range c.nodes.Owners {
		c.nodes.Owners[i].Outdated = 0
	}
	c.nodes.Outdated = 0
}

func names(clusters []*fleetCluster) string {
	var all []string
	for _, c := range clusters {
		all = append(all, c.key.Name)
	}
	return strings.Join(all, " ")
}

func TestWhoseTurnItIs(t *testing.T) {
	const now = changedAt + 3600
	paused := func(c *fleetCluster) { c.paused = true }
	deleting := func(c *fleetCluster) { c.deleting = true }
	notReady := func(c *fleetCluster) { c.ready = false }
	never := func(c *fleetCluster) { c.wanted = false }
	unchanged := func(c *fleetCluster) { c.nodes.Since = nil }
	others := onlyOwners(v1alpha1.ReportedOwner{Kind: "RKE2ControlPlane", Name: "cp", Machines: 3, Outdated: 3}, v1alpha1.ReportedOwner{Machines: 1, Outdated: 1})
	changedAgain := func(c *fleetCluster) { c.nodes.Since = since(now - 60) }
	for name, tc := range map[string]struct {
		fleet []*fleetCluster
		turn  string
		wait  time.Duration
	}{
		"nobody":  {nil, "", 0},
		"by name": {[]*fleetCluster{outdatedCluster("b"), outdatedCluster("a")}, "a b", 0},
		"who never began comes first": {
			[]*fleetCluster{outdatedCluster("a", startedAt(now-1000)), outdatedCluster("b", startedAt(now-2000)), outdatedCluster("d"), outdatedCluster("c")}, "c d b a", 0,
		},
		"not before the proxy says so":    {[]*fleetCluster{outdatedCluster("a", never), outdatedCluster("b")}, "b", 0},
		"not with a problem":              {[]*fleetCluster{outdatedCluster("a", notReady), outdatedCluster("b")}, "b", 0},
		"not while paused":                {[]*fleetCluster{outdatedCluster("a", paused), outdatedCluster("b")}, "b", 0},
		"not on the way out":              {[]*fleetCluster{outdatedCluster("a", deleting), outdatedCluster("b")}, "b", 0},
		"not without a change":            {[]*fleetCluster{outdatedCluster("a", unchanged)}, "", 0},
		"not without an outdated machine": {[]*fleetCluster{outdatedCluster("a", isDone), outdatedCluster("b")}, "b", 0},
		"not for other control planes":    {[]*fleetCluster{outdatedCluster("a", others), outdatedCluster("b")}, "b", 0},
		"not before anything was counted": {[]*fleetCluster{outdatedCluster("a", func(c *fleetCluster) { c.nodes = nil })}, "", 0},
		"one at a time":                   {[]*fleetCluster{outdatedCluster("a"), outdatedCluster("b", beganAt(now-900))}, "b", 0},
		"a stuck one halts the fleet":     {[]*fleetCluster{outdatedCluster("a"), outdatedCluster("b", beganAt(now-86_400))}, "b", 0},
		"so does one that is paused":      {[]*fleetCluster{outdatedCluster("a"), outdatedCluster("b", beganAt(now-900), paused)}, "b", 0},
		"so does one with a problem":      {[]*fleetCluster{outdatedCluster("a"), outdatedCluster("b", beganAt(now-900), notReady)}, "b", 0},
		"one that is changed again":       {[]*fleetCluster{outdatedCluster("a"), outdatedCluster("b", beganAt(now-900), changedAgain)}, "b", 0},
		"one without outdated machines":   {[]*fleetCluster{outdatedCluster("a"), outdatedCluster("b", beganAt(now-900), isDone)}, "b", 0},
		"one that goes is released first": {[]*fleetCluster{outdatedCluster("a"), outdatedCluster("b", beganAt(now-900), deleting)}, "", 0},
		"so is one that is to be left":    {[]*fleetCluster{outdatedCluster("a", never, beganAt(now-900)), outdatedCluster("b")}, "", 0},
		"the next after the last":         {[]*fleetCluster{outdatedCluster("a", ended(now-600)), outdatedCluster("b")}, "b", 0},
		"not within the interval":         {[]*fleetCluster{outdatedCluster("a", ended(now-590)), outdatedCluster("b")}, "", 10 * time.Second},
		"nor by a clock that is behind":   {[]*fleetCluster{outdatedCluster("a", ended(now+5)), outdatedCluster("b")}, "", 605 * time.Second},
		"but not for years by a wrong one": {
			[]*fleetCluster{outdatedCluster("a", ended(now+1e9)), outdatedCluster("b")}, "b", 0,
		},
		"nor because of a change that was dated by one": {
			[]*fleetCluster{outdatedCluster("a", func(c *fleetCluster) { c.nodes.Since = since(now + 1e9) }), outdatedCluster("b")}, "a b", 0,
		},
		"nor after one that was left": {
			[]*fleetCluster{outdatedCluster("a", never, ended(now-590)), outdatedCluster("b")}, "", 10 * time.Second,
		},
		"no wait where nobody waits": {[]*fleetCluster{outdatedCluster("a", ended(now-590))}, "", 0},
		"not while Cluster API's clock may be behind": {
			[]*fleetCluster{outdatedCluster("a", seenAt(now-1))}, "", settleTime - time.Second,
		},
		"nor before the change has gone round": {
			[]*fleetCluster{outdatedCluster("a", seenAt(now-1)), outdatedCluster("b")},
			"", settleTime - time.Second,
		},
		"not before its next try": {
			[]*fleetCluster{outdatedCluster("a", retryAt(now+60)), outdatedCluster("b")}, "b", time.Minute,
		},
		"nor is one under way looked at before": {
			[]*fleetCluster{outdatedCluster("a", beganAt(now-900), retryAt(now+15)), outdatedCluster("b")}, "", 15 * time.Second,
		},
		"not one that was skipped":            {[]*fleetCluster{outdatedCluster("a", skippedAt(changedAt)), outdatedCluster("b")}, "b", 0},
		"unless its settings change again":    {[]*fleetCluster{outdatedCluster("a", skippedAt(changedAt-1)), outdatedCluster("b")}, "a b", 0},
		"or none of its machines is outdated": {[]*fleetCluster{outdatedCluster("a", skippedAt(changedAt), isDone), outdatedCluster("b")}, "a b", 0},
		"a claim yields to what is under way": {
			[]*fleetCluster{outdatedCluster("a", beganAt(now-1), claimed), outdatedCluster("b", beganAt(now-2))}, "b", 0,
		},
		"a claim alone is under way": {[]*fleetCluster{outdatedCluster("a"), outdatedCluster("b", beganAt(now-1), claimed)}, "b", 0},
		"nor if it is under way": {
			[]*fleetCluster{outdatedCluster("a", beganAt(now-900), seenAt(now-1)), outdatedCluster("b")},
			"", settleTime - time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := planRollout(tc.fleet, time.Unix(now, 0), 10*time.Minute)
			if names(p.turn) != tc.turn || p.wait != tc.wait {
				t.Errorf("turn %q, wait %s", names(p.turn), p.wait)
			}
		})
	}
}

func TestTheControlPlaneComesFirst(t *testing.T) {
	var order []string
	for _, o := range outdatedCluster("a").toRoll() {
		order = append(order, o.Name)
	}
	if diff := cmp.Diff([]string{"cp", "md-a", "md-b"}, order); diff != "" {
		t.Error(diff)
	}
}

func TestAReportSaysWhatItsRolloutWaitsFor(t *testing.T) {
	began := since(9)
	for name, tc := range map[string]struct {
		change func(*fleetCluster)
		want   v1alpha1.ReportedRollout
	}{
		"its turn":  {func(*fleetCluster) {}, v1alpha1.ReportedRollout{Message: "waits for its turn"}},
		"paused":    {func(c *fleetCluster) { c.paused = true }, v1alpha1.ReportedRollout{Message: "waits: the Cluster is paused"}},
		"a problem": {func(c *fleetCluster) { c.ready = false }, v1alpha1.ReportedRollout{Message: "waits: the report is not Ready"}},
		"what the last try came to": {
			func(c *fleetCluster) { c.rollout.Message = "not rolled by Fairlead: MachineDeployment md-a, which" },
			v1alpha1.ReportedRollout{Message: "not rolled by Fairlead: MachineDeployment md-a, which"},
		},
		"it gave its turn back": {
			func(c *fleetCluster) { beganAt(9)(c); c.rollout.Message = "rolling MachineDeployment md-a" },
			v1alpha1.ReportedRollout{Started: began, Message: "waits for its turn"},
		},
		"it was skipped":   {skippedAt(changedAt), v1alpha1.ReportedRollout{Message: "skipped"}},
		"it was, before":   {skippedAt(changedAt - 1), v1alpha1.ReportedRollout{Message: "waits for its turn"}},
		"nothing":          {isDone, v1alpha1.ReportedRollout{}},
		"nothing any more": {func(c *fleetCluster) { isDone(c); beganAt(9)(c) }, v1alpha1.ReportedRollout{Started: began}},
		"not wanted":       {func(c *fleetCluster) { c.wanted = false; c.rollout.Message = "waits for its turn" }, v1alpha1.ReportedRollout{}},
		"others": {
			onlyOwners(v1alpha1.ReportedOwner{Kind: "RKE2ControlPlane", Name: "cp", Outdated: 1}, v1alpha1.ReportedOwner{Outdated: 1}),
			v1alpha1.ReportedRollout{Message: "not rolled by Fairlead: RKE2ControlPlane cp, machines without owner"},
		},
	} {
		if got := outdatedCluster("a", tc.change).describe(); got.Message != tc.want.Message || !got.Started.Equal(tc.want.Started) || got.After != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestATurnIsHeldInTheReport(t *testing.T) {
	now, md := time.Unix(changedAt+60, 5), v1alpha1.ReportedOwner{Kind: kindMachineDeployment, Name: "md-a"}
	said := outdatedCluster("a").underWay(now, md)
	if !said.After.Equal(since(changedAt)) || !said.Started.Equal(since(changedAt+60)) || said.Owner != "MachineDeployment/md-a" || said.Message != "rolling MachineDeployment md-a" {
		t.Errorf("%+v", said)
	}
	again := outdatedCluster("a", beganAt(changedAt+1)).underWay(now, md)
	if !again.Started.Equal(since(changedAt + 1)) {
		t.Errorf("the beginning moves with the second owner: %+v", again)
	}
	later := outdatedCluster("a", func(c *fleetCluster) { c.rollout.Started = since(1) }).underWay(now, md)
	if !later.Started.Equal(since(changedAt + 60)) {
		t.Errorf("the second rollout has the first one's beginning: %+v", later)
	}
}

func TestOnlyWhoDeclaresAfterKeepsIt(t *testing.T) {
	entry := func(operation metav1.ManagedFieldsOperationType, fields string) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{
			{Manager: "capi-kubeadmcontrolplane", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`)},
			{Manager: "m", Operation: operation, FieldsV1: metav1.NewFieldsV1(fields)},
		}
	}
	const after = `{"f:spec":{"f:rollout":{"f:after":{}}}}`
	for name, tc := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		keeper  string
	}{
		"a topology with after":    {entry(metav1.ManagedFieldsOperationApply, after), "m"},
		"a manifest of v1beta1":    {entry(metav1.ManagedFieldsOperationApply, `{"f:spec":{"f:rolloutAfter":{}}}`), "m"},
		"a topology without after": {entry(metav1.ManagedFieldsOperationApply, `{"f:spec":{"f:rollout":{"f:strategy":{"f:type":{}}}}}`), ""},
		"clusterctl, once":         {entry(metav1.ManagedFieldsOperationUpdate, after), ""},
		"nobody":                   {nil, ""},
	} {
		if got := keeperOfAfter(tc.entries); got != tc.keeper {
			t.Errorf("%s: %q, want %q", name, got, tc.keeper)
		}
	}
}

func TestAnOwnerIsDoneWhenItsNewMachinesAreThereAndTheOldOnesAreGone(t *testing.T) {
	for name, tc := range map[string]struct {
		status map[string]any
		want   bool
	}{
		"all there":                   {map[string]any{"replicas": int64(3), "upToDateReplicas": int64(3), "availableReplicas": int64(3)}, true},
		"one does not come up":        {map[string]any{"replicas": int64(3), "upToDateReplicas": int64(3), "availableReplicas": int64(2)}, false},
		"an old one does not go":      {map[string]any{"replicas": int64(4), "upToDateReplicas": int64(3), "availableReplicas": int64(3)}, false},
		"one is still the old":        {map[string]any{"replicas": int64(3), "upToDateReplicas": int64(2), "availableReplicas": int64(3)}, false},
		"between the old and the new": {nil, false},
	} {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(3)}, "status": tc.status}}
		if got := (ownerState{object: object}).complete(); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if !(ownerState{}).complete() {
		t.Error("one that was deleted is waited for")
	}
}

func TestTheOwnerThatWasToldIsAwaitedOnceNoneOfItsMachinesIsOutdated(t *testing.T) {
	told := func(owner string) func(*fleetCluster) {
		return func(c *fleetCluster) { beganAt(changedAt + 5)(c); c.rollout.Owner = owner }
	}
	for name, tc := range map[string]struct {
		cluster *fleetCluster
		want    string
	}{
		"it has outdated machines":          {outdatedCluster("a", told("MachineDeployment/md-a")), ""},
		"others have":                       {outdatedCluster("a", told("MachineDeployment/md-c")), "md-c"},
		"no other has":                      {outdatedCluster("a", told("MachineDeployment/md-a"), isDone), "md-a"},
		"it has no machine, not even a new": {outdatedCluster("a", told("MachineDeployment/md-a"), onlyOwners()), "md-a"},
		"nobody was told":                   {outdatedCluster("a"), ""},
	} {
		if o, is := tc.cluster.lastRolled(); is != (tc.want != "") || is && o.Name != tc.want {
			t.Errorf("%s: %t, %+v", name, is, o)
		}
	}
}

func TestAnOwnerIsLeftAloneForAReason(t *testing.T) {
	now := time.Unix(changedAt+60, 0)
	there := &unstructured.Unstructured{}
	for name, tc := range map[string]struct {
		state ownerState
		want  string
	}{
		"nothing against it":          {ownerState{object: there}, ""},
		"rolled before":               {ownerState{object: there, after: since(changedAt - 1)}, ""},
		"it is gone":                  {ownerState{}, "which does not exist"},
		"it is kept":                  {ownerState{object: there, keeper: "m", after: since(changedAt - 1)}, `whose spec.rollout.after is kept by "m"`},
		"the keeper rolls it":         {ownerState{object: there, keeper: "m", after: since(changedAt)}, ""},
		"somebody has a date in mind": {ownerState{object: there, after: since(changedAt + 61)}, "which is to be rolled at 1970-01-01T02:47:41Z anyway"},
	} {
		if got := tc.state.leftAlone(since(changedAt), now); got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	ours := ownerState{object: there, after: since(changedAt)}
	if got := ours.leftAlone(since(changedAt), time.Unix(changedAt-60, 0)); got != "" {
		t.Errorf("by a clock that is behind the API server's: %q", got)
	}
}
