package observation

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/probe"
)

// OfNode returns the condition EgressVerified of the Machine of a node, which was created then; nil: that is not known. The message
// has nothing of the result's, so that it changes with the status alone. Known is false if nobody has tried the node since the
// probe began, or more fail than are named: a Machine then keeps what was said before.
func OfNode(nodes *probe.Nodes, name string, created *time.Time) (c metav1.Condition, ok bool) {
	c = metav1.Condition{Type: v1alpha1.ConditionEgressVerified, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonNotObserved}
	if nodes == nil {
		c.Message = "no node of the cluster is tried: that takes a relay on every node"
		return c, true
	}
	failed := 0
	for _, n := range nodes.Worst {
		switch {
		case n.State != probe.Failed:
		case n.Name == name:
			c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonFailed, "the node does not reach every target in the way that is expected"
			return c, true
		default:
			failed++
		}
	}
	switch {
	case created == nil || nodes.Until == nil || created.After(*nodes.Until):
		c.Message = "the node was not tried yet"
		return c, false
	case nodes.Failed > failed:
		c.Message = "more nodes fail than are named, and this may be one of them"
		return c, false
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, v1alpha1.ReasonVerified, "the node reaches every target in the way that is expected"
	}
	return c, true
}
