package observe

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/observation"
	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/manager/intern"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// maxNodeReads is how many nodes of a cluster are asked for their age in one look; the others have their turn in the next.
const maxNodeReads = 100

// nodes remembers when nodes were created, by cluster and Machine: that does not change.
type nodes struct {
	mu sync.Mutex
	by map[types.NamespacedName]map[types.UID]time.Time
}

func (n *nodes) of(cluster types.NamespacedName) map[types.UID]time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.by[cluster]
}

// keep replaces when the nodes of a cluster were created.
func (n *nodes) keep(cluster types.NamespacedName, created map[types.UID]time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.by == nil {
		n.by = map[types.NamespacedName]map[types.UID]time.Time{}
	}
	n.by[cluster] = created
}

func (n *nodes) forgetBut(there map[types.NamespacedName]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for cluster := range n.by {
		if !there[cluster] {
			delete(n.by, cluster)
		}
	}
}

// clusterIndex finds the Machines of a cluster in the cache.
const clusterIndex = "spec.clusterName"

func byCluster(o client.Object) []string {
	if machine, ok := o.(*clusterv1.Machine); ok && gated(machine) {
		return []string{machine.Spec.ClusterName}
	}
	return nil
}

// ofDeployments selects the Machines of MachineDeployments. KubeadmControlPlane does not look at the readiness gate.
var ofDeployments = labels.NewSelector().Add(requirement(clusterv1.MachineDeploymentNameLabel, selection.Exists),
	requirement(clusterv1.MachineControlPlaneLabel, selection.DoesNotExist))

func requirement(label string, is selection.Operator) labels.Requirement {
	r, err := labels.NewRequirement(label, is, nil)
	if err != nil {
		panic(err)
	}
	return *r
}

func gated(machine *clusterv1.Machine) bool {
	return ofDeployments.Matches(labels.Set(machine.Labels)) && slices.ContainsFunc(machine.Spec.ReadinessGates, func(g clusterv1.MachineReadinessGate) bool {
		return g.ConditionType == v1alpha1.ConditionEgressVerified
	})
}

// What all Machines with the gate have in the cache. Nobody may change it.
var (
	theLabels = map[string]string{clusterv1.MachineDeploymentNameLabel: ""}
	theGates  = []clusterv1.MachineReadinessGate{{ConditionType: v1alpha1.ConditionEgressVerified}}
)

// trimMachine keeps of a Machine with the gate what decides about its condition, and of others that they are there: those are
// never read, and need not be Machines. There are far more Machines than of anything else.
func trimMachine(machine *clusterv1.Machine) client.Object {
	kept := metav1.ObjectMeta{Namespace: intern.Text(machine.Namespace), Name: machine.Name, UID: machine.UID, ResourceVersion: machine.ResourceVersion}
	if !gated(machine) {
		return &metav1.PartialObjectMetadata{ObjectMeta: kept}
	}
	kept.DeletionTimestamp, kept.Labels = machine.DeletionTimestamp, theLabels
	m := &clusterv1.Machine{ObjectMeta: kept, Spec: clusterv1.MachineSpec{ClusterName: intern.Text(machine.Spec.ClusterName), ReadinessGates: theGates}}
	m.Status.NodeRef = machine.Status.NodeRef
	if c := meta.FindStatusCondition(machine.Status.Conditions, v1alpha1.ConditionEgressVerified); c != nil {
		m.Status.Conditions = []metav1.Condition{*c}
		c = &m.Status.Conditions[0]
		c.Type, c.Status, c.Reason, c.Message = intern.Text(c.Type), intern.Text(c.Status), intern.Text(c.Reason), intern.Text(c.Message)
	}
	return m
}

// newInformer reads Machines in pages, and trims each: an API server that does not stream lists would send all at once, and all of
// them as they are would be there before any is trimmed.
func newInformer(lw toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	if whole, ok := lw.(*toolscache.ListWatch); ok && reflect.TypeOf(object) == reflect.TypeFor[*clusterv1.Machine]() {
		lw = &toolscache.ListWatch{WatchFuncWithContext: whole.WatchFuncWithContext, ListWithContextFunc: trimmedPages(whole.ListWithContextFunc)}
	}
	return toolscache.NewSharedIndexInformer(lw, object, resync, indexers)
}

func trimmedPages(list toolscache.ListWithContextFunc) toolscache.ListWithContextFunc {
	return func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		if opts.Limit > 0 && opts.Continue == "" {
			opts.ResourceVersion, opts.ResourceVersionMatch = "", "" // else the limit is ignored
		}
		page, err := list(ctx, opts)
		if machines, ok := page.(*clusterv1.MachineList); ok {
			for i := range machines.Items {
				machine := &machines.Items[i]
				switch kept := trimMachine(machine).(type) {
				case *clusterv1.Machine:
					*machine = *kept
				case *metav1.PartialObjectMetadata:
					*machine = clusterv1.Machine{ObjectMeta: kept.ObjectMeta}
				}
			}
		}
		return page, err
	}
}

// lookAtMachines writes the condition of the Machines of a cluster that have the gate, where it changes.
func (s *Sweeper) lookAtMachines(ctx context.Context, cluster types.NamespacedName, away remote, seen *probe.Nodes) error {
	machines := &clusterv1.MachineList{}
	err := s.Client.List(ctx, machines, client.InNamespace(cluster.Namespace), client.MatchingFields{clusterIndex: cluster.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return err
	}
	known, created := s.nodes.of(cluster), map[types.UID]time.Time{}
	reads := 0
	var failed error
	for i := range machines.Items {
		machine := &machines.Items[i]
		node := machine.Status.NodeRef.Name
		if node == "" || machine.DeletionTimestamp != nil {
			continue
		}
		at, ok := known[machine.UID]
		if !ok && reads < maxNodeReads {
			reads++
			read, err := away.nodeCreated(ctx, node)
			at, ok = read, err == nil && !read.IsZero()
		}
		if ok {
			created[machine.UID] = at
		}
		next, isKnown := observation.OfNode(seen, node, pointer(at, ok))
		if !isKnown && meta.FindStatusCondition(machine.Status.Conditions, next.Type) != nil {
			continue // so it stays if the probe began anew, or we did: it takes a look to read how old a hundred nodes are
		}
		failed = errors.Join(failed, s.writeMachine(ctx, machine, next))
	}
	s.nodes.keep(cluster, created)
	return failed
}

func pointer(at time.Time, ok bool) *time.Time {
	if !ok {
		return nil
	}
	return &at
}

func (s *Sweeper) writeMachine(ctx context.Context, machine *clusterv1.Machine, next metav1.Condition) error {
	conditions := slices.Clone(machine.Status.Conditions)
	if !meta.SetStatusCondition(&conditions, next) {
		return nil
	}
	next = *meta.FindStatusCondition(conditions, next.Type) // with the time of its last transition
	return client.IgnoreNotFound(apply.Condition(ctx, s.Client, machine, next, writer))
}
