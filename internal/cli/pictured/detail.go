package pictured

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/diagnosis"
	"github.com/fairlead-io/fairlead/internal/core/picture"
	"github.com/fairlead-io/fairlead/noproxy"
)

// detail has the page's data about a cluster that is opened: its report, without keyed hashes and UIDs. The script
// draws the data, and decides nothing.
type detail struct {
	Said     []statement `json:"said,omitempty"`
	Facts    []fact      `json:"facts"`
	Entries  []entry     `json:"entries,omitempty"`
	Note     string      `json:"note,omitempty"` // about the entries
	Tables   []table     `json:"tables,omitempty"`
	Commands []string    `json:"commands"`
}

// statement is a sentence of the diagnosis, with short keys, since a page has thousands.
type statement struct {
	State string `json:"s"`
	Code  string `json:"c"`
	Text  string `json:"t"`
	Since string `json:"f,omitempty"`
	Do    string `json:"d,omitempty"`
}

type fact [2]string // a name and a value

// entry is one of the list, and where it comes from.
type entry [3]string // value, source, field

type table struct {
	Title   string     `json:"title"`
	Heading []string   `json:"heading"`
	Rows    [][]string `json:"rows"`
}

func detailOf(p picture.Picture, c picture.Cluster) detail {
	d := detail{Commands: []string{picture.DoctorOf(c)}}
	for _, s := range c.Said {
		d.Said = append(d.Said, statement{string(stateWord(s.Severity)), s.Code, s.Text, saidSince(p.Time, s), s.Do})
	}
	if c.Report == nil {
		return d
	}
	d.Commands = append(d.Commands, fmt.Sprintf("kubectl describe proxyreport %s --namespace %s", c.Name, c.Namespace))
	status := &c.Report.Status
	d.Facts = factsOf(status)
	d.Entries, d.Note = entriesOf(status)
	for _, t := range []table{conditionsOf(p.Time, status), ownersOf(status), insideOf(status), findingsOf(status)} {
		if len(t.Rows) > 0 {
			d.Tables = append(d.Tables, t)
		}
	}
	return d
}

func stateWord(severity diagnosis.Severity) picture.State {
	if severity == diagnosis.Info {
		return picture.Waiting
	}
	return picture.State(severity)
}

// factsOf says who decides what, in the order in which people ask.
func factsOf(status *v1alpha1.ProxyReportStatus) []fact {
	var all []fact
	add := func(name, value string) {
		if value != "" {
			all = append(all, fact{name, value})
		}
	}
	add("Mode", modes[status.Mode])
	add("Proxy decided by", named("CorporateProxy", status.ProxyName))
	add("List decided by", deciders(status))
	add("Form of the list", status.Form)
	if r := status.Revision; r != nil {
		add("Revision", fmt.Sprintf("%d of CorporateProxy %s", r.Number, r.Proxy))
	}
	if f := status.Facts; f != nil {
		add("Facts read from", f.Kind+" "+f.Name)
	}
	if n := status.Nodes; n != nil {
		text := fmt.Sprintf("%d, of which %d are outdated", n.Machines, n.Outdated)
		if n.Since != nil && n.Outdated > 0 {
			text += " since " + clock(*n.Since)
		}
		add("Machines", text)
	}
	if r := status.Rollout; r != nil {
		add("Replacement", r.Message)
	}
	return all
}

var modes = map[string]string{
	"Proxied": "Proxied", "Direct": "Direct: the cluster's owner took it off the proxy", "Unproxied": "Unproxied: no CorporateProxy selects the cluster", "": "",
}

func named(kind, name string) string {
	if name == "" {
		return ""
	}
	return kind + " " + name
}

// deciders are who has entries in the list, and how many.
func deciders(status *v1alpha1.ProxyReportStatus) string {
	counts := map[string]int32{}
	for source, n := range status.EntryCounts {
		counts[origin(source, status)] += n
	}
	var parts []string
	for _, who := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s (%d)", who, counts[who]))
	}
	return strings.Join(parts, ", ")
}

// origin names the object that entries of a source come from.
func origin(source string, status *v1alpha1.ProxyReportStatus) string {
	switch noproxy.Layer(source) {
	case noproxy.LayerServiceDomain, noproxy.LayerServiceCIDR, noproxy.LayerPodCIDR, noproxy.LayerEndpoint:
		return "Cluster"
	case noproxy.LayerInstallation:
		return named("CorporateProxy", status.ProxyName)
	case noproxy.LayerCluster:
		return "ProxyOverride"
	case noproxy.LayerProvider:
		return "provider facts"
	case noproxy.LayerBuiltin:
		return "Fairlead"
	}
	return source
}

// entriesOf returns the list with where each entry comes from. The report names those that are the cluster's own, by their
// values; forms of the list spell some in several ways. The rest is the installation's.
func entriesOf(status *v1alpha1.ProxyReportStatus) ([]entry, string) {
	if status.NoProxy.Any == "" {
		var all []entry
		for _, e := range status.Entries {
			all = append(all, entry{e.Value, origin(e.Source, status), e.Field})
		}
		if n := int(status.NoProxy.Entries); n > len(all) {
			return all, fmt.Sprintf("The list has %d entries, and is too long for the report.", n)
		}
		return all, ""
	}
	own := map[string]v1alpha1.ReportedEntry{}
	for _, e := range status.Entries {
		own[bare(e.Value)] = e
	}
	var all []entry
	for value := range strings.SplitSeq(status.NoProxy.Any, ",") {
		e, ok := own[bare(value)]
		if !ok {
			e, ok = network(status.Entries, value)
		}
		switch {
		case !ok:
			all = append(all, entry{value, origin(string(noproxy.LayerInstallation), status), ""})
		case bare(e.Value) != bare(value):
			all = append(all, entry{value, origin(e.Source, status), "in " + e.Value + ": " + e.Field})
		default:
			all = append(all, entry{value, origin(e.Source, status), e.Field})
		}
	}
	return all, ""
}

// bare returns an entry without the dots by which forms differ.
func bare(value string) string { return strings.TrimSuffix(strings.TrimPrefix(value, "."), ".") }

// network returns the entry with a network that an address is in: a form lists such addresses for clients that know no networks.
func network(entries []v1alpha1.ReportedEntry, value string) (v1alpha1.ReportedEntry, bool) {
	address, err := netip.ParseAddr(value)
	if err != nil {
		return v1alpha1.ReportedEntry{}, false
	}
	for _, e := range entries {
		if prefix, err := netip.ParsePrefix(e.Value); err == nil && prefix.Contains(address) {
			return e, true
		}
	}
	return v1alpha1.ReportedEntry{}, false
}

func conditionsOf(now metav1.Time, status *v1alpha1.ProxyReportStatus) table {
	t := table{Title: "Conditions", Heading: []string{"type", "status", "reason", "since", "message"}}
	for _, c := range status.Conditions {
		t.Rows = append(t.Rows, []string{c.Type, string(c.Status), c.Reason, sinceText(now, &c.LastTransitionTime), c.Message})
	}
	return t
}

func ownersOf(status *v1alpha1.ProxyReportStatus) table {
	t := table{Title: "Machines", Heading: []string{"owner", "machines", "outdated"}}
	if status.Nodes == nil {
		return t
	}
	for _, o := range status.Nodes.Owners {
		name := "(none)"
		if o.Kind != "" {
			name = o.Kind + "/" + o.Name
		}
		t.Rows = append(t.Rows, []string{name, number(o.Machines), number(o.Outdated)})
	}
	return t
}

// insideOf returns the table of observations in the workload cluster.
func insideOf(status *v1alpha1.ProxyReportStatus) table {
	t := table{Title: "Seen inside the cluster", Heading: []string{"what", "seen"}}
	o := status.Observed
	if o == nil {
		return t
	}
	add := func(what, seen string) {
		if seen != "" {
			t.Rows = append(t.Rows, []string{what, seen})
		}
	}
	if !o.Time.IsZero() {
		add("at", clock(o.Time))
	}
	add("egress", o.Egress)
	add("what failed", o.Message)
	if o.Targets > 0 {
		add("targets", fmt.Sprintf("%d, of which %d failed", o.Targets, o.FailedTargets))
	}
	if o.Nodes != nil {
		add("nodes", fmt.Sprintf("%d, of which %d get out and %d do not", o.Nodes.Total, o.Nodes.Verified, o.Nodes.Failed))
	}
	add("not seen", strings.Join(o.Unseen, ", "))
	return t
}

func findingsOf(status *v1alpha1.ProxyReportStatus) table {
	t := table{Title: "Findings", Heading: []string{"severity", "code", "message"}}
	for _, f := range status.Findings {
		t.Rows = append(t.Rows, []string{f.Severity, f.Code, f.Message})
	}
	for _, refusal := range status.Refusals {
		t.Rows = append(t.Rows, []string{"Error", "Refused", refusal})
	}
	return t
}

func clock(at metav1.Time) string { return at.UTC().Format(time.RFC3339) }

func saidSince(now metav1.Time, s diagnosis.Sentence) string {
	if s.Since.IsZero() {
		return ""
	}
	return diagnosis.Lasting(s.Code) + "since " + sinceText(now, s.Since)
}

func sinceText(now metav1.Time, since *metav1.Time) string {
	if since.IsZero() {
		return ""
	}
	return clock(*since) + " (" + age(now, since) + ")"
}
