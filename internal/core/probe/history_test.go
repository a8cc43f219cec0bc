package probe

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

func result(url string, state State, reason Reason) TargetResult {
	return TargetResult{Target: Target{URL: url, Expect: Reachable}, State: state, Reason: reason}
}

func TestOutagesBeginAndEnd(t *testing.T) {
	var h History
	held, fails := result("https://a.example", Held, ""), result("https://b.example", Failed, ProxyRefused)
	h.SawNode(at(0), "n", []TargetResult{held, fails})
	h.SawNode(at(1), "n", []TargetResult{held, result(fails.URL, Failed, CredentialsRefused)})
	h.SawNode(at(2), "n", []TargetResult{held, result(fails.URL, Unknown, LookupFailed)})
	h.SawNode(at(3), "n", []TargetResult{held, result(fails.URL, Held, "")})
	h.SawNode(at(5), "n", []TargetResult{result("https://a.example", Failed, ProxyTimeout)})
	nodes := h.Result(at(6), time.Minute, nil, map[string]time.Time{"n": noon}).Nodes
	got := nodes.Worst[0].Outages
	if len(got) != 2 || got[0].End != nil || got[0].Reason != ProxyTimeout || !got[1].Begin.Equal(at(0)) || !got[1].End.Equal(at(3)) || got[1].Reason != CredentialsRefused {
		t.Errorf("%+v", got)
	}
	if node := nodes.Worst[0]; node.State != Failed || !node.LastSuccess.Equal(at(3)) || !node.LastFailure.Equal(at(5)) {
		t.Errorf("%+v", node)
	}
	h.SawNode(at(7), "n", []TargetResult{held})
	h.SawNode(at(7).Add(outageKept+time.Minute), "n", []TargetResult{held})
	if nodes := h.Result(at(6), time.Minute, nil, map[string]time.Time{"n": noon}).Nodes; len(nodes.Worst) > 0 || nodes.Verified != 1 {
		t.Errorf("a day later: %+v", nodes)
	}
}

func TestATargetRemembersWhenItHeldAndFailed(t *testing.T) {
	var h History
	targets := []Target{result("https://a.example", "", "").Target}
	h.SawTargets(at(0), []TargetResult{result("https://a.example", Held, "")})
	h.SawTargets(at(1), []TargetResult{result("https://a.example", Failed, ProxyTimeout)})
	h.SawTargets(at(2), []TargetResult{result("https://a.example", Unknown, LookupFailed)})
	got := h.Result(at(2), time.Minute, targets, nil).Targets[0]
	if !got.LastSuccess.Equal(at(0)) || !got.LastFailure.Equal(at(1)) || got.State != Unknown {
		t.Errorf("%+v", got)
	}
}

func TestSinceIsWhenTheLastGapEnded(t *testing.T) {
	var h History
	for _, step := range []struct{ minute, since int }{{0, 0}, {1, 0}, {3, 0}, {6, 6}, {7, 6}} {
		if got := h.Result(at(step.minute), time.Minute, nil, nil); !got.Since.Equal(at(step.since)) {
			t.Errorf("at %d: %s", step.minute, got.Since)
		}
	}
}

// Until stands for a claim about nodes that are not named.
func TestUntilEndsBeforeTheFirstNodeThatWasNotTried(t *testing.T) {
	var h History
	created := map[string]time.Time{"a": at(1), "b": at(2), "c": at(2), "d": at(3)}
	for _, name := range []string{"a", "b", "d"} {
		h.SawNode(at(9), name, []TargetResult{result("https://a.example", Held, "")})
	}
	if got := h.Result(at(9), time.Minute, nil, created).Nodes; got.Until == nil || !got.Until.Equal(at(1)) || got.Verified != 3 || got.Total != 4 {
		t.Errorf("%+v", got)
	}
	h.SawNode(at(9), "c", []TargetResult{result("https://a.example", Failed, ProxyRefused)})
	got := h.Result(at(9), time.Minute, nil, created).Nodes
	if !got.Until.Equal(at(3)) || got.Verified != 3 || got.Failed != 1 {
		t.Errorf("%+v", got)
	}
	var next History
	next.Restore(Result{Version: 1, Time: at(9), Since: at(0), Period: "1m0s", Nodes: got}, at(10))
	created["e"] = at(8)
	again := next.Result(at(10), time.Minute, nil, created)
	if n := again.Nodes; !n.Until.Equal(at(3)) || n.Verified != 3 || n.Failed != 1 || n.Worst[0].Name != "c" || !again.Since.Equal(at(0)) {
		t.Errorf("after a restart: %+v", again)
	}
	var late History
	late.Restore(Result{Version: 1, Time: at(9), Since: at(0), Period: "1m0s", Nodes: got}, at(15))
	if n := late.Result(at(15), time.Minute, nil, created).Nodes; n.Until != nil || n.Verified != 0 {
		t.Errorf("after a long gap: %+v", n)
	}
}

// A change of the settings says nothing of nodes until they are tried with them.
func TestWhatWasSeenOfANodeCountsForItsSettingsAndForSomeTurns(t *testing.T) {
	h := History{Turn: 2 * time.Minute}
	created := map[string]time.Time{"a": at(-60), "b": at(-60), "new": at(8)}
	held, fails := result("https://a.example", Held, ""), result("https://a.example", Failed, ProxyTimeout)
	says := func(minute int, want string) *Nodes {
		t.Helper()
		n := h.Result(at(minute), time.Minute, nil, created).Nodes
		if got := fmt.Sprintf("%d verified, %d failed, %d pending, until %v", n.Verified, n.Failed, n.Pending, n.Until != nil); got != want {
			t.Errorf("at %d: %s, want %s", minute, got, want)
		}
		return n
	}
	h.Of("corp/1/a")
	says(0, "0 verified, 0 failed, 2 pending, until false")
	h.SawNode(at(0), "a", []TargetResult{held})
	h.SawNode(at(1), "b", []TargetResult{fails})
	h.Of("corp/1/a")
	before := says(6, "1 verified, 1 failed, 0 pending, until true")
	says(7, "0 verified, 1 failed, 1 pending, until false") // nobody has tried it for three turns
	h.SawNode(at(8), "a", []TargetResult{held})
	h.SawNode(at(8), "b", []TargetResult{fails})
	h.Of("corp/2/a")
	if n := says(9, "0 verified, 0 failed, 2 pending, until false"); n.Worst[0].State != Unknown || n.Worst[0].Outages[0].End != nil {
		t.Errorf("%+v", n.Worst)
	}
	h.SawNode(at(9), "new", []TargetResult{held})
	h.SawNode(at(9), "b", []TargetResult{held})
	says(9, "2 verified, 0 failed, 1 pending, until false")

	for revision, want := range map[string]string{"corp/1/a": "1 verified, 1 failed, 0 pending, until true", "corp/2/a": "0 verified, 0 failed, 2 pending, until false"} {
		h = History{Turn: 2 * time.Minute}
		h.Restore(Result{Version: 1, Time: at(6), Since: at(0), Period: "1m0s", Revision: "corp/1/a", Nodes: before}, at(7))
		h.Of(revision)
		says(7, want)
	}
}

func TestTheWorstNodesAreThoseThatFailForLongest(t *testing.T) {
	var h History
	created := map[string]time.Time{}
	for i := range 60 {
		name := fmt.Sprintf("n%02d", i)
		created[name] = noon
		h.SawNode(at(i), name, []TargetResult{result("https://a.example", Failed, ProxyRefused)})
		if i < 30 {
			h.SawNode(at(i+1), name, []TargetResult{result("https://a.example", Held, "")})
		}
	}
	nodes := h.Result(at(61), time.Minute, nil, created).Nodes
	if nodes.Failed != 30 || len(nodes.Worst) != MaxWorstNodes || nodes.Worst[0].Name != "n30" || nodes.Worst[19].Name != "n49" {
		t.Errorf("%+v", nodes)
	}
}

func TestAResultOf5000NodesFitsIntoAConfigMap(t *testing.T) {
	var h History
	var targets []Target
	var round []TargetResult
	for i := range MaxTargets {
		url := fmt.Sprintf("https://%d.%s.example/%s", i, strings.Repeat("a", 60), strings.Repeat("<", 400))
		r := result(url, Failed, AuthorityUnknown)
		r.Message = strings.Repeat("<", maxMessage)
		targets, round = append(targets, r.Target), append(round, r)
	}
	h.SawTargets(at(0), round)
	created := map[string]time.Time{}
	for i := range 5000 {
		name := fmt.Sprintf("%04d.%s", i, strings.Repeat("n", 240))
		created[name] = noon
		for minute := range 2 * maxOutages {
			h.SawNode(at(minute), name, []TargetResult{{Target: targets[minute], State: map[bool]State{true: Failed, false: Held}[minute%2 == 0], Reason: ProxyRefused}})
		}
	}
	r := h.Result(at(10), time.Minute, targets, created)
	text, err := Encode(r)
	if err != nil || len(text) > MaxResultBytes {
		t.Fatal(len(text), err)
	}
	got, err := Decode(text)
	if err != nil || got.Nodes.Total != 5000 || len(got.Nodes.Worst) != MaxWorstNodes || len(got.Targets) == 0 || len(got.Unseen) == 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if len(r.Targets) != MaxTargets || r.Targets[0].Message == "" || len(r.Nodes.Worst[0].Outages) != maxOutages {
		t.Error("it changes what it was given")
	}
	if _, err := Decode([]byte(`{"version":2}`)); err == nil {
		t.Error("another version is read")
	}
}
