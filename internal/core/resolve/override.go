package resolve

import "github.com/fairlead-io/fairlead/operator/noproxy"

func overrideObject(c Cluster) string { return "ProxyOverride " + c.Namespace + "/" + c.Name }

// overrideEntries parses what the cluster's owner adds, and holds it against
// what the installation delegates.
func overrideEntries(in Input) (noproxy.List, error) {
	if len(in.Override.NoProxy) == 0 {
		return nil, nil
	}
	source := noproxy.Source{Layer: noproxy.LayerCluster, Object: overrideObject(in.Cluster), Field: "spec.noProxy"}
	if in.Installation.Delegation.NoProxy == GrantForbidden {
		return nil, NewProblem(ReasonNotDelegated, source.Object, source.Field, "adding entries is not delegated by %s", in.Installation.Object)
	}
	written := PositionedAt(in.Override.NoProxy, in.Override.At, source, ".value")
	list, err := ParseEntries(ReasonInvalidOverride, written)
	if err == nil && in.Installation.Delegation.NoProxy != GrantAny {
		err = narrow(written, ReasonNotDelegated)
	}
	return list, err
}

// narrow refuses entries that open more than a tenant can be trusted with.
func narrow(written []Written, reason Reason) error {
	return eachEntry(reason, written, func(w Written, entry noproxy.Entry) error {
		if why := noproxy.TooBroad(entry); why != "" {
			return noproxy.Refuse(w.Value, noproxy.ReasonTooBroad, why)
		}
		return nil
	})
}

// exclude removes the derived entries that the cluster's owner does not want,
// from the cluster's network or from the built-in ones. The installation's
// entries are not the owner's to remove.
func exclude(in Input, network, builtin noproxy.List) (_, _ noproxy.List, err error) {
	if len(in.Override.Exclude) == 0 {
		return network, builtin, nil
	}
	source := noproxy.Source{Object: overrideObject(in.Cluster), Field: "spec.exclude"}
	if in.Installation.Delegation.NoProxy == GrantForbidden {
		return nil, nil, NewProblem(ReasonNotDelegated, source.Object, source.Field, "excluding entries is not delegated by %s", in.Installation.Object)
	}
	err = eachEntry(ReasonInvalidOverride, Positioned(in.Override.Exclude, source, ""), func(w Written, entry noproxy.Entry) error {
		before := len(network) + len(builtin)
		network, builtin = network.Without(entry), builtin.Without(entry)
		if len(network)+len(builtin) == before {
			return noproxy.Refuse(w.Value, noproxy.ReasonUnknown, "is not among the entries derived from this cluster")
		}
		return nil
	})
	return network, builtin, err
}
