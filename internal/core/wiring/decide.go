package wiring

import (
	"fmt"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/delivery"
)

// Decide says of each object which labels it is to get, or why it gets none. It is Judge that knows what they would do.
func Decide(in Input) []Object {
	objects := []Object{}
	if in.Data {
		objects = append(objects, data(in))
	}
	if in.Nodes {
		objects = append(objects, machines(in)...)
	}
	if in.Cluster.DeletionTimestamp.IsZero() {
		return objects
	}
	for i := range objects {
		objects[i] = Object{Ref: objects[i].Ref, State: Left, Why: "the Cluster is being deleted"}
	}
	return objects
}

// data returns what becomes of the Cluster.
func data(in Input) Object {
	name := in.Cluster.Name
	o := Object{Ref: Ref{Cluster, name}}
	label, labelled := in.Cluster.Labels[v1alpha1.DeliverLabel]
	if !labelled {
		label = name
	}
	verdict, why := delivery.Decide(delivery.Cluster{Name: name, Label: label, Others: in.Others})
	switch {
	case verdict == delivery.Block || label == "":
		o.State, o.Why = Left, why
		if label == "" {
			o.Why = fmt.Sprintf("its label %s is empty", v1alpha1.DeliverLabel)
		}
		o.Do = fmt.Sprintf("give the label %s of each Cluster the Cluster's own name, or remove it", v1alpha1.DeliverLabel)
	case labelled:
		o.State, o.Why = Wired, "Cluster API brings the Secret fairlead-source"
	default:
		o.State, o.Why = Change, "Cluster API is to bring the Secret fairlead-source"
		o.Labels = map[string]string{v1alpha1.DeliverLabel: name}
	}
	return o
}
