package observe

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/probe"
)

// An API server that answers as much as keeps us there holds a place no longer than one that does not answer.
func TestAfterOneAnswerThatNeverComesAClusterIsAskedNoMore(t *testing.T) {
	t.Parallel()
	until := time.Now()
	body := configMap(t, result(func(r *probe.Result) { r.Nodes = &probe.Nodes{Total: 3, Until: &until} }))
	var asked atomic.Int32
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/api/v1/nodes/") {
			_, _ = w.Write(body)
			return
		}
		asked.Add(1)
		<-r.Context().Done()
	})
	f := newFleet(t, report("a", "Proxied"), secret("a", a.kubeconfig()), machine("x"), machine("y"), machine("z"))
	f.Machines = true
	if f.round(); asked.Load() != 1 || f.report("a").Observed.Egress != v1alpha1.EgressVerified {
		t.Errorf("asked about %d nodes: %+v", asked.Load(), f.report("a").Observed)
	}
}

func machine(name string, change ...func(*clusterv1.Machine)) *clusterv1.Machine {
	m := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Labels: map[string]string{clusterv1.MachineDeploymentNameLabel: "md"}},
		Spec:       clusterv1.MachineSpec{ClusterName: "a", ReadinessGates: []clusterv1.MachineReadinessGate{{ConditionType: v1alpha1.ConditionEgressVerified}}},
		Status:     clusterv1.MachineStatus{NodeRef: clusterv1.MachineNodeReference{Name: name}},
	}
	for _, c := range change {
		c(m)
	}
	return m
}

func TestMachinesWithTheGateGetTheConditionOfTheirNode(t *testing.T) {
	until := time.Now().Add(-time.Hour)
	created := map[string]time.Time{"old": until.Add(-time.Hour), "bad": until.Add(-time.Hour), "young": until.Add(time.Minute)}
	var mu sync.Mutex
	asked := map[string]int{}
	body := configMap(t, result(func(r *probe.Result) {
		r.Nodes = &probe.Nodes{Total: 3, Failed: 1, Until: &until, Worst: []probe.Node{{Name: "bad", State: probe.Failed}}}
	}))
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		name, node := strings.CutPrefix(r.URL.Path, "/api/v1/nodes/")
		if !node {
			_, _ = w.Write(body)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		asked[name]++
		_, _ = fmt.Fprintf(w, `{"metadata":{"name":%q,"creationTimestamp":%q}}`, name, created[name].UTC().Format(time.RFC3339))
	})
	f := newFleet(t, report("a", "Proxied"), secret("a", a.kubeconfig()), machine("old"), machine("bad"), machine("young"),
		machine("coming", func(m *clusterv1.Machine) { m.Status.NodeRef.Name = "" }),
		machine("cp", func(m *clusterv1.Machine) { m.Labels[clusterv1.MachineControlPlaneLabel] = "" }),
		machine("alone", func(m *clusterv1.Machine) { m.Labels = nil }),
		machine("others", func(m *clusterv1.Machine) { m.Spec.ClusterName = "b" }),
		machine("ungated", func(m *clusterv1.Machine) { m.Spec.ReadinessGates = nil }))
	if f.round(); f.machines()["old"] != "" {
		t.Error("it is written though nobody asked for it")
	}
	f.Machines = true
	writes := f.round()
	for name, want := range map[string]string{"old": "True", "bad": "False", "young": "Unknown", "coming": "", "cp": "", "alone": "", "others": "", "ungated": ""} {
		if got := f.machines()[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if again := f.round(); writes != 3 || again != 0 {
		t.Errorf("%d writes, and %d of the same", writes, again)
	}
	if asked["old"] != 1 || asked["young"] != 1 {
		t.Errorf("nodes were asked for their age %v times", asked)
	}
	body = configMap(t, result(func(r *probe.Result) { r.Nodes = &probe.Nodes{Total: 3} })) // the probe was away, and has tried no node yet
	if f.round(); f.machines()["old"] != "True" || f.machines()["bad"] != "False" {
		t.Errorf("%v: what was known is lost", f.machines())
	}
	until = until.Add(time.Hour)
	body = configMap(t, result(func(r *probe.Result) { r.Nodes = &probe.Nodes{Total: 3, Until: &until} }))
	f.round()
	for _, name := range []string{"old", "bad", "young"} {
		if got := f.machines()[name]; got != "True" {
			t.Errorf("%s is %q in the end", name, got)
		}
	}
	for why, nodes := range map[string]*probe.Nodes{
		"more fail than are named":             {Total: 30, Failed: 21, Until: &until, Worst: make([]probe.Node, 20)},
		"an older node has a relay since then": {Total: 4, Until: pointer(until.Add(-100*time.Hour), true)},
	} {
		body = configMap(t, result(func(r *probe.Result) { r.Nodes = nodes }))
		if writes := f.round(); f.machines()["old"]+f.machines()["bad"]+f.machines()["young"] != "TrueTrueTrue" {
			t.Errorf("%s: %d writes, %v", why, writes, f.machines())
		}
	}
}

// A program that starts again knows the age of no node, and learns a hundred at a look. Until then, and where a node cannot be
// read, Machines keep what they have: a large cluster would lose all that are ready.
func TestMachinesKeepTheirConditionUntilTheAgeOfTheirNodeIsKnownAgain(t *testing.T) {
	until := time.Now().Add(-time.Hour)
	body := configMap(t, result(func(r *probe.Result) {
		r.Nodes = &probe.Nodes{Total: 150, Verified: 149, Failed: 1, Until: &until, Worst: []probe.Node{{Name: "m149", State: probe.Failed}}}
	}))
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		name, node := strings.CutPrefix(r.URL.Path, "/api/v1/nodes/")
		switch {
		case !node:
			_, _ = w.Write(body)
		case name == "m007":
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			_, _ = fmt.Fprintf(w, `{"metadata":{"name":%q,"creationTimestamp":%q}}`, name, until.UTC().Format(time.RFC3339))
		}
	})
	objects := []client.Object{report("a", "Proxied"), secret("a", a.kubeconfig()), machine("new")}
	for i := range 150 {
		objects = append(objects, machine(fmt.Sprintf("m%03d", i), func(m *clusterv1.Machine) {
			m.Status.Conditions = []metav1.Condition{{
				Type: v1alpha1.ConditionEgressVerified, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonVerified, LastTransitionTime: metav1.NewTime(until),
				Message: "the node reaches every target in the way that is expected",
			}}
		}))
	}
	f := newFleet(t, objects...)
	f.Machines = true
	f.round()
	lost := 0
	for name, status := range f.machines() {
		if name != "m149" && name != "new" && status != "True" {
			lost++
		}
	}
	if lost > 0 || f.machines()["m149"] != "False" || f.machines()["new"] == "" {
		t.Errorf("%d of 150 Machines are not ready any more, one that fails is %q, a new one %q", lost, f.machines()["m149"], f.machines()["new"])
	}
}

func (f *fleet) machines() map[string]string {
	f.Helper()
	list := &clusterv1.MachineList{}
	if err := f.objects.List(f.Context(), list); err != nil {
		f.Fatal(err)
	}
	found := map[string]string{}
	for _, m := range list.Items {
		for _, c := range m.Status.Conditions {
			found[m.Name] += string(c.Status)
		}
	}
	return found
}
