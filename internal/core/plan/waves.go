package plan

import (
	"cmp"
	"slices"
)

// Waves say how many clusters a rollout would change, and in which order.
type Waves struct {
	Proxy    string      `json:"proxy"`
	Clusters int         `json:"clusters"` // that are changed
	Waves    []WaveCount `json:"waves"`
	// Without are clusters that are to be changed and that no wave selects.
	Without []string `json:"without"`
	// Empty are waves that select no cluster at all: the rollout stalls there.
	Empty  []string `json:"empty"`
	Paused bool     `json:"paused,omitempty"` // by spec.rollout.paused
	// Invalid says what is wrong with spec.rollout: no cluster is changed.
	Invalid string `json:"invalid,omitempty"`
}

// WaveCount counts the clusters of a wave.
type WaveCount struct {
	Name    string `json:"name"`
	Changed int    `json:"changed"`
	Of      int    `json:"of"`
}

// rollouts returns the rollouts of CorporateProxies some of whose clusters change.
func rollouts(after State, changes []Change) []Waves {
	changed := map[string]bool{}
	for _, c := range changes {
		changed[c.Cluster] = len(c.Costs.Secrets) > 0
	}
	all := []Waves{}
	for _, r := range after.Rollouts {
		if w := wavesOf(r, after, changed); w.Clusters > 0 || w.Invalid != "" {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b Waves) int { return cmp.Compare(a.Proxy, b.Proxy) })
	return all
}

func wavesOf(r Rollout, after State, changed map[string]bool) Waves {
	w := Waves{Proxy: r.Proxy, Waves: []WaveCount{}, Without: []string{}, Empty: []string{}, Paused: r.Paused, Invalid: r.Invalid}
	for _, name := range r.Waves {
		w.Waves = append(w.Waves, WaveCount{Name: name})
	}
	for _, c := range after.Clusters {
		if c.Effective.Proxy != r.Proxy {
			continue
		}
		is := changed[c.name()]
		if is {
			w.Clusters++
		}
		at := slices.Index(r.Waves, c.Wave)
		switch {
		case at >= 0:
			w.Waves[at].Of++
			if is {
				w.Waves[at].Changed++
			}
		case is && len(r.Waves) > 0: // without waves, all at once
			w.Without = append(w.Without, c.name())
		}
	}
	for _, wave := range w.Waves {
		if wave.Of == 0 {
			w.Empty = append(w.Empty, wave.Name)
		}
	}
	slices.Sort(w.Without)
	return w
}
