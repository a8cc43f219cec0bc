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
	Selected bool     // its clusterSelector matches the Cluster's labels
	All      bool     // its clusterSelector matches all Clusters
	Allowed  bool     // its allowedNamespaces match the labels of the Cluster's namespace
	Replaces []string // deleted CorporateProxies, whose clusters it may have
	Broken   error    // its selectors cannot be evaluated; a *Problem
}

// Has is the state of a cluster before a choice.
type Has struct {
	Proxy  string // the CorporateProxy whose settings its Secrets have; empty: none
	Direct bool   // its owner wants none
}

// Choose returns the name of the candidate with the highest priority among
// those that select the cluster and allow its namespace. The error is a
// *Problem. A tie is never guessed: whoever wrote either one must decide. One with
// broken selectors stands in nobody's way but of those clusters that may be its own.
func Choose(cluster Cluster, has Has, candidates []Candidate) (string, error) {
	if len(candidates) == 0 {
		return "", NewProblem(ReasonNoProxy, cluster.Object(), "", "no CorporateProxy exists")
	}
	// The answer, messages included, must not depend on the order of a cache.
	candidates = slices.SortedFunc(slices.Values(candidates), func(a, b Candidate) int { return strings.Compare(a.Name, b.Name) })
	var best []Candidate
	var barred []string
	var broken error
	for _, c := range candidates {
		switch {
		case c.Broken != nil:
			broken = cmp.Or(broken, c.Broken)
		case !c.Selected:
		case !c.Allowed:
			barred = append(barred, c.Name)
		case len(best) == 0 || c.Priority > best[0].Priority:
			best = []Candidate{c}
		case c.Priority == best[0].Priority:
			best = append(best, c)
		}
	}
	switch {
	case len(best) == 1:
		if err := stays(cluster, has, candidates, best[0]); err != nil {
			return "", err
		}
		return best[0].Name, nil
	case len(best) > 1:
		return "", NewProblem(ReasonAmbiguous, cluster.Object(), "",
			"CorporateProxies %s both match with priority %d; give one of them a higher spec.priority", strings.Join(namesOf(best), " and "), best[0].Priority)
	case len(barred) > 0:
		return "", NewProblem(ReasonNamespaceNotAllowed, cluster.Object(), "metadata.namespace",
			"namespace %q is not in spec.allowedNamespaces of CorporateProxy %s", cluster.Namespace, strings.Join(barred, ", "))
	case broken != nil:
		return "", broken
	}
	return "", NewProblem(ReasonNotSelected, cluster.Object(), "metadata.labels", "no CorporateProxy selects this cluster")
}

func namesOf(candidates []Candidate) (names []string) {
	for _, c := range candidates {
		names = append(names, c.Name)
	}
	return names
}

// stays returns a *Problem if a cluster would get the best candidate by accident; nil: it gets the best one. A typo in
// the selectors of its own candidate, or, for a new cluster, of one that goes first, is an accident. So is the deletion
// of its own candidate, if the best one selects every Cluster and does not say that it replaces it.
func stays(cluster Cluster, has Has, candidates []Candidate, best Candidate) error {
	gone := has.Proxy != "" && !has.Direct
	for _, c := range candidates {
		gone = gone && c.Name != has.Proxy
		itsOwn := c.Name == has.Proxy && c.Priority >= best.Priority || has.Proxy == "" && c.Priority > best.Priority
		if c.Broken != nil && itsOwn && !has.Direct {
			return c.Broken
		}
	}
	if !gone || !best.All || slices.Contains(best.Replaces, has.Proxy) {
		return nil
	}
	return NewProblem(ReasonProxyGone, cluster.Object(), "",
		"CorporateProxy %s, whose settings it has, does not exist any more; CorporateProxy %s selects every Cluster, and gets this one with spec.replaces: [%[1]s]", has.Proxy, best.Name)
}
