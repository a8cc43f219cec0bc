package fleet

import (
	"errors"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// End is when something ends that a cluster has, or had.
type End struct {
	Object string
	inputs.End
}

// Covers reports whether an entry from there ends then.
func (e End) Covers(object, field string) bool {
	return object == e.Object && (e.What == inputs.WholeOverride || field == e.Field+".value")
}

// Ends returns the ends in a cluster's CorporateProxy and in its ProxyOverride.
func (f *Fleet) Ends(cluster *clusterv1.Cluster) ([]End, error) {
	installation, err := f.choose(cluster)
	var problem *resolve.Problem
	if err != nil && !errors.As(err, &problem) {
		return nil, err
	}
	var ends []End
	for _, end := range f.choice.ends[installation.Object] {
		ends = append(ends, End{installation.Object, end})
	}
	for _, end := range inputs.EndsOfOverride(f.overrides[nameOf(cluster)]) {
		ends = append(ends, End{"ProxyOverride " + nameOf(cluster), end})
	}
	return ends, nil
}
