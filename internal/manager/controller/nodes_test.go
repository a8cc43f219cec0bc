package controller

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

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
			got := nextNodes(tc.last, attempt{last: tc.record, fingerprint: tc.fingerprint, answer: tc.written}, false, digest)
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
		count(nodes, []machine{{created: at(created)}})
		if nodes.Outdated != want {
			t.Errorf("created at %d: %d outdated, want %d", created, nodes.Outdated, want)
		}
	}
}

func TestMachinesAreCountedByOwner(t *testing.T) {
	kcp, md, nobody := owner{"KubeadmControlPlane", "cp"}, owner{"MachineDeployment", "md"}, owner{}
	machines := []machine{
		{owner: md, created: at(2000)},
		{owner: kcp, created: at(500)},
		{owner: kcp, created: at(2000)},
		{owner: nobody, created: at(500)},
		{pool: true, created: at(500)},
		{pool: true, created: at(2000)},
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
	count(nodes, []machine{{created: at(1)}})
	if nodes.Machines != 1 || nodes.Outdated != 0 || outdatedMessage(nodes) != "" {
		t.Errorf("%+v", nodes)
	}
	count(nil, []machine{{}}) // nothing written yet: nothing to count against
}

func TestOwnersThatDoNotFitAreThoseWithoutOutdatedMachines(t *testing.T) {
	var machines []machine
	for i := range 200 {
		machines = append(machines, machine{owner: owner{"MachineDeployment", fmt.Sprint(i)}, created: at(int64(i % 4 * 1000))})
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

func TestTheCacheKeepsOfAMachineWhatCountingNeeds(t *testing.T) {
	yes, gone := true, at(7)
	full := func(labels map[string]string, references ...metav1.OwnerReference) *metav1.PartialObjectMetadata {
		labels[clusterv1.ClusterNameLabel] = "c1"
		labels["other"] = "x"
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "m", UID: "u", ResourceVersion: "3", CreationTimestamp: at(5), DeletionTimestamp: &gone,
			Labels: labels, Annotations: map[string]string{"a": "b"}, Finalizers: []string{"f"}, OwnerReferences: references,
		}}
	}
	other := metav1.OwnerReference{Kind: "Cluster", Name: "c1"}
	set := metav1.OwnerReference{Kind: "MachineSet", Name: "md-abc", Controller: &yes}
	for name, tc := range map[string]struct {
		machine *metav1.PartialObjectMetadata
		want    owner
	}{
		"of a MachineDeployment": {full(map[string]string{"cluster.x-k8s.io/deployment-name": "md"}, set), owner{"MachineDeployment", "md"}},
		"of a MachineSet alone":  {full(map[string]string{"cluster.x-k8s.io/set-name": "ms"}, other, set), owner{"MachineSet", "md-abc"}},
		"of a MachinePool": {
			full(map[string]string{"cluster.x-k8s.io/pool-name": "mp"}, metav1.OwnerReference{Kind: "DockerMachinePool", Name: "x", Controller: &yes}),
			owner{"MachinePool", "mp"},
		},
		"of a control plane": {
			full(map[string]string{"cluster.x-k8s.io/control-plane-name": "hash_1_z"}, metav1.OwnerReference{Kind: "RKE2ControlPlane", Name: "cp", Controller: &yes}),
			owner{"RKE2ControlPlane", "cp"},
		},
		"of nobody": {full(map[string]string{}, other), owner{}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.machine.SetGroupVersionKind(clusterv1.GroupVersion.WithKind(kindMachine))
			tc.machine.Generation = 1
			result, err := trim(tc.machine)
			kept, is := result.(*metav1.PartialObjectMetadata)
			if err != nil || !is {
				t.Fatal(err)
			}
			if got := ownerOf(kept); got != tc.want {
				t.Errorf("owner %v, want %v", got, tc.want)
			}
			if again, err := trim(kept); err != nil || again != result { // as client-go asks of a transform
				t.Errorf("the second time, %+v, %v", again, err)
			}
			if kept.Labels[clusterv1.ClusterNameLabel] != "c1" || len(kept.Labels) != 1 || kept.Annotations != nil || kept.Finalizers != nil {
				t.Errorf("kept too much, or not the cluster: %+v", kept.ObjectMeta)
			}
			if kept.ResourceVersion != "3" || kept.CreationTimestamp != at(5) || kept.DeletionTimestamp == nil {
				t.Errorf("dropped too much: %+v", kept.ObjectMeta)
			}
		})
	}
}

func TestOnlyAnUpdateThatChangesACountIsLookedAt(t *testing.T) {
	gone, yes := at(7), true
	for name, tc := range map[string]struct {
		change func(*metav1.PartialObjectMetadata)
		want   bool
	}{
		"any other":                   {func(m *metav1.PartialObjectMetadata) { m.ResourceVersion = "4" }, false},
		"it is being deleted":         {func(m *metav1.PartialObjectMetadata) { m.DeletionTimestamp = &gone }, true},
		"another one of the name":     {func(m *metav1.PartialObjectMetadata) { m.CreationTimestamp = at(9) }, true},
		"it belongs to a new cluster": {func(m *metav1.PartialObjectMetadata) { m.Labels[clusterv1.ClusterNameLabel] = "c2" }, true},
		"it belongs to a new owner": {func(m *metav1.PartialObjectMetadata) {
			m.OwnerReferences = []metav1.OwnerReference{{Kind: "MachineSet", Name: "ms", Controller: &yes}}
		}, true},
	} {
		before := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			CreationTimestamp: at(5), Labels: map[string]string{clusterv1.ClusterNameLabel: "c1"},
		}}
		after := before.DeepCopy()
		tc.change(after)
		if got := countsChanged.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestTheCacheKeepsTheLabelsOfANamespace(t *testing.T) {
	namespace := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "ns", Labels: map[string]string{"team": "a"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
	}}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	result, err := trim(namespace)
	kept, is := result.(*metav1.PartialObjectMetadata)
	if err != nil || !is || kept.Labels["team"] != "a" || kept.ManagedFields != nil {
		t.Errorf("%+v, %v", result, err)
	}
}
