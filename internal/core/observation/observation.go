// Package observation decides what status.observed of a ProxyReport says: from the result that a workload cluster publishes
// and from what was said before. It also decides the conditions that follow from it. Whoever rules a workload cluster writes
// what they want into its result: nothing of it gets further than its bounds.
package observation

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

// The bounds. Those of lists and messages are the bounds of the CRD's schema.
const (
	maxCredentials = 20
	maxUnseen      = 10
	maxMessage     = 1024
	maxText        = 200
	maxNamed       = 3       // targets or nodes in a message
	maxCount       = 100_000 // sums over a fleet fit into 32 bits
	minPeriod      = time.Second
	maxPeriod      = time.Hour
	maxAhead       = time.Minute // of another clock
)

// Parse reads a result.
func Parse(text []byte) (probe.Result, error) {
	var result probe.Result
	switch err := json.Unmarshal(text, &result); {
	case len(text) > probe.MaxResultBytes:
		return result, fmt.Errorf("the result has more than %d bytes", probe.MaxResultBytes)
	case err != nil:
		return result, errors.New("the result is not the JSON that it should be") // the error would show what is in it
	case result.Version != 1:
		return result, fmt.Errorf("the result has version %d, and this program reads version 1", result.Version)
	case result.Time.IsZero():
		return result, errors.New("the result has no time")
	}
	return result, nil
}

// Observed returns the status for a result that was read now. last is the status before, nil if there was none; period
// is the time between two looks at the cluster.
func Observed(result probe.Result, last *v1alpha1.Observed, period time.Duration, now time.Time) *v1alpha1.Observed {
	if result.Time.Sub(now) > maxAhead {
		return Unreached("the clock of the probe is ahead: nobody knows how old its result is", last, period)
	}
	o := &v1alpha1.Observed{Time: seconds(result.Time, now)}
	if own, err := time.ParseDuration(result.Period); err == nil {
		period = max(period, own)
	}
	period = min(max(period, minPeriod), maxPeriod)
	o.Period = &metav1.Duration{Duration: period}
	o.Since = since(o.Time, result.Since, last, period, now)
	o.Unseen, o.Revision = unseen(result.Unseen), revision.ParseIdentity(result.Revision)
	o.Credentials = credentials(result.Credentials, o, now)
	if n := result.Nodes; n != nil {
		o.Nodes = &v1alpha1.ObservedNodes{Total: count(n.Total), Verified: count(n.Verified), Failed: count(n.Failed)}
	}
	egress(result, o)
	o.LastVerifiedTime = lastVerified(o, last)
	if now.Sub(o.Time.Time) > 2*period {
		o.Egress, o.Message = v1alpha1.EgressUnknown, "no new result for two periods: the probe of the cluster does not run"
	}
	return o
}

// Unreached returns the status of a cluster whose result could not be read, and why. The time remains that of the last
// observation: a failure to read is not a new observation.
func Unreached(why string, last *v1alpha1.Observed, period time.Duration) *v1alpha1.Observed {
	o := last.DeepCopy()
	if o == nil {
		o = &v1alpha1.Observed{}
	}
	if o.Time.IsZero() || o.Period == nil {
		o.Period = &metav1.Duration{Duration: min(max(period, minPeriod), maxPeriod)}
	}
	o.LastVerifiedTime = lastVerified(o, last)
	o.Egress, o.Message = v1alpha1.EgressUnknown, shorten(why, maxMessage)
	return o
}

// lastVerified returns when egress was last Verified and not Failed since: now, or by what was said before, also by a version that did
// not say when.
func lastVerified(now, last *v1alpha1.Observed) *metav1.Time {
	switch {
	case now.Egress == v1alpha1.EgressVerified:
		return now.Time.DeepCopy()
	case now.Egress == v1alpha1.EgressFailed, last == nil:
		return nil
	case last.LastVerifiedTime == nil && last.Egress == v1alpha1.EgressVerified:
		return last.Time.DeepCopy()
	}
	return last.LastVerifiedTime
}

// since returns when observations began without a gap, neither of our looks nor of the results.
func since(at metav1.Time, results time.Time, last *v1alpha1.Observed, period time.Duration, now time.Time) *metav1.Time {
	began := at
	if last != nil && last.Since != nil && !last.Time.IsZero() && !at.Before(&last.Time) && at.Sub(last.Time.Time) <= 2*period {
		began = *last.Since
	}
	if own := seconds(results, now); began.Before(&own) {
		began = own
	}
	if at.Before(&began) {
		began = at
	}
	return &began
}

// seconds returns a time as a status has it. There is none in the future.
func seconds(at, now time.Time) metav1.Time {
	if at.After(now) {
		at = now
	}
	return metav1.NewTime(at.UTC().Truncate(time.Second))
}

func count(n int) int32 { return int32(min(max(n, 0), maxCount)) }

// egress says what of the targets and nodes holds.
func egress(result probe.Result, o *v1alpha1.Observed) {
	var failed, unknown []string
	for _, t := range result.Targets {
		text := printable(t.URL) + ": " + reason(t.Reason)
		switch t.State {
		case probe.Held:
		case probe.Failed:
			failed = append(failed, text)
		default:
			unknown = append(unknown, text)
		}
	}
	o.Targets, o.FailedTargets = count(len(result.Targets)), count(len(failed))
	var nodes []string
	if n := result.Nodes; n != nil && n.Failed > 0 {
		nodes = append(nodes, fmt.Sprintf("%d nodes of %d do not get out%s", o.Nodes.Failed, o.Nodes.Total, worst(n.Worst)))
	}
	switch {
	case len(failed)+len(nodes) > 0:
		o.Egress, o.Message = v1alpha1.EgressFailed, join(slices.Concat(some(failed), nodes))
	case len(unknown) > 0:
		o.Egress, o.Message = v1alpha1.EgressUnknown, join(some(unknown))
	case result.Nodes != nil && result.Nodes.Pending > 0:
		o.Egress, o.Message = v1alpha1.EgressUnknown, fmt.Sprintf("nodes that were not tried with these settings lately: %d of %d", count(result.Nodes.Pending), o.Nodes.Total)
	case len(result.Targets) == 0:
		o.Egress, o.Message = v1alpha1.EgressUnknown, "no target was tried"
	case !slices.ContainsFunc(result.Targets, mayNeedTheProxy):
		o.Egress, o.Message = v1alpha1.EgressUnknown, "no target goes through the proxy: list one in spec.probes.mustReach"
	default:
		o.Egress = v1alpha1.EgressVerified
	}
}

// mayNeedTheProxy reports whether a target may need the proxy. One that is reached directly proves nothing about it.
func mayNeedTheProxy(t probe.TargetResult) bool {
	return t.Expect == probe.Reachable && t.Route != probe.Direct
}

// worst names nodes that failed.
func worst(nodes []probe.Node) string {
	var names []string
	for _, n := range nodes {
		if n.State == probe.Failed {
			names = append(names, printable(n.Name))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(some(names), ", ") + ")"
}

// some returns the first in alphabetical order, so that the same failures make the same text, and how many more there are.
func some(all []string) []string {
	slices.Sort(all)
	if more := len(all) - maxNamed; more > 0 {
		all = append(all[:maxNamed:maxNamed], fmt.Sprintf("%d more", more))
	}
	return all
}

func join(parts []string) string { return shorten(strings.Join(parts, "; "), maxMessage) }

// reason is one of those that there are: the message of a target may change with each attempt, and somebody else wrote it.
func reason(r probe.Reason) string {
	if r == "" || len(r) > 40 || strings.ContainsFunc(string(r), func(c rune) bool { return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') }) {
		return "no reason is given"
	}
	switch r { // what is in the logs of the proxy, too
	case probe.CredentialsRefused:
		return string(r) + " (407)"
	case probe.ProxyForbids:
		return string(r) + " (403)"
	}
	return string(r)
}

func unseen(all []string) []string {
	var texts []string
	for _, text := range all[:min(len(all), maxUnseen-3)] { // there is room for the number, and two of ours
		texts = append(texts, printable(text))
	}
	if more := len(all) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return texts
}

// printable returns a text of somebody else's, in one line and without user information.
func printable(text string) string {
	text = strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return -1
		}
		return c
	}, text[:min(len(text), 2*maxText)])
	if strings.Contains(text, "@") {
		return "(hidden: it has user information)"
	}
	return shorten(text, maxText)
}

func shorten(text string, most int) string {
	const cut = "…"
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(cut)], "") + cut
}
