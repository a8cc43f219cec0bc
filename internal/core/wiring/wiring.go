// Package wiring decides which labels a Cluster and its machine templates get by hand, and says what remains to be done.
//
//	decide.go   what was read → what is to become of each object
//	machines.go the same of machine templates
//	judge.go    what the API server would make of the labels → what changes, how many machines are replaced
//	diff.go     two states of an object → lines without a value that may be a password
//	remains.go  what somebody must do besides
package wiring

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// The kinds that get a label.
const (
	Cluster      = clusterv1.ClusterKind
	ControlPlane = "KubeadmControlPlane"
	Template     = "KubeadmConfigTemplate"
)

// FilesLabel has the policy inject-node-files add files to a template.
const FilesLabel = "fairlead.io/node-files"

// Inject is the value of FilesLabel that it acts on.
const Inject = "inject"

// Ref names an object in the Cluster's namespace.
type Ref struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Input holds the objects that were read. A nil object does not exist, unless Unread says why it could not be read.
type Input struct {
	Data, Nodes bool // which parts to wire
	Cluster     *clusterv1.Cluster
	Others      []string // Clusters of the namespace whose label has this one's name
	Deployments []clusterv1.MachineDeployment
	Pools       []clusterv1.MachinePool
	Objects     map[Ref]*unstructured.Unstructured // those of Refs that are there
	Report      *v1alpha1.ProxyReport
	Proxy       *v1alpha1.CorporateProxy // the one that the report names, if any
	Delivers    bool                     // somebody delivers
	Unread      map[Source]string        // why something could not be read
}

// Source is where something is read that nothing depends on but words.
type Source string

// The sources.
const (
	SourceReport  Source = "ProxyReport"
	SourceProxy   Source = "CorporateProxy"
	SourceDeliver Source = "Deployment fairlead-deliver"
)

// State says what Fairlead does with an object.
type State string

// The states.
const (
	Change State = "Change" // it gets labels
	Wired  State = "Wired"  // nothing is to be done
	Left   State = "Left"   // it is left alone, for a reason
)

// Object is the result for an object.
type Object struct {
	Ref
	State  State             `json:"state"`
	Labels map[string]string `json:"labels,omitempty"` // that it gets
	Why    string            `json:"why"`
	Do     string            `json:"do,omitempty"`   // what somebody must do by hand
	Diff   []string          `json:"diff,omitempty"` // what the API server would make of it
	// Replaces is how many machines of a control plane are replaced by the change.
	Replaces int64 `json:"replaces"`
	Written  bool  `json:"written"`
}

// Result is all that is said.
type Result struct {
	Cluster string   `json:"cluster"` // namespace/name
	Objects []Object `json:"objects"`
	Remains []string `json:"remains"` // what somebody must do besides
	// NotLookedAt has a reason each.
	NotLookedAt []string `json:"notLookedAt,omitempty"`
}

// Changes reports whether an object is to get labels.
func (r Result) Changes() bool {
	return slices.ContainsFunc(r.Objects, func(o Object) bool { return o.State == Change })
}
