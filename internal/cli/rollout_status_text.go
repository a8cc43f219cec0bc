package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/revision"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
)

// rolloutReport is a rollout as the command shows it.
type rolloutReport struct {
	Name      string                    `json:"name"`
	Phase     rollout.Phase             `json:"phase"`
	Reason    string                    `json:"reason,omitempty"`
	Message   string                    `json:"message,omitempty"`
	PausedBy  []string                  `json:"pausedBy,omitempty"`
	Rollout   *v1alpha1.RolloutStatus   `json:"rollout,omitempty"`
	Revisions []v1alpha1.RevisionStatus `json:"revisions,omitempty"`
	Problem   *reportedProblem          `json:"problem,omitempty"`
	Others    []revisionClusters        `json:"others,omitempty"`
	Operator  string                    `json:"operator,omitempty"` // that it does not run

	unreachable string // why the proxy is not, in the management cluster
	deadline    bool   // the next check is one
}

type reportedProblem struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// revisionClusters has a revision other than the target, and the clusters that have or get it.
type revisionClusters struct {
	Revision int64    `json:"revision"`
	Clusters []string `json:"clusters"`
}

func reportOf(proxy *v1alpha1.CorporateProxy, control *revision.Control) rolloutReport {
	standing := rollout.StandingOf(proxy, control)
	r := rolloutReport{
		Name: proxy.Name, Phase: standing.Phase, Reason: standing.Reason, Message: standing.Message,
		Rollout: proxy.Status.Rollout, Revisions: proxy.Status.Revisions,
	}
	if proxy.Spec.Rollout.Paused {
		r.PausedBy = append(r.PausedBy, "spec.rollout.paused")
	}
	if control != nil && control.Paused {
		r.PausedBy = append(r.PausedBy, "ConfigMap "+revision.ControlName(proxy.Name))
	}
	if c := meta.FindStatusCondition(proxy.Status.Conditions, v1alpha1.ConditionRolloutProblem); c != nil && c.Status == metav1.ConditionTrue {
		r.Problem = &reportedProblem{c.Reason, c.Message}
	}
	if c := meta.FindStatusCondition(proxy.Status.Conditions, v1alpha1.ConditionProxyReachable); c != nil && c.Status == metav1.ConditionFalse {
		r.unreachable = c.Message
	}
	r.deadline = nextIsDeadline(proxy)
	return r
}

// nextIsDeadline reports whether nothing is waited for until the next check but clusters, which have failed then.
func nextIsDeadline(proxy *v1alpha1.CorporateProxy) bool {
	state, c := proxy.Status.Rollout, meta.FindStatusCondition(proxy.Status.Conditions, v1alpha1.ConditionReconciling)
	return state != nil && state.InProgress > 0 && c != nil && slices.Contains([]string{v1alpha1.ReasonRollingOut, v1alpha1.ReasonUndoing}, c.Reason) &&
		!slices.ContainsFunc(state.Waves, func(w v1alpha1.WaveStatus) bool { return w.State == v1alpha1.WaveSoaking })
}

func (r rolloutReport) stuck() bool { return r.Phase == rollout.Halted || r.Phase == rollout.Stalled }

// ended reports whether nothing goes on any more.
func (r rolloutReport) ended() bool { return r.stuck() || r.Phase == rollout.Completed }

// hasOthers reports whether clusters have another revision than the one that all are to have.
func (r rolloutReport) hasOthers() bool {
	return r.Rollout != nil && slices.ContainsFunc(r.Revisions, func(s v1alpha1.RevisionStatus) bool {
		return s.Clusters > 0 && s.Number != r.Rollout.Revision
	})
}

// addOthers takes the clusters from their records, the newest revision first.
func (r *rolloutReport) addOthers(rows []rollout.Row) {
	if r.Rollout == nil {
		return
	}
	for _, row := range rows {
		if row.Record.Proxy != r.Name || row.Record.Number == r.Rollout.Revision {
			continue
		}
		at := slices.IndexFunc(r.Others, func(o revisionClusters) bool { return o.Revision == row.Record.Number })
		if at < 0 {
			at = len(r.Others)
			r.Others = append(r.Others, revisionClusters{Revision: row.Record.Number})
		}
		r.Others[at].Clusters = append(r.Others[at].Clusters, row.Key.String())
	}
	for _, other := range r.Others {
		slices.Sort(other.Clusters)
	}
	slices.SortFunc(r.Others, func(a, b revisionClusters) int { return int(b.Revision - a.Revision) })
}

// statusText describes one rollout.
func statusText(s terminal.Style, r rolloutReport) []byte {
	text := fmt.Appendf(nil, "CorporateProxy %s: %s\n", r.Name, headline(s, r))
	if state := r.Rollout; state != nil {
		text = fmt.Appendf(text, "%s%s\n", s.Bar(int(state.Updated), int(state.Of)), countsText(state))
		if len(state.Waves) > 0 {
			text = append(append(text, '\n'), wavesText(s, state.Waves, r.Phase)...)
		}
	}
	if notes := statusNotes(r); len(notes) > 0 {
		text = append(text, "\n"+s.Notes(notes...)...)
	}
	return text
}

// headline is how it stands, and since when.
func headline(s terminal.Style, r rolloutReport) string {
	text := s.Paint(phaseColour(r.Phase), string(r.Phase))
	if r.Reason != "" && r.Reason != string(r.Phase) {
		text += " (" + r.Reason + ")"
	}
	if state := r.Rollout; state != nil {
		text = fmt.Sprintf("revision %d, %s", state.Revision, text)
		if since := sinceOf(r.Phase, state); since != nil {
			text += " since " + since.UTC().Format(time.RFC3339)
		}
	}
	return text
}

func sinceOf(phase rollout.Phase, state *v1alpha1.RolloutStatus) *metav1.Time {
	switch phase {
	case rollout.Halted:
		return state.HaltedSince
	case rollout.Completed:
		return state.Completed
	case rollout.Underway:
		return state.Started
	}
	return nil
}

func phaseColour(phase rollout.Phase) string {
	switch phase {
	case rollout.Completed:
		return terminal.Severity("Fine")
	case rollout.Halted, rollout.Stalled:
		return terminal.Severity("Error")
	}
	return ""
}

func countsText(state *v1alpha1.RolloutStatus) string {
	text := fmt.Sprintf("%d of %s updated", state.Updated, terminal.Plural(int(state.Of), "cluster"))
	if state.InProgress > 0 {
		text += fmt.Sprintf(", %d in progress", state.InProgress)
	}
	if state.Failed > 0 {
		text += fmt.Sprintf(", %d failed", state.Failed)
	}
	return text
}

func wavesText(s terminal.Style, waves []v1alpha1.WaveStatus, phase rollout.Phase) []byte {
	table := terminal.Columns(s, "WAVE", "STATE", "UPDATED", "OF")
	for _, w := range waves {
		cells := terminal.Cells(w.Name, w.State, strconv.Itoa(int(w.Updated)), strconv.Itoa(int(w.Of)))
		switch w.State {
		case v1alpha1.WaveProgressing:
			if phase == rollout.Halted {
				cells[1].Text, cells[1].Colour = string(phase), phaseColour(phase)
			}
		case v1alpha1.WaveEmpty:
			cells[1].Colour = terminal.Yellow
		case v1alpha1.WavePassed:
			cells[1].Colour = terminal.Severity("Fine")
		}
		table.Add(cells...)
	}
	return table.Bytes()
}

// statusNotes returns what stands below the table.
func statusNotes(r rolloutReport) []string {
	var notes []string
	if r.Operator != "" {
		notes = append(notes, r.Operator)
	}
	if r.Message != "" {
		notes = append(notes, printable(r.Message))
	}
	if len(r.PausedBy) > 0 {
		notes = append(notes, "Paused by "+strings.Join(r.PausedBy, " and "))
	}
	if state := r.Rollout; state != nil {
		for _, failure := range state.Failures {
			notes = append(notes, "Failed: "+printable(failure))
		}
		if state.Next != nil && !r.ended() {
			label := "Next check: "
			if r.deadline {
				label = "Deadline (progressDeadline): "
			}
			notes = append(notes, label+state.Next.UTC().Format(time.RFC3339))
		}
	}
	if r.unreachable != "" {
		notes = append(notes, "ProxyReachable: "+printable(r.unreachable))
	}
	if r.Phase == rollout.Halted {
		notes = append(notes, "Next: "+repairText(r.Rollout)+", and the rollout continues; or go back: fairlead rollout undo "+r.Name)
	}
	if r.Problem != nil {
		notes = append(notes, r.Problem.Reason+": "+printable(r.Problem.Message))
	}
	for _, other := range r.Others {
		notes = append(notes, fmt.Sprintf("Revision %d: %s (%s)", other.Revision, terminal.Plural(len(other.Clusters), "cluster"), short(other.Clusters)))
	}
	return notes
}

// repairText returns what has a halted rollout continue. Of clusters that nobody has looked into, nothing is known to be wrong.
func repairText(state *v1alpha1.RolloutStatus) string {
	unobserved := func(failure string) bool { return strings.Contains(failure, rollout.NotObservedSince) }
	switch {
	case state == nil || !slices.ContainsFunc(state.Failures, unobserved):
		return "repair the clusters"
	case slices.ContainsFunc(state.Failures, func(failure string) bool { return !unobserved(failure) }):
		return "repair the clusters, and see that fairlead-observe runs and reaches those that were not observed"
	}
	return "see that fairlead-observe runs, and reaches the clusters"
}

// printable leaves out what would move the cursor: a message may repeat what anybody wrote.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

// statusesText has a line for each rollout.
func statusesText(s terminal.Style, all []rolloutReport) []byte {
	table := terminal.Columns(s, "NAME", "REVISION", "PHASE", "WAVE", "UPDATED", "MESSAGE")
	for _, r := range all {
		number, wave, progress := "-", "-", "-"
		if state := r.Rollout; state != nil {
			number, wave, progress = strconv.FormatInt(state.Revision, 10), terminal.Dash(state.Wave), terminal.Dash(state.Progress)
		}
		cells := terminal.Cells(r.Name, number, string(r.Phase), wave, progress, terminal.Dash(printable(r.Message)))
		cells[2].Colour = phaseColour(r.Phase)
		table.Add(cells...)
	}
	return table.Bytes()
}

// screen shows the progress of a rollout. On a terminal, each status replaces the one before. Elsewhere, each change is a line.
type screen struct {
	out      io.Writer
	terminal *terminal.Screen // nil: out is no terminal, or nothing is shown
	silent   bool
	last     string
}

// newScreen returns a screen that writes to out. If the output is no table, it shows nothing: a
// program reads the result alone.
func newScreen(out io.Writer, output string) *screen {
	s := &screen{out: out, silent: output != tableOutput}
	if onTerminal, ok := terminal.NewScreen(out); ok && !s.silent {
		s.terminal = onTerminal
	}
	return s
}

func (s *screen) show(r rolloutReport) {
	switch line := watchLine(r); {
	case s.silent:
	case s.terminal != nil:
		s.terminal.Show(statusText(s.terminal.Style(), r))
	case line != s.last:
		s.last = line
		fmt.Fprint(s.out, line)
	}
}

// clear removes the progress from the terminal, so that the result stands in its place.
func (s *screen) clear() {
	if s.terminal != nil {
		s.terminal.Clear()
	}
}

func watchLine(r rolloutReport) string {
	text := string(r.Phase)
	if r.Rollout != nil {
		text = fmt.Sprintf("revision %d, %s, %s", r.Rollout.Revision, text, countsText(r.Rollout))
	}
	if r.Message != "" {
		text += "; " + printable(r.Message)
	}
	if r.Operator != "" {
		text += "; " + r.Operator
	}
	return text + "\n"
}
