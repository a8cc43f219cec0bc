package diagnosis

import "github.com/fairlead-io/fairlead/api/v1alpha1"

// OfMany returns the sentences about one of many clusters: from its report, and from whether its Cluster exists. The
// Secrets and Machines of a whole fleet are not read: the report counts the machines.
func OfMany(in Input) []Sentence {
	unread := map[Source]string{SourceMachines: "the report counts them", SourceSecrets: "not asked for"}
	if why, ok := in.Unread[SourceCluster]; ok {
		unread[SourceCluster] = why
	}
	in.Unread, in.Machines, in.Secrets = unread, nil, nil
	j := newJudge(in)
	for _, step := range []func(){j.existence, j.report, j.machines, j.inside} {
		step()
	}
	return j.worstFirst()
}

// OfProxy returns the sentences about a CorporateProxy, whatever its clusters are.
func OfProxy(proxy *v1alpha1.CorporateProxy, operatorNamespace string) []Sentence {
	j := newJudge(Input{Proxy: proxy, OperatorNamespace: operatorNamespace})
	j.proxy()
	return j.worstFirst()
}

// OfOperator says whether the operator runs.
func OfOperator(in Input) []Sentence {
	j := newJudge(in)
	j.lease()
	return j.worstFirst()
}
