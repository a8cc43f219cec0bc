package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/diagnosis"
)

// Problem is a sentence that holds for several clusters, for CorporateProxies, or for the operator.
type Problem struct {
	State    State        `json:"state"`
	Code     string       `json:"code"` // a condition and its reason, as fairlead doctor cluster has them
	Text     string       `json:"text"`
	Of       string       `json:"of"`              // Cluster, CorporateProxy or Operator
	Count    int          `json:"count"`           // of these
	Since    *metav1.Time `json:"since,omitempty"` // of the one that has it longest
	Examples []string     `json:"examples"`        // some of them, that one first
	More     string       `json:"more"`            // the command that says more of it
}

// The values of Problem.Of.
const (
	OfCluster  = "Cluster"
	OfProxy    = "CorporateProxy"
	OfOperator = "Operator"
)

// shown is how many examples a problem has.
const shown = 3

// objectSentence is a sentence of the diagnosis about one object.
type objectSentence struct {
	diagnosis.Sentence
	of, name, more string
}

// problems groups the sentences by their code and kind of object. The worst come first, then the
// lower rank, then the higher count.
func problems(in Input, clusters []Cluster) []Problem {
	all := map[[2]string][]objectSentence{}
	add := func(f objectSentence) { all[[2]string{f.of, f.Code}] = append(all[[2]string{f.of, f.Code}], f) }
	for _, s := range operator(in) {
		add(objectSentence{s, OfOperator, in.OperatorNamespace, "kubectl get deployments,pods --namespace " + in.OperatorNamespace})
	}
	for i := range in.Proxies {
		proxy := &in.Proxies[i]
		for _, s := range diagnosis.OfProxy(proxy, in.OperatorNamespace) {
			add(objectSentence{s, OfProxy, proxy.Name, moreOfCode(proxy, s.Code)})
		}
	}
	for _, c := range clusters {
		for _, s := range c.Said {
			add(objectSentence{s, OfCluster, c.Namespace + "/" + c.Name, DoctorOf(c)})
		}
	}
	grouped := make([]Problem, 0, len(all))
	for _, group := range all {
		grouped = append(grouped, problem(group))
	}
	slices.SortFunc(grouped, func(a, b Problem) int {
		return cmp.Or(
			slices.Index(States, a.State)-slices.Index(States, b.State), cmp.Compare(rank[a.Of], rank[b.Of]),
			cmp.Compare(b.Count, a.Count), cmp.Compare(a.Code, b.Code))
	})
	return grouped
}

// rank sorts problems of equal severity by their kind of object: the operator comes first.
var rank = map[string]int{OfOperator: 0, OfProxy: 1, OfCluster: 2}

// operator says whether it runs. Of a Lease that nobody could read, Unread has the reason.
func operator(in Input) []diagnosis.Sentence {
	if in.Unread[diagnosis.SourceOperator] != "" {
		return nil
	}
	return diagnosis.OfOperator(diagnosis.Input{Now: in.Now, OperatorNamespace: in.OperatorNamespace, Lease: in.Lease})
}

// problem makes one of sentences with one code. They may differ in severity: the worst is said.
func problem(group []objectSentence) Problem {
	slices.SortStableFunc(group, func(a, b objectSentence) int {
		return cmp.Or(diagnosis.Compare(a.Severity, b.Severity), longest(a.Since, b.Since), cmp.Compare(a.name, b.name))
	})
	first := group[0]
	p := Problem{
		State: stateOf(first.Severity), Code: first.Code, Text: first.General, Of: first.of,
		Count: len(group), Since: first.Since, More: first.more,
	}
	for _, f := range group[:min(shown, len(group))] {
		p.Examples = append(p.Examples, f.name)
	}
	return p
}

// longest sorts times: the earliest first, and unknown ones last.
func longest(a, b *metav1.Time) int {
	switch {
	case a.IsZero() && b.IsZero():
		return 0
	case a.IsZero():
		return 1
	case b.IsZero():
		return -1
	}
	return a.Compare(b.Time)
}

// DoctorOf returns the command that says all of a cluster.
func DoctorOf(c Cluster) string {
	return fmt.Sprintf("fairlead doctor cluster --namespace %s %s", c.Namespace, c.Name)
}

// moreOf returns the command that says more of a CorporateProxy and its rollout.
func moreOf(proxy *v1alpha1.CorporateProxy) string {
	if proxy.Spec.Rollout != nil {
		return "fairlead rollout status " + proxy.Name
	}
	return describe(proxy.Name)
}

// moreOfCode returns the command that says more of a condition.
func moreOfCode(proxy *v1alpha1.CorporateProxy, code string) string {
	switch kind, _, _ := strings.Cut(code, "/"); kind {
	case v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling, v1alpha1.ConditionRolloutProblem:
		return moreOf(proxy)
	}
	return describe(proxy.Name)
}

func describe(proxy string) string { return "kubectl describe corporateproxy " + proxy }
