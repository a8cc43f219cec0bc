// Package pictured writes how a fleet stands: for a terminal, and as a page.
package pictured

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/diagnosis"
	"github.com/fairlead-io/fairlead/internal/core/picture"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
)

// onScreen is how many lines of a kind there are: one screen has no more.
const onScreen = 12

// Text writes the picture for a terminal. The namespace is the one that was looked at; empty: all.
func Text(s terminal.Style, p picture.Picture, namespace string) []byte {
	var out bytes.Buffer
	fmt.Fprintln(&out, States(s, p)+within(namespace))
	if len(p.Clusters) == 0 && namespace != "" {
		out.WriteString(s.Notes("There is no Cluster in this namespace: -A looks at all namespaces"))
	}
	for _, section := range [][]byte{problemsText(s, p), proxiesText(s, p), behindText(s, p), expiresText(s, p)} {
		if len(section) > 0 {
			out.WriteByte('\n')
			out.Write(section)
		}
	}
	if len(p.Unread) > 0 {
		out.WriteByte('\n')
	}
	for _, one := range p.Unread {
		out.WriteString(s.Notes("Not looked at: " + terminal.ASCII(one)))
	}
	return out.Bytes()
}

func within(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " (namespace " + namespace + ")"
}

// States returns the fleet in a line: how many clusters are in each state. What no cluster is in is left out, but Fine.
func States(s terminal.Style, p picture.Picture) string {
	var parts []string
	for _, count := range p.States {
		if count.Clusters > 0 || count.State == picture.Fine {
			parts = append(parts, s.Paint(colour(count.State), fmt.Sprintf("%d %s", count.Clusters, count.State)))
		}
	}
	return terminal.Plural(len(p.Clusters), "cluster") + before(p) + ": " + strings.Join(parts, ", ")
}

// before says that nobody knows how clusters are now.
func before(p picture.Picture) string {
	if p.Stopped() {
		return ", as before the operator stopped"
	}
	return ""
}

func colour(state picture.State) string { return terminal.Severity(string(state)) }

// problemsText has two lines for a problem: what it is, and the command that says more.
func problemsText(s terminal.Style, p picture.Picture) []byte {
	if len(p.Problems) == 0 {
		return nil
	}
	table := terminal.Columns(s, "STATE", "NUMBER", "FOR", "PROBLEM")
	for _, problem := range p.Problems[:min(onScreen, len(p.Problems))] {
		cells := terminal.Cells(string(problem.State), strconv.Itoa(problem.Count), lasting(p.Time, problem), terminal.ASCII(sentence(problem)))
		cells[0].Colour = colour(problem.State)
		table.Add(cells...)
		table.Add(terminal.Cells("", "", "", terminal.ASCII(problem.More))...)
	}
	text := table.Bytes()
	if more := len(p.Problems) - onScreen; more > 0 {
		text = fmt.Appendf(text, "+%d more: -o json has all\n", more)
	}
	return text
}

// sentence describes a problem, with examples of the objects that have it.
func sentence(p picture.Problem) string {
	text := fmt.Sprintf("%s (%s): ", p.Text, p.Code)
	if p.Of == picture.OfProxy {
		text += "CorporateProxy "
	}
	text += strings.Join(p.Examples, ", ")
	if more := p.Count - len(p.Examples); more > 0 {
		text += fmt.Sprintf(", +%d", more)
	}
	return text
}

func age(now metav1.Time, since *metav1.Time) string {
	if since.IsZero() {
		return "-"
	}
	return duration.HumanDuration(max(now.Sub(since.Time), 0))
}

// lasting returns how long a problem has been there, as far as a condition says it.
func lasting(now metav1.Time, problem picture.Problem) string {
	if problem.Since.IsZero() {
		return "-"
	}
	return diagnosis.Lasting(problem.Code) + age(now, problem.Since)
}

func proxiesText(s terminal.Style, p picture.Picture) []byte {
	if len(p.Proxies) == 0 {
		return nil
	}
	table := terminal.Columns(s, "CORPORATEPROXY", "CLUSTERS", "REVISION", "PHASE", "WAVE", "UPDATED", "FAILED", "MORE")
	for _, proxy := range p.Proxies {
		cells := terminal.Cells(proxy.Name, number(proxy.Clusters), "-", phase(proxy), terminal.Dash(proxy.Wave), "-", "-", proxy.More)
		if proxy.Revision > 0 {
			cells[2].Text, cells[5].Text, cells[6].Text = strconv.FormatInt(proxy.Revision, 10), fmt.Sprintf("%d/%d", proxy.Updated, proxy.Of), number(proxy.Failed)
		}
		switch proxy.Phase {
		case rollout.Completed:
			cells[3].Colour = terminal.Green
		case rollout.Halted, rollout.Stalled:
			cells[3].Colour = terminal.Red
		case rollout.Waiting, rollout.Underway:
		}
		table.Add(cells...)
	}
	return table.Bytes()
}

// phase has the reason where the word does not say it.
func phase(p picture.Proxy) string {
	if p.Reason == "" || p.Reason == string(p.Phase) {
		return terminal.Dash(string(p.Phase))
	}
	return string(p.Phase) + "/" + p.Reason
}

func number(n int32) string { return strconv.Itoa(int(n)) }

// behindNames are the plural names of the counts, by picture.Behind.What.
var behindNames = map[string]string{
	picture.OutdatedMachines: "machines with older settings", picture.OutdatedPools: "MachinePools with older instances",
	picture.OldPods: "pods with older credentials", picture.OldRelays: "relays with older credentials", picture.OldCopies: "namespaces with older credentials",
}

func behindText(s terminal.Style, p picture.Picture) []byte {
	if len(p.Behind) == 0 {
		return nil
	}
	table := terminal.Columns(s, "BEHIND", "NUMBER", "OF", "CLUSTERS", "FOR", "MORE")
	for _, b := range p.Behind {
		cells := terminal.Cells(behindNames[b.What], strconv.Itoa(b.Number), dashed(b.Of), dashed(b.Clusters), age(p.Time, b.Since), b.More)
		cells[1].Colour = terminal.Yellow
		table.Add(cells...)
	}
	return table.Bytes()
}

func dashed(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

// soon is how long before its end a certificate is marked, as the condition TrustedCA does it.
const soon = 30 * 24 * time.Hour

func expiresText(s terminal.Style, p picture.Picture) []byte {
	if len(p.Expires) == 0 {
		return nil
	}
	table := terminal.Columns(s, "EXPIRES", "AT", "IN", "MORE")
	for _, e := range p.Expires[:min(onScreen, len(p.Expires))] {
		cells := terminal.Cells(terminal.Said(e.What, 120), e.Time.UTC().Format(time.RFC3339), timeLeft(p.Time, e.Time), terminal.ASCII(e.More))
		switch rest := e.Time.Sub(p.Time.Time); {
		case rest <= 0:
			cells[2].Colour = terminal.Red
		case rest <= soon:
			cells[2].Colour = terminal.Yellow
		}
		table.Add(cells...)
	}
	text := table.Bytes()
	if more := len(p.Expires) - onScreen; more > 0 {
		text = fmt.Appendf(text, "and %d more: -o json has all\n", more)
	}
	return text
}

// timeLeft returns how long it is until end, or "expired".
func timeLeft(now, end metav1.Time) string {
	if rest := end.Sub(now.Time); rest > 0 {
		return duration.HumanDuration(rest)
	}
	return "expired"
}
