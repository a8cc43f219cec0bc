package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
		fleet    []*fleetCluster
		turn     string
		underWay bool
		wait     time.Duration
	}{
		"nobody":                          {nil, "", false, 0},
		"by name":                         {[]*fleetCluster{outdatedCluster("b"), outdatedCluster("a")}, "a b", false, 0},
		"not before the proxy says so":    {[]*fleetCluster{outdatedCluster("a", never), outdatedCluster("b")}, "b", false, 0},
		"not with a problem":              {[]*fleetCluster{outdatedCluster("a", notReady), outdatedCluster("b")}, "b", false, 0},
		"not while paused":                {[]*fleetCluster{outdatedCluster("a", paused), outdatedCluster("b")}, "b", false, 0},
		"not on the way out":              {[]*fleetCluster{outdatedCluster("a", deleting), outdatedCluster("b")}, "b", false, 0},
		"not without a change":            {[]*fleetCluster{outdatedCluster("a", unchanged)}, "", false, 0},
		"not without an outdated machine": {[]*fleetCluster{outdatedCluster("a", isDone), outdatedCluster("b")}, "b", false, 0},
		"not for other control planes":    {[]*fleetCluster{outdatedCluster("a", others), outdatedCluster("b")}, "b", false, 0},
		"not before anything was counted": {[]*fleetCluster{outdatedCluster("a", func(c *fleetCluster) { c.nodes = nil })}, "", false, 0},
		"one at a time":                   {[]*fleetCluster{outdatedCluster("a"), outdatedCluster("b", beganAt(now-900))}, "b", true, 0},
		"a stuck one halts the fleet":     {[]*fleetCluster{outdatedCluster("a"), outdatedCluster("b", beganAt(now-86_400))}, "b", true, 0},
		"so does one that is paused":      {[]*fleetCluster{outdatedCluster("a"), outdatedCluster("b", beganAt(now-900), paused)}, "b", true, 0},
		"so does one with a problem":      {[]*fleetCluster{outdatedCluster("a"), outdatedCluster("b", beganAt(now-900), notReady)}, "b", true, 0},
		"one that is changed again":       {[]*fleetCluster{outdatedCluster("a"), outdatedCluster("b", beganAt(now-900), changedAgain)}, "b", true, 0},
		"not one that goes":               {[]*fleetCluster{outdatedCluster("a"), outdatedCluster("b", beganAt(now-900), deleting)}, "a", false, 0},
		"not one that is to be left":      {[]*fleetCluster{outdatedCluster("a", never, beganAt(now-900)), outdatedCluster("b")}, "b", false, 0},
		"the next after the last":         {[]*fleetCluster{outdatedCluster("a", beganAt(now-600), isDone), outdatedCluster("b")}, "b", false, 0},
		"not within the interval":         {[]*fleetCluster{outdatedCluster("a", beganAt(now-590), isDone), outdatedCluster("b")}, "", false, 10 * time.Second},
		"nor after one that was left": {
			[]*fleetCluster{outdatedCluster("a", never, beganAt(now-590)), outdatedCluster("b")}, "", false, 10 * time.Second,
		},
		"no wait where nobody waits": {[]*fleetCluster{outdatedCluster("a", beganAt(now-590), isDone)}, "", false, 0},
		"not while Cluster API's clock may be behind": {
			[]*fleetCluster{outdatedCluster("a", func(c *fleetCluster) { c.nodes.Since = since(now - 1) })}, "", false, settleTime - time.Second,
		},
		"nor before the change has gone round": {
			[]*fleetCluster{outdatedCluster("a", func(c *fleetCluster) { c.nodes.Since = since(now - 1) }), outdatedCluster("b")},
			"", false, settleTime - time.Second,
		},
		"nor if it is under way": {
			[]*fleetCluster{outdatedCluster("a", beganAt(now-900), func(c *fleetCluster) { c.nodes.Since = since(now - 1) }), outdatedCluster("b")},
			"", true, settleTime - time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := planRollout(tc.fleet, time.Unix(now, 0), 10*time.Minute)
			if names(p.turn) != tc.turn || p.underWay != tc.underWay || p.wait != tc.wait {
				t.Errorf("turn %q, under way %t, wait %s", names(p.turn), p.underWay, p.wait)
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
		"its turn":         {func(*fleetCluster) {}, v1alpha1.ReportedRollout{Message: "waits for its turn"}},
		"paused":           {func(c *fleetCluster) { c.paused = true }, v1alpha1.ReportedRollout{Message: "waits: the Cluster is paused"}},
		"a problem":        {func(c *fleetCluster) { c.ready = false }, v1alpha1.ReportedRollout{Message: "waits: the report is not Ready"}},
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
	now := time.Unix(changedAt+60, 5)
	said := outdatedCluster("a").underWay(now, "rolling x")
	if !said.After.Equal(since(changedAt)) || !said.Started.Equal(since(changedAt+60)) {
		t.Errorf("%+v", said)
	}
	again := outdatedCluster("a", beganAt(changedAt+1)).underWay(now, "rolling y")
	if !again.Started.Equal(since(changedAt + 1)) {
		t.Errorf("the beginning moves with the second owner: %+v", again)
	}
	later := outdatedCluster("a", func(c *fleetCluster) { c.rollout.Started = since(1) }).underWay(now, "rolling x")
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
