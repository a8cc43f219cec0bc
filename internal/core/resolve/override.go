package resolve

import (
	"slices"

	"github.com/fairlead-io/fairlead/noproxy"
)

func overrideObject(c Cluster) string { return "ProxyOverride " + c.Namespace + "/" + c.Name }

// overrideEntries parses what the cluster's owner adds, and holds it against
// what the installation delegates.
func overrideEntries(in Input) (noproxy.List, error) {
	if len(in.Override.NoProxy) == 0 {
		return nil, nil
	}
	source := noproxy.Source{Object: overrideObject(in.Cluster), Field: "spec.noProxy"}
	if in.Installation.Delegation.NoProxy == GrantForbidden {
		return nil, NewProblem(ReasonNotDelegated, source.Object, source.Field, "adding entries is not delegated by %s", in.Installation.Object)
	}
	elements := slices.Clone(in.Override.NoProxy)
	for i := range elements {
		elements[i].Source.Object = source.Object
	}
	list, err := ParseEntries(ReasonInvalidOverride, elements, nil)
	if err != nil {
		return nil, err
	}
	return list, narrow(in, elements, ReasonNotDelegated)
}

// narrow refuses elements that open more than a tenant can be trusted with, unless that is delegated.
func narrow(in Input, elements []noproxy.Element, reason Reason) error {
	if in.Installation.Delegation.NoProxy == GrantAny {
		return nil
	}
	_, err := ParseEntries(reason, elements, func(element noproxy.Element, entry noproxy.Entry) *noproxy.Refusal {
		if why := noproxy.TooBroad(entry); why != "" {
			return noproxy.Refuse(element.Text, noproxy.ReasonTooBroad, why)
		}
		return nil
	})
	return err
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
	_, err = ParseEntries(ReasonInvalidOverride, noproxy.Elements(in.Override.Exclude, source), func(element noproxy.Element, entry noproxy.Entry) *noproxy.Refusal {
		before := len(network) + len(builtin)
		network, builtin = network.Without(entry), builtin.Without(entry)
		if len(network)+len(builtin) == before {
			return noproxy.Refuse(element.Text, noproxy.ReasonUnknown, "is not among the entries derived from this cluster")
		}
		return nil
	})
	return network, builtin, err
}
