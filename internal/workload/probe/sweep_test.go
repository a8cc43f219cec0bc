package probe

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// Relays get settings at another time than the probe. A relay of ours says the same of itself in package forward.
func TestWhatANodeDoesCountsForTheSettingsOfItsRelay(t *testing.T) {
	var has atomic.Value
	relay := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			w.Header().Set(upstream.RevisionHeader, has.Load().(string))
		}
	}))
	at := strings.TrimPrefix(relay.URL, "http://")
	a := &agent{
		Options: Options{Period: time.Minute, Log: slog.New(slog.DiscardHandler)}, prober: NewProber(time.Second), pace: newPace(), fleet: fleetOf(t, 1),
	}
	target := probe.Target{URL: "tcp://a.example:1", Expect: probe.Reachable}
	try := func(revision, ofRelay string) string {
		has.Store(ofRelay)
		a.plan = nodePlan{settingsOf(t, map[string]string{"HTTPS_PROXY": "http://p:1", "REVISION": revision}), []probe.Target{target}}
		a.history.Of(a.plan.settings.Revision)
		a.tryNode(t.Context(), a.plan, "n0000", relayAt{at, at}, time.Hour)
		n := a.currentResult(nil).Nodes
		return fmt.Sprint(n.Verified, n.Failed, n.Pending)
	}
	for _, step := range []struct{ revision, ofRelay, want string }{
		{"", "", "1 0 0"},
		{"corp/2/a", "", "0 0 1"},
		{"corp/2/a", "corp/2/a", "1 0 0"},
		{"corp/3/a", "corp/2/a", "0 0 1"},
		{"corp/3/a", "corp/4/a", "0 0 1"},
		{"corp/3/a", "corp/3/a", "1 0 0"},
		{"corp/3/a", "corp/4/a", "1 0 0"},
	} {
		if got := try(step.revision, step.ofRelay); got != step.want {
			t.Errorf("%+v: %s", step, got)
		}
	}
	relay.Close() // it fails whatever its settings are, with the second failure
	if first, second := try("corp/5/a", ""), try("corp/5/a", ""); first != "0 0 1" || second != "0 1 0" {
		t.Errorf("without an answer: %s, %s", first, second)
	}
}

// A proxy that takes connections and says nothing holds up every node. The first ones that fail are to be known soon.
func TestTheFirstOfManyNodesFailsSoon(t *testing.T) {
	const nodes, hangs = 5000, 20 * time.Second
	a := &agent{Options: Options{Period: time.Minute}, fleet: fleetOf(t, nodes)}
	created, start := a.fleet.created(), time.Now()
	for name := range created {
		a.fleet.last[name] = start.Add(-time.Minute)
	}
	underway, failed := map[string]time.Time{}, map[string]bool{}
	for now := start; now.Sub(start) < 3*time.Minute; now = now.Add(time.Second) {
		for name, ends := range underway {
			if !ends.After(now) {
				delete(underway, name)
				failed[name] = failed[name] || a.fleet.counts(name, []probe.TargetResult{{State: probe.Failed}})
			}
		}
		for _, name := range a.fleet.due(now, created, a.Period, min(nodesAtATime-len(underway), a.perSecond(nodes, 1))) {
			underway[name] = now.Add(hangs)
		}
		known := 0
		for _, is := range failed {
			if is {
				known++
			}
		}
		if known > 0 && now.Sub(start) <= 2*hangs+2*suspectAfter {
			return
		}
	}
	t.Errorf("nothing is known of %d nodes", nodes)
}

func TestATurnIsNeverShorterThanItTakes(t *testing.T) {
	a := &agent{Options: Options{Period: time.Minute}}
	for _, test := range []struct {
		nodes, targets int
		most           time.Duration
	}{{0, 1, time.Minute}, {10, 5, time.Minute}, {5000, 1, 2 * time.Minute}, {5000, 5, 9 * time.Minute}} {
		turn := a.turn(test.nodes, test.targets)
		if turn > test.most || int(turn/time.Second)*a.perSecond(test.nodes, test.targets) < test.nodes {
			t.Errorf("%+v: %s", test, turn)
		}
	}
	for range 1000 {
		a.took(15 * time.Second)
	}
	if turn := a.turn(600, 3); turn < 275*time.Second || turn > 282*time.Second { // 600 nodes of 15 s, 32 at a time
		t.Errorf("a turn of slow nodes is %s", turn)
	}
}
