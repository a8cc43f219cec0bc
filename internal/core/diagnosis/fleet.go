package diagnosis

import "github.com/fairlead-io/fairlead/api/v1alpha1"

// OfMany says what is to be said of one of many clusters: what its report says, and whether its Cluster is there. Nobody
// asks for the Secrets and Machines of a whole fleet: the report counts the machines.
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

// OfProxy says what is to be said of a CorporateProxy, whatever its clusters are.
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
