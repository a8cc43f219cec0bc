package resolve

import (
	"cmp"
	"slices"
	"strings"
)

// Candidate is a CorporateProxy as one cluster sees it.
type Candidate struct {
	Name     string
	Priority int32
	Selected bool  // its clusterSelector matches the Cluster's labels
	Allowed  bool  // its allowedNamespaces match the labels of the Cluster's namespace
	Broken   error // its selectors cannot be evaluated; a *Problem
}

// Choose returns the name of the candidate with the highest priority among
// those that select the cluster and allow its namespace. The error is a
// *Problem. A tie is never guessed: whoever wrote either one must decide. One with
// broken selectors stands in nobody's way, but a cluster that has no other is not
// one that nothing selects.
func Choose(cluster Cluster, candidates []Candidate) (string, error) {
	if len(candidates) == 0 {
		return "", NewProblem(ReasonNoProxy, cluster.Object(), "", "no CorporateProxy exists")
	}
	// The answer, messages included, must not depend on the order of a cache.
	candidates = slices.SortedFunc(slices.Values(candidates), func(a, b Candidate) int { return strings.Compare(a.Name, b.Name) })
	var best, barred []string
	var highest int32
	var broken error
	for _, c := range candidates {
		switch {
		case c.Broken != nil:
			broken = cmp.Or(broken, c.Broken)
		case !c.Selected:
		case !c.Allowed:
			barred = append(barred, c.Name)
		case len(best) == 0 || c.Priority > highest:
			best, highest = []string{c.Name}, c.Priority
		case c.Priority == highest:
			best = append(best, c.Name)
		}
	}
	switch {
	case len(best) == 1:
		return best[0], nil
	case len(best) > 1:
		return "", NewProblem(ReasonAmbiguous, cluster.Object(), "",
			"CorporateProxies %s both match with priority %d; give one of them a higher spec.priority", strings.Join(best, " and "), highest)
	case len(barred) > 0:
		return "", NewProblem(ReasonNamespaceNotAllowed, cluster.Object(), "metadata.namespace",
			"namespace %q is not in spec.allowedNamespaces of CorporateProxy %s", cluster.Namespace, strings.Join(barred, ", "))
	case broken != nil:
		return "", broken
	}
	return "", NewProblem(ReasonNotSelected, cluster.Object(), "metadata.labels", "no CorporateProxy selects this cluster")
}
