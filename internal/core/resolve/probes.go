package resolve

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/probe"
)

// Probes are the destinations that an installation wants tried in its clusters.
type Probes struct{ Targets []ProbeTarget }

// ProbeTarget is a destination of some clusters.
type ProbeTarget struct {
	probe.Target
	Field    string   // where it stands
	Clusters Selector // nil: all
}

// Selector selects clusters by their labels.
type Selector interface {
	Selects(labels map[string]string) bool
}

// Fingerprints are keyed hashes of the credentials of an installation; empty where there are none, or no key. They tell
// nothing to who has not got the key.
type Fingerprints struct{ Current, Previous string }

// Probed has the settings that a cluster's probe gets.
type Probed struct {
	Targets     []probe.Target
	Credentials Fingerprints
	Revision    string // identity of the settings; empty for none
}

// probed returns the targets of one cluster: its own endpoint, and those that its installation has for it.
func probed(in Input) (*Probed, error) {
	if in.Installation.Probes == nil {
		return nil, nil
	}
	var all []ProbeTarget
	if port := in.Cluster.EndpointPort; port > 0 {
		endpoint := probe.Target{URL: fmt.Sprintf("https://%s:%d", hostOf(in.Cluster.EndpointHost), port), Expect: probe.Reachable, Route: probe.Direct}
		all = append(all, ProbeTarget{Target: endpoint, Field: "the endpoint of " + in.Cluster.Object()})
	}
	p := &Probed{Credentials: in.Fingerprints, Revision: in.Revision}
	for _, t := range in.Installation.Probes.Targets {
		if t.Clusters == nil || t.Clusters.Selects(in.Cluster.Labels) {
			all = append(all, t)
		}
	}
	for i, t := range all {
		same := false
		for _, earlier := range all[:i] {
			if probe.Contradict(earlier.Target, t.Target) {
				return nil, NewProblem(ReasonInvalidProxy, in.Installation.Object, t.Field, "contradicts %s for %s: change its clusterSelector or its route", earlier.Field, in.Cluster.Object())
			}
			same = same || earlier.Target == t.Target
		}
		if !same {
			p.Targets = append(p.Targets, t.Target)
		}
	}
	return p, nil
}

// hostOf returns a host as it stands in a URL.
func hostOf(host string) string {
	if addr, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil && addr.Is6() {
		return "[" + addr.String() + "]"
	}
	return host
}
