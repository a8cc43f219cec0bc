package decide

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// What is told to machines is as before: that a Secret changed in doubt, for another label or by drift, outdates none.
func TestDoubtAloneOutdatesNoMachine(t *testing.T) {
	then, now := at(1000), at(2000)
	digest := apply.Digest([]byte("key"), []byte("a"))
	last := &v1alpha1.ReportedNodes{HMAC: digest}
	record := v1alpha1.SecretRecord{UID: "u", Written: &then, HMAC: "f"}
	for name, test := range map[string]struct {
		attempt Attempt
		doubt   bool
		moves   bool
	}{
		"another label":                 {Attempt{Last: record, fingerprint: "g", Answer: apply.Answer{UID: "u", At: now}}, true, false},
		"a second owner":                {Attempt{target: target{shared: true}, Last: record, fingerprint: "f", Answer: apply.Answer{UID: "u", At: now}}, true, false},
		"nothing had changed":           {Attempt{Last: record, fingerprint: "f", Answer: apply.Answer{UID: "u", At: then}}, true, false},
		"something else was in it":      {Attempt{Last: record, fingerprint: "f", Answer: apply.Answer{UID: "u", At: now}}, true, true},
		"drift, and nothing in doubt":   {Attempt{Last: record, fingerprint: "f", Answer: apply.Answer{UID: "u", At: now}}, false, false},
		"a failed write came before it": {Attempt{Last: v1alpha1.SecretRecord{UID: "u", Written: &then}, fingerprint: "f", Answer: apply.Answer{UID: "u", At: now}}, true, false},
	} {
		if got := nextNodes(last, test.attempt, test.doubt, digest); (got.Since != nil) != test.moves {
			t.Errorf("%s: since %v", name, got.Since)
		}
	}
}

func at(second int64) metav1.Time { return metav1.Unix(second, 0) }

func since(second int64) *metav1.Time {
	t := at(second)
	return &t
}

func TestOnlyAChangeOfWhatMachinesAreToldMovesSince(t *testing.T) {
	then, now := at(1000), at(2000)
	record := v1alpha1.SecretRecord{UID: "u", Written: &then, HMAC: "f"}
	none := v1alpha1.SecretRecord{}
	key, lost := []byte("the key"), []byte("the lost key")
	nodesOf := func(key []byte, what string) *v1alpha1.ReportedNodes {
		return &v1alpha1.ReportedNodes{HMAC: apply.Digest(key, []byte(what)), Since: since(500)}
	}
	never := nodesOf(key, "a")
	never.Since = nil
	for name, tc := range map[string]struct {
		last        *v1alpha1.ReportedNodes
		record      v1alpha1.SecretRecord
		fingerprint string
		written     apply.Answer
		meaning     string
		since       *metav1.Time
	}{
		"the first write":                          {nil, none, "f", apply.Answer{UID: "u", At: now}, "a", nil},
		"a report of before machines were counted": {nil, record, "f", apply.Answer{UID: "u", At: then}, "a", nil},
		"the first write over somebody else's":     {nil, none, "f", apply.Answer{UID: "u", At: now, Rival: "x"}, "a", since(2001)},
		"a name that was taken, handed over":       {nodesOf(key, "a"), none, "f", apply.Answer{UID: "v", At: now, Rival: "x"}, "a", since(2001)},
		"another password":                         {never, record, "g", apply.Answer{UID: "u", At: now}, "b", since(2001)},
		"another one again":                        {nodesOf(key, "a"), record, "g", apply.Answer{UID: "u", At: now}, "b", since(2001)},
		"another one in the second of the last":    {nodesOf(key, "a"), record, "g", apply.Answer{UID: "u", At: then}, "b", since(1001)},
		"another one, by a clock that is behind":   {nodesOf(key, "a"), record, "g", apply.Answer{UID: "u", At: at(100)}, "b", since(500)},
		"another order, owner or key":              {nodesOf(key, "a"), record, "g", apply.Answer{UID: "u", At: now}, "a", since(500)},
		"another order when nothing had changed":   {never, record, "g", apply.Answer{UID: "u", At: now}, "a", nil},
		"nothing to write":                         {nodesOf(key, "a"), record, "f", apply.Answer{UID: "u", At: then}, "a", since(500)},
		"what no key of the Secret says":           {nodesOf(key, "a"), record, "f", apply.Answer{UID: "u", At: then}, "b", since(500)},
		"drift mended":                             {nodesOf(key, "a"), record, "f", apply.Answer{UID: "u", At: now, Rival: "x"}, "a", since(500)},
		"deleted and written again":                {nodesOf(key, "a"), record, "f", apply.Answer{UID: "v", At: now}, "a", since(500)},
		"deleted and written again with another":   {nodesOf(key, "a"), record, "g", apply.Answer{UID: "v", At: then}, "b", since(1001)},
		"another after a name that was taken":      {nodesOf(key, "a"), none, "f", apply.Answer{UID: "v", At: now}, "b", since(2001)},
		"a lost key":                               {nodesOf(lost, "a"), record, "g", apply.Answer{UID: "u", At: then}, "a", since(500)},
		"a lost key when nothing had changed":      {&v1alpha1.ReportedNodes{HMAC: nodesOf(lost, "a").HMAC}, record, "g", apply.Answer{UID: "u", At: then}, "a", nil},
		"a lost key and another Secret":            {nodesOf(lost, "a"), record, "g", apply.Answer{UID: "u", At: now}, "b", since(2001)},
	} {
		t.Run(name, func(t *testing.T) {
			digest := apply.Digest(key, []byte(tc.meaning))
			got := nextNodes(tc.last, Attempt{Last: tc.record, fingerprint: tc.fingerprint, Answer: tc.written}, false, digest)
			if got.HMAC != digest || !got.Since.Equal(tc.since) {
				t.Errorf("since %v, want %v", got.Since, tc.since)
			}
		})
	}
}

func TestAMachineThatMayHaveBeenThereBeforeTheWriteIsOutdated(t *testing.T) {
	// Both clocks drop the fraction: 1000.1 and 1000.9 are alike.
	nodes := &v1alpha1.ReportedNodes{Since: firstSecondAfter(at(1000))}
	for created, want := range map[int64]int32{999: 1, 1000: 1, 1001: 0} {
		count(nodes, []Machine{{Created: at(created)}})
		if nodes.Outdated != want {
			t.Errorf("created at %d: %d outdated, want %d", created, nodes.Outdated, want)
		}
	}
}

func TestMachinesAreCountedByOwner(t *testing.T) {
	kcp, md, nobody := Owner{"KubeadmControlPlane", "cp"}, Owner{"MachineDeployment", "md"}, Owner{}
	machines := []Machine{
		{Owner: md, Created: at(2000)},
		{Owner: kcp, Created: at(500)},
		{Owner: kcp, Created: at(2000)},
		{Owner: nobody, Created: at(500)},
		{Pool: true, Created: at(500)},
		{Pool: true, Created: at(2000)},
	}
	nodes := &v1alpha1.ReportedNodes{HMAC: "a", Since: since(1000), Machines: 99, Outdated: 99, MachinePools: 99}
	for range 2 { // counting again adds nothing
		count(nodes, machines)
	}
	want := &v1alpha1.ReportedNodes{
		HMAC: "a", Since: since(1000), Machines: 4, Outdated: 2, MachinePools: 2, OutdatedMachinePools: 1,
		Owners: []v1alpha1.ReportedOwner{
			{Machines: 1, Outdated: 1},
			{Kind: "KubeadmControlPlane", Name: "cp", Machines: 2, Outdated: 1},
			{Kind: "MachineDeployment", Name: "md", Machines: 1},
		},
	}
	if diff := cmp.Diff(want, nodes); diff != "" {
		t.Error(diff)
	}
}

func TestWithoutAChangeNoMachineIsOutdated(t *testing.T) {
	nodes := &v1alpha1.ReportedNodes{}
	count(nodes, []Machine{{Created: at(1)}})
	if nodes.Machines != 1 || nodes.Outdated != 0 || outdatedMessage(nodes) != "" {
		t.Errorf("%+v", nodes)
	}
	count(nil, []Machine{{}}) // nothing written yet: nothing to count against
}

func TestOwnersThatDoNotFitAreThoseWithoutOutdatedMachines(t *testing.T) {
	var machines []Machine
	for i := range 200 {
		machines = append(machines, Machine{Owner: Owner{"MachineDeployment", fmt.Sprint(i)}, Created: at(int64(i % 4 * 1000))})
	}
	nodes := &v1alpha1.ReportedNodes{Since: since(1000)}
	count(nodes, machines)
	if len(nodes.Owners) != maxOwners || nodes.Machines != 200 || nodes.Outdated != 50 {
		t.Fatalf("%d owners, %d machines, %d outdated", len(nodes.Owners), nodes.Machines, nodes.Outdated)
	}
	for i, o := range nodes.Owners {
		if (o.Outdated > 0) != (i < 50) {
			t.Errorf("owner %d has %d outdated", i, o.Outdated)
		}
	}
}
