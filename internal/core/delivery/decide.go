package delivery

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// Cluster has the facts about a Cluster on which the verdict depends.
type Cluster struct {
	Name     string
	Label    string // its value of fairlead.io/cluster; empty without one
	Paused   bool
	Deleting bool
	Others   []string // Clusters of the namespace whose label has this one's name
}

// Verdict says what to do for a Cluster.
type Verdict int

// The verdicts.
const (
	Leave    Verdict = iota // nothing is touched
	Withdraw                // what was made is deleted
	Block                   // nothing is written any more; the reason is said
	Deliver
)

const namedOthers = 3

// Decide says whether a Cluster is delivered to, and why not.
func Decide(c Cluster) (Verdict, string) {
	switch {
	case c.Paused, c.Deleting:
		return Leave, ""
	case c.Label == "":
		return Withdraw, ""
	case c.Label != c.Name:
		return Block, fmt.Sprintf("its label %s is %q, and has to be the Cluster's own name", v1alpha1.DeliverLabel, c.Label)
	case len(c.Others) > 0:
		others := slices.Sorted(slices.Values(c.Others))
		named := strings.Join(others[:min(len(others), namedOthers)], ", ")
		if more := len(others) - namedOthers; more > 0 {
			named += fmt.Sprintf(" and %d more", more)
		}
		return Block, fmt.Sprintf("other Clusters have its name as their label %s, and would get its settings: %s", v1alpha1.DeliverLabel, named)
	}
	return Deliver, ""
}
