package rollout

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// Step is a change of a rollout that people want to hear of, once for the fleet.
type Step struct {
	Reason, Message string
	Wave            string // that it is about; empty: all
	Warning         bool
}

// Steps returns the steps between two statuses of a rollout; nil is none.
func Steps(before, after *v1alpha1.RolloutStatus) []Step {
	if after == nil || after.Revision == 0 {
		return nil
	}
	if before == nil {
		before = &v1alpha1.RolloutStatus{}
	}
	var steps []Step
	add := func(warning bool, reason, format string, args ...any) {
		steps = append(steps, Step{Reason: reason, Message: fmt.Sprintf(format, args...), Warning: warning})
	}
	switch {
	case before.Revision > after.Revision:
		add(true, "RolloutUndone", "revision %d is rejected; clusters have, or go back to, revision %d", before.Revision, after.Revision)
	case before.Revision != after.Revision:
		add(false, "RolloutStarted", "revision %d for %s", after.Revision, counted("%d clusters", int(after.Of)))
	}
	passed := map[string]bool{}
	for _, w := range before.Waves {
		passed[w.Name] = before.Revision == after.Revision && w.State == v1alpha1.WavePassed
	}
	for _, w := range after.Waves {
		if w.State == v1alpha1.WavePassed && !passed[w.Name] && w.Of > 0 {
			add(false, "WavePassed", "wave %s has passed with revision %d", w.Name, after.Revision)
			steps[len(steps)-1].Wave = w.Name
		}
	}
	if after.Halted && (!before.Halted || before.Revision != after.Revision) {
		add(true, "RolloutHalted", "revision %d: %s", after.Revision, strings.Join(after.Failures, "; "))
	}
	if after.Completed != nil && (before.Completed == nil || before.Revision != after.Revision) {
		add(false, "RolloutCompleted", "revision %d: %d of %s", after.Revision, after.Updated, counted("%d clusters", int(after.Of)))
	}
	return steps
}

var numbered = regexp.MustCompile(`%d (\w+)s\b`)

// counted puts a number into a text, in which its noun is a plural.
func counted(text string, n int) string {
	if n == 1 {
		text = numbered.ReplaceAllString(text, "%d $1")
	}
	return fmt.Sprintf(text, n)
}
