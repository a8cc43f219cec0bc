package rollout

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// run goes on until nothing happens any more. Kill is asked at each step whether the operator dies there, and after how many
// records; -1: it does not.
func (w *world) run(checked bool, kill func(step, records int) int) (Decision, error) {
	const tooMany = 2_000
	for step := range tooMany {
		w.happen()
		f := w.fleet()
		d := Decide(f)
		if err := checkStep(f, d, checked, w.seed+uint64(step)); err != nil {
			return d, fmt.Errorf("step %d, %s: %w", step, w.now.Sub(epoch), err)
		}
		records := len(d.Assigned)
		if at := kill(step, records); at >= 0 {
			w.carryOut(d, at)
			w.started = w.now
			if w.preflight != nil { // what is in no object is forgotten
				w.preflight = &Preflight{Answer: w.preflight.Answer, Last: w.preflight.Last}
			}
			continue
		}
		w.carryOut(d, records)
		wait, more := w.next()
		if records > 0 && wait <= 0 && more {
			continue
		}
		switch {
		case d.Look > 0 && (!more || d.Look < wait):
			if err := w.look(d); err != nil {
				return d, fmt.Errorf("step %d, %s: %w", step, w.now.Sub(epoch), err)
			}
		case more:
			w.now = w.now.Add(max(wait, 0))
		default:
			if !d.Complete && d.Stalled == nil {
				return d, fmt.Errorf("ends without a word after %d steps: %+v", step, d.Status)
			}
			return d, nil
		}
	}
	return Decision{}, fmt.Errorf("does not end: %+v", w.last)
}

func checkStep(f Fleet, d Decision, checked bool, seed uint64) error {
	if !checked {
		return nil
	}
	if err := newChecker(f).check(d); err != nil || len(f.Rows) > 1000 && seed%10 > 0 {
		return err
	}
	return sameInAnyOrder(f, d, seed)
}

// look waits as long as it was told. Something must be different then.
func (w *world) look(before Decision) error {
	w.now = w.now.Add(before.Look)
	after := Decide(w.fleet())
	if len(after.Assigned) == 0 && visible(before) == visible(after) {
		return fmt.Errorf("nothing changed after a look in %s: %+v", before.Look, after.Status)
	}
	return nil
}

func undisturbed(int, int) int { return -1 }

// anyPolicy draws waves by the label group, with the rest at the end or not.
func anyPolicy(t *rapid.T) Policy {
	spec := v1alpha1.Rollout{HaltOn: v1alpha1.HaltOn{FailedClusters: rapid.Int32Range(1, 3).Draw(t, "failedClusters")}}
	for i := range rapid.IntRange(0, 4).Draw(t, "waves") {
		wave := v1alpha1.Wave{Name: fmt.Sprint("wave-", i)}
		if i < 3 || rapid.Bool().Draw(t, "no rest") {
			wave.ClusterSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"group": fmt.Sprint(rapid.IntRange(0, 4).Draw(t, "group"))}}
		}
		limit := rapid.SampledFrom([]intstr.IntOrString{intstr.FromInt32(0), intstr.FromInt32(1), intstr.FromInt32(3), intstr.FromString("10%"), intstr.FromString("50%")}).Draw(t, "maxParallel")
		if limit != intstr.FromInt32(0) {
			wave.MaxParallel = &limit
		}
		wave.Soak = &metav1.Duration{Duration: time.Duration(rapid.IntRange(0, 2).Draw(t, "soak")) * 10 * time.Minute}
		spec.Waves = append(spec.Waves, wave)
	}
	policy, err := ParsePolicy(spec)
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

var harmless = []string{"edit", "undo", "undo another", "accept", "pause", "resume", "override", "facts"}

var everything = append([]string{
	"bad edit", "create", "delete", "pause cluster", "resume cluster", "relabel", "heal", "break", "mend", "does not get out", "gets out", "move",
}, harmless...)

func anyScript(t *rapid.T, kinds []string) []event {
	var script []event
	at := time.Duration(0)
	for range rapid.IntRange(0, 25).Draw(t, "events") {
		at += time.Duration(rapid.IntRange(0, 20).Draw(t, "minutes")) * time.Minute
		script = append(script, event{at, rapid.SampledFrom(kinds).Draw(t, "kind"), rapid.IntRange(0, 1000).Draw(t, "arg")})
	}
	return script
}

func TestEveryRunKeepsTheRulesAndEndsOrSaysWhyNot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 40).Draw(t, "clusters"), anyPolicy(t))
		w.setProbes(rapid.SampledFrom([]string{v1alpha1.ProbesIgnored, v1alpha1.ProbesFailed, v1alpha1.ProbesRequired}).Draw(t, "probes"))
		w.observes = rapid.Bool().Draw(t, "observes")
		if rapid.Bool().Draw(t, "preflight") {
			w.preflight = &Preflight{}
		}
		w.script = anyScript(t, everything)
		kills := rapid.SliceOfN(rapid.IntRange(0, 60), 0, 4).Draw(t, "kills")
		if _, err := w.run(true, killAt(kills)); err != nil {
			t.Fatal(err)
		}
	})
}

// killAt dies at these steps, each after another part of the records.
func killAt(steps []int) func(int, int) int {
	return func(step, records int) int {
		for i, at := range steps {
			if at == step {
				return records * i / len(steps)
			}
		}
		return -1
	}
}

func TestARestartAtAnyStepChangesNothingInTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, clusters, policy := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 30).Draw(t, "clusters"), anyPolicy(t)
		policy.failedClusters = 1000 // a write that is late is not the restart's doing
		script := anyScript(t, harmless)
		kills := rapid.SliceOfN(rapid.IntRange(0, 60), 1, 6).Draw(t, "kills")
		var outcomes [2]string
		for i, kill := range []func(int, int) int{undisturbed, killAt(kills)} {
			w := newWorld(seed, clusters, policy)
			w.known, w.script = append([]Revision(nil), w.known...), script
			d, err := w.run(false, kill)
			if err != nil {
				t.Fatal(err)
			}
			outcomes[i] = w.outcome(d)
		}
		if outcomes[0] != outcomes[1] {
			t.Fatalf("undisturbed:\n%s\nwith restarts:\n%s", outcomes[0], outcomes[1])
		}
	})
}

func (w *world) outcome(d Decision) string {
	text := fmt.Sprintln(d.Complete, d.Status.Revision)
	for _, row := range w.rows() {
		if row.Record == nil {
			text += fmt.Sprintln(row.Key.Name, "none")
			continue
		}
		text += fmt.Sprintln(row.Key.Name, row.Record.Number, row.Record.Override, row.Record.Facts, row.Status.State)
	}
	return text
}

// bigPolicy has canaries, two waves and the rest.
func bigPolicy(tb testing.TB) Policy {
	tb.Helper()
	group := func(name, group, parallel string, soak time.Duration) v1alpha1.Wave {
		limit := intstr.FromString(parallel)
		w := v1alpha1.Wave{Name: name, MaxParallel: &limit, Soak: &metav1.Duration{Duration: soak}}
		if group != "" {
			w.ClusterSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"group": group}}
		}
		return w
	}
	policy, err := ParsePolicy(v1alpha1.Rollout{HaltOn: v1alpha1.HaltOn{FailedClusters: 400}, Waves: []v1alpha1.Wave{
		group("canary", "0", "50%", 30*time.Minute), group("early", "1", "20%", 10*time.Minute), group("late", "2", "25%", 0), group("rest", "", "30%", time.Hour),
	}})
	if err != nil {
		tb.Fatal(err)
	}
	return policy
}

func TestTenThousandClustersKeepTheRulesWhileThingsFail(t *testing.T) {
	w := newWorld(7, 10_000, bigPolicy(t))
	for i, kind := range []string{"edit", "break", "bad edit", "create", "edit", "pause", "relabel", "resume", "bad edit", "undo", "override", "delete", "heal", "edit"} {
		w.script = append(w.script, event{time.Duration(i+1) * 20 * time.Minute, kind, i*997 + 3})
	}
	d, err := w.run(true, killAt([]int{3, 9, 17}))
	if err != nil {
		t.Fatal(err)
	}
	if !d.Complete || d.Status.Updated != 10_000 {
		t.Errorf("ends with %+v", d.Status)
	}
}

func BenchmarkDecideTenThousand(b *testing.B) {
	w := newWorld(7, 10_000, bigPolicy(b))
	w.carryOut(Decide(w.fleet()), 10_000)
	w.now = w.now.Add(time.Hour)
	w.happen()
	for range 4 {
		w.edit()
	}
	f := w.fleet()
	b.ReportAllocs()
	for b.Loop() {
		if d := Decide(f); len(d.Assigned) == 0 {
			b.Fatal(d.Status)
		}
	}
}
