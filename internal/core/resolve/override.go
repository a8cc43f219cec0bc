package resolve

import (
	"fmt"

	"github.com/fairlead-io/fairlead/operator/noproxy"
)

func overrideObject(c Cluster) string { return "ProxyOverride " + c.Namespace + "/" + c.Name }

// overrideEntries parses what the cluster's owner adds, and holds it against
// what the installation delegates.
func overrideEntries(in Input) (noproxy.List, error) {
	if len(in.Override.NoProxy) == 0 {
		return nil, nil
	}
	object, grant := overrideObject(in.Cluster), in.Installation.Delegation.NoProxy
	if grant == GrantForbidden {
		return nil, problem(ReasonNotDelegated, object, "spec.noProxy",
			"adding entries is not delegated by %s", in.Installation.Object)
	}
	written := make([]Written, len(in.Override.NoProxy))
	for i, text := range in.Override.NoProxy {
		written[i] = Written{text, noproxy.Source{Layer: noproxy.LayerCluster, Object: object, Field: fmt.Sprintf("spec.noProxy[%d].value", i)}}
	}
	list, err := ParseEntries(ReasonInvalidOverride, written)
	if err != nil || grant == GrantAny {
		return list, err
	}
	return list, narrow(list, written, ReasonNotDelegated)
}

// narrow refuses entries that open more than a tenant can be trusted with.
func narrow(list noproxy.List, written []Written, reason Reason) error {
	var refused refusals
	for i, item := range list {
		if why := noproxy.TooBroad(item.Entry); why != "" {
			refused.add(written[i].Source, noproxy.Refuse(written[i].Value, noproxy.ReasonTooBroad, why))
		}
	}
	return refused.problem(reason)
}

// exclude removes the derived entries that the cluster's owner does not want,
// from the cluster's network or from the built-in ones. The installation's
// entries are not the owner's to remove.
func exclude(in Input, network, builtin noproxy.List) (_, _ noproxy.List, err error) {
	if len(in.Override.Exclude) == 0 {
		return network, builtin, nil
	}
	object := overrideObject(in.Cluster)
	if in.Installation.Delegation.NoProxy == GrantForbidden {
		return nil, nil, problem(ReasonNotDelegated, object, "spec.exclude",
			"excluding entries is not delegated by %s", in.Installation.Object)
	}
	written := make([]Written, len(in.Override.Exclude))
	for i, text := range in.Override.Exclude {
		written[i] = Written{text, noproxy.Source{Object: object, Field: fmt.Sprintf("spec.exclude[%d]", i)}}
	}
	var refused refusals
	if refused.whole(written) {
		return nil, nil, refused.problem(ReasonInvalidOverride)
	}
	for _, w := range written {
		entry, err := noproxy.Parse(w.Value)
		if err != nil {
			refused.add(w.Source, err)
			continue
		}
		fewerNetwork, fewerBuiltin := network.Without(entry), builtin.Without(entry)
		if len(fewerNetwork) == len(network) && len(fewerBuiltin) == len(builtin) {
			refused.add(w.Source, noproxy.Refuse(w.Value, noproxy.ReasonUnknown, "is not among the entries derived from this cluster"))
		}
		network, builtin = fewerNetwork, fewerBuiltin
	}
	return network, builtin, refused.problem(ReasonInvalidOverride)
}
