package probe

import (
	"context"
	"slices"
	"time"

	"k8s.io/client-go/util/flowcontrol"

	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/workload/healthz"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// sweep tries the targets through the relays, a few nodes each second.
func (a *agent) sweep(ctx context.Context) {
	slots := make(chan struct{}, nodesAtATime)
	for pause(ctx, time.Second) {
		a.mutex.Lock()
		plan := a.plan
		a.mutex.Unlock()
		if plan.settings == nil || !a.fleet.synced() {
			continue
		}
		relays, created := a.fleet.relays(), a.fleet.created()
		for _, name := range a.fleet.due(time.Now(), created, a.Period, min(cap(slots)-len(slots), a.perSecond(len(created), len(plan.targets)))) {
			slots <- struct{}{}
			go func() {
				began := time.Now()
				defer func() { <-slots }()
				a.tryNode(ctx, plan, name, relays[name], time.Since(created[name]))
				a.took(time.Since(began))
			}()
		}
	}
}

// perSecond returns how many nodes are begun in a second: so many that all have their turn in a period, unless that were too much.
func (a *agent) perSecond(nodes, targets int) int {
	seconds := max(1, int(a.Period/time.Second))
	even := (nodes + seconds - 1) / seconds
	return min(2*even, max(1, attemptsPerSecond/max(1, targets)))
}

// took notes how long a node took.
func (a *agent) took(d time.Duration) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.mean += (d - a.mean) / (2 * nodesAtATime)
}

// turn returns how long it takes until each node had its turn: by the pace, or where targets are slow, by what nodes take.
func (a *agent) turn(nodes, targets int) time.Duration {
	paced := time.Duration(nodes/max(1, a.perSecond(nodes, targets))+1) * time.Second
	return max(a.Period, paced, time.Duration(nodes)*a.mean/nodesAtATime)
}

// tryNode tries the targets through one relay. Without one, the node is not known to reach anything. What was seen counts for the
// settings that the relay had: it may get the current ones later than this program, or earlier.
func (a *agent) tryNode(ctx context.Context, plan nodePlan, name string, relay relayAt, age time.Duration) {
	if len(plan.targets) == 0 {
		return
	}
	results, revision := withoutRelay(plan.targets), plan.settings.Revision
	switch {
	case relay.proxy == "" && age < probe.RelayStarts:
		return
	case relay.proxy != "":
		settings, err := relaySettings(relay.proxy, plan.settings)
		if err != nil {
			a.Log.Error("a relay cannot be asked", "node", name, "reason", err)
			return
		}
		if revision != "" {
			revision, err = a.prober.revisionOf(ctx, relay.health)
		}
		results = tryThrough(ctx, a.pace, a.prober.fresh(), settings, plan.targets)
		if err != nil && !slices.ContainsFunc(results, answers) { // it is not there, whatever its settings
			revision = plan.settings.Revision
		}
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.noteRevision(name, revision)
	if ctx.Err() == nil && revision == a.plan.settings.Revision && a.fleet.counts(name, results) {
		a.history.SawNode(now(), name, results)
	}
}

// noteRevision logs once why what a node does is not counted. The mutex is held.
func (a *agent) noteRevision(node, revision string) {
	if revision == a.plan.settings.Revision {
		delete(a.others, node)
		return
	}
	if previous, ok := a.others[node]; ok && previous == revision {
		return
	}
	if a.others == nil {
		a.others = map[string]string{}
	}
	a.others[node] = revision
	a.Log.Info("a node does not count: its relay has other settings, or does not say which", "node", node, "relay", revision, "settings", a.plan.settings.Revision)
}

// revisionOf asks a relay for the revision of its settings; empty if it does not say. What is tried afterwards is of that one, or
// of a later one.
func (p *Prober) revisionOf(ctx context.Context, health string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, p.Stage)
	defer cancel()
	response, err := healthz.Get(ctx, "http://"+health+"/readyz")
	if err != nil {
		return "", err
	}
	_ = response.Body.Close()
	return response.Header.Get(upstream.RevisionHeader), nil
}

// answers: a relay did, to say the least.
func answers(r probe.TargetResult) bool {
	return r.Reason != probe.ProxyRefused && r.Reason != probe.ProxyTimeout && r.Reason != probe.NetworkUnreachable
}

// withoutRelay: pods of a node without a relay get nowhere.
func withoutRelay(targets []probe.Target) []probe.TargetResult {
	var results []probe.TargetResult
	for _, target := range targets {
		results = append(results, probe.TargetResult{Target: target, State: probe.Failed, Reason: probe.ProxyRefused, Message: "The node has no relay."})
	}
	return results
}

// newPace limits all attempts through relays together.
func newPace() flowcontrol.RateLimiter {
	return flowcontrol.NewTokenBucketRateLimiter(attemptsPerSecond, 1)
}

// tryThrough tries one target after the other. A relay that is not there is asked once.
func tryThrough(ctx context.Context, pace flowcontrol.RateLimiter, prober *Prober, settings *upstream.Settings, targets []probe.Target) []probe.TargetResult {
	tried := make([]probe.Tried, len(targets))
	var gone *probe.Seen
	for i, target := range targets {
		destination, err := probe.ParseURL(target.URL)
		if err != nil {
			continue // checked before
		}
		tried[i] = probe.Tried{Target: target, Chosen: probe.Proxied, Host: destination.Host}
		if gone != nil {
			tried[i].Seen = []probe.Seen{*gone}
			continue
		}
		if pace.Wait(ctx) != nil {
			return nil // the program ends
		}
		seen := prober.Try(ctx, settings, destination, probe.Proxied)
		tried[i].Seen = []probe.Seen{seen}
		if seen.Stage == probe.Connect {
			gone = &seen
		}
	}
	return slices.Clip(probe.Judge(tried))
}
