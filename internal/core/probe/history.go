package probe

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// How long and how many outages of a node are remembered.
const (
	outageKept = 24 * time.Hour
	maxOutages = 5
)

// RelayStarts is how long a new node may be without a relay before that counts.
const RelayStarts = 5 * time.Minute

// turnsKept is how many turns of all nodes an observation of one node counts for.
const turnsKept = 3

// History keeps what earlier rounds saw.
type History struct {
	// Turn is how long it takes until each node had its turn. Zero: an observation of a node counts for ever.
	Turn time.Duration

	since, last time.Time
	revision    string    // of the settings that nodes are tried with
	until       time.Time // of the result that a previous process published
	seeded      time.Time // when that was
	targets     map[Target]TargetResult
	nodes       map[string]*nodeHistory
	seed        map[string]Node // nodes of that result
}

type nodeHistory struct {
	Node

	tried  time.Time // with the current settings; zero: it was not
	known  bool      // it was tried once, with whichever
	counts bool      // what was seen of it, now
}

// Restore takes over what a previous process has published. A gap of more than two of its periods begins anew.
func (h *History) Restore(r Result, now time.Time) {
	period, err := time.ParseDuration(r.Period)
	if r.Version != 1 || err != nil || now.Sub(r.Time) > 2*period {
		return
	}
	h.since, h.last, h.seed, h.revision = r.Since, r.Time, map[string]Node{}, r.Revision
	h.targets = map[Target]TargetResult{}
	for _, t := range r.Targets {
		h.targets[t.Target] = t
	}
	if r.Nodes == nil {
		return
	}
	for _, node := range r.Nodes.Worst {
		h.seed[node.Name] = node
	}
	if r.Nodes.Until != nil && r.Nodes.Failed <= len(r.Nodes.Worst) {
		h.until, h.seeded = *r.Nodes.Until, r.Time
	}
}

// Of says of which revision the settings are that nodes are tried with from now on. Whether nodes get out with them is not known
// then; their outages go on.
func (h *History) Of(revision string) {
	if revision == h.revision {
		return
	}
	h.revision, h.until = revision, time.Time{}
	for _, node := range h.nodes {
		node.State, node.tried = Unknown, time.Time{}
	}
	for name, node := range h.seed {
		node.State = Unknown
		h.seed[name] = node
	}
}

// SawTargets takes a round of the probe's own place, and forgets targets that are none any more.
func (h *History) SawTargets(now time.Time, round []TargetResult) {
	before := h.targets
	h.targets = map[Target]TargetResult{}
	for _, result := range round {
		result.LastSuccess, result.LastFailure = before[result.Target].LastSuccess, before[result.Target].LastFailure
		switch result.State {
		case Held:
			result.LastSuccess = &now
		case Failed:
			result.LastFailure = &now
		}
		h.targets[result.Target] = result
	}
}

// SawNode takes a round through the relay of a node.
func (h *History) SawNode(now time.Time, name string, round []TargetResult) {
	node := h.node(name)
	node.tried, node.known = now, true
	state := Held
	for _, result := range round {
		if result.State == Failed {
			state = Failed
			node.fail(now, result)
			break
		}
		if result.State == Unknown {
			state = Unknown
		}
	}
	switch node.State = state; state {
	case Held:
		node.LastSuccess = &now
		node.end(now)
	case Failed:
		node.LastFailure = &now
	}
	node.Outages = slices.DeleteFunc(node.Outages, func(o Outage) bool { return o.End != nil && now.Sub(*o.End) > outageKept })
}

func (h *History) node(name string) *nodeHistory {
	if h.nodes == nil {
		h.nodes = map[string]*nodeHistory{}
	}
	if h.nodes[name] == nil {
		h.nodes[name] = &nodeHistory{Node: Node{Name: name, State: Unknown}}
		if seed, ok := h.seed[name]; ok {
			h.nodes[name].Node = seed
		}
	}
	return h.nodes[name]
}

// fail begins an outage, or goes on with the one of the same target.
func (n *nodeHistory) fail(now time.Time, result TargetResult) {
	if len(n.Outages) > 0 && n.Outages[0].End == nil && n.Outages[0].URL == result.URL {
		n.Outages[0].Reason = result.Reason
		return
	}
	n.end(now)
	n.Outages = slices.Insert(n.Outages, 0, Outage{Begin: now, URL: result.URL, Reason: result.Reason})
	n.Outages = n.Outages[:min(len(n.Outages), maxOutages)]
}

func (n *nodeHistory) end(now time.Time) {
	if len(n.Outages) > 0 && n.Outages[0].End == nil {
		n.Outages[0].End = &now
	}
}

// Result returns what is known of these targets now. nodes has the nodes with a relay and their creation; nil if none is tried. The
// history forgets other nodes.
func (h *History) Result(now time.Time, period time.Duration, targets []Target, nodes map[string]time.Time) Result {
	if h.since.IsZero() || now.Sub(h.last) > 2*period {
		h.since = now
	}
	h.last = now
	r := Result{Version: 1, Time: now, Since: h.since, Period: period.String()}
	for _, target := range targets {
		if result, ok := h.targets[target]; ok {
			r.Targets = append(r.Targets, result)
		}
	}
	if nodes != nil {
		r.Nodes = h.count(now, nodes)
	}
	return r
}

func (h *History) count(now time.Time, created map[string]time.Time) *Nodes {
	counted := &Nodes{Total: len(created)}
	var all, worst []*nodeHistory
	for name := range h.nodes {
		if _, ok := created[name]; !ok {
			delete(h.nodes, name)
		}
	}
	for name, at := range created {
		node := h.node(name)
		if _, listed := h.seed[name]; node.tried.IsZero() && !h.until.IsZero() && !at.After(h.until) { // a previous process tried it
			node.tried, node.known = h.seeded, true
			if !listed {
				node.State = Held
			}
		}
		all = append(all, node)
		node.counts = !node.tried.IsZero() && (h.Turn == 0 || now.Sub(node.tried) <= turnsKept*h.Turn)
		switch {
		case !node.counts && (node.known || now.Sub(at) > RelayStarts+turnsKept*h.Turn):
			counted.Pending++
		case node.counts && node.State == Held:
			counted.Verified++
		case node.counts && node.State == Failed:
			counted.Failed++
		}
		if node.State == Failed || len(node.Outages) > 0 {
			worst = append(worst, node)
		}
	}
	counted.Until = until(all, created)
	slices.SortFunc(worst, worse)
	for _, node := range worst[:min(len(worst), MaxWorstNodes)] {
		listed := node.Node
		listed.Outages = slices.Clone(node.Outages)
		counted.Worst = append(counted.Worst, listed)
	}
	return counted
}

// until returns the latest creation up to which something counts of every node.
func until(all []*nodeHistory, created map[string]time.Time) *time.Time {
	var untried, last time.Time
	for _, node := range all {
		if at := created[node.Name]; !node.counts && (untried.IsZero() || at.Before(untried)) {
			untried = at
		}
	}
	for _, node := range all {
		if at := created[node.Name]; node.counts && at.After(last) && (untried.IsZero() || at.Before(untried)) {
			last = at
		}
	}
	if last.IsZero() {
		return nil
	}
	return &last
}

// worse sorts nodes: those that fail now come first, then those whose latest outage began first.
func worse(a, b *nodeHistory) int {
	fails := func(n *nodeHistory) int {
		if n.State == Failed {
			return 0
		}
		return 1
	}
	begin := func(n *nodeHistory) time.Time {
		if len(n.Outages) == 0 {
			return time.Time{}
		}
		return n.Outages[0].Begin
	}
	return cmp.Or(fails(a)-fails(b), begin(a).Compare(begin(b)), strings.Compare(a.Name, b.Name))
}
