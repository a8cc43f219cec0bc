// Package diagnosis describes in sentences the problems of a cluster's proxy settings, since when, and who must do
// what. It judges objects that were read, and reads nothing itself.
package diagnosis

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// Severity is how bad it is.
type Severity string

// The severities, the worst first.
const (
	Error   Severity = "Error"   // the cluster does not get its settings, or they do not work
	Warning Severity = "Warning" // it has settings that work, and somebody must do something
	Unknown Severity = "Unknown" // nobody can tell
	Info    Severity = "Info"    // it continues by itself, or is as it was asked for
)

// Compare sorts the worst first.
func Compare(a, b Severity) int { return slices.Index(severities, a) - slices.Index(severities, b) }

var severities = []Severity{Error, Warning, Unknown, Info}

// Sentence is one thing that is to be said.
type Sentence struct {
	Severity Severity     `json:"severity"`
	Code     string       `json:"code"`            // the condition's type, and its reason: Ready/InvalidProxy
	Text     string       `json:"text"`            // what is wrong
	Since    *metav1.Time `json:"since,omitempty"` // since when
	Do       string       `json:"do,omitempty"`    // who must do what; empty: nobody must do anything
	General  string       `json:"-"`               // the text as far as it is true of other clusters, too
}

// Lasting says what has lasted since the time of a code: a condition keeps its time while its reason changes.
func Lasting(code string) string {
	if strings.HasPrefix(code, v1alpha1.ConditionReady+"/") {
		return "not Ready "
	}
	return ""
}

// Diagnosis is all that is to be said of a cluster.
type Diagnosis struct {
	Cluster     string     `json:"cluster"` // namespace/name
	Verdict     Verdict    `json:"verdict"`
	Sentences   []Sentence `json:"sentences"` // the worst first
	LookedAt    []string   `json:"lookedAt"`
	NotLookedAt []string   `json:"notLookedAt,omitempty"` // each with the reason
}

// Verdict is all of it in a word.
type Verdict string

// The verdicts.
const (
	NothingWrong Verdict = "NothingWrong"
	Wrong        Verdict = "Wrong"
	CannotTell   Verdict = "CannotTell"
)

// Source is where something is read.
type Source string

// The sources.
const (
	SourceOperator Source = "Lease of the operator"
	SourceCluster  Source = "Cluster"
	SourceReport   Source = "ProxyReport"
	SourceProxy    Source = "CorporateProxy"
	SourceSecrets  Source = "metadata of both Secrets"
	SourceMachines Source = "metadata of the Machines"
)

// Lease is the operator's lease, which it renews while it runs.
type Lease struct {
	Holder   string // empty: the last one has gone
	Renewed  time.Time
	Duration time.Duration
}

// Input holds the objects that were read. A nil object does not exist, unless Unread says why it could not be read.
type Input struct {
	Now               time.Time
	Namespace, Name   string
	OperatorNamespace string
	Lease             *Lease
	Cluster           *metav1.ObjectMeta
	Report            *v1alpha1.ProxyReport
	Proxy             *v1alpha1.CorporateProxy // the one that the report names, if any
	Secrets           []metav1.ObjectMeta
	Machines          []metav1.ObjectMeta
	Unread            map[Source]string // why something could not be read
}

// Judge returns the diagnosis of one cluster.
func Judge(in Input) Diagnosis {
	j := newJudge(in)
	for _, step := range []func(){j.lease, j.existence, j.report, j.secrets, j.machines, j.proxy, j.inside, j.findings} {
		step()
	}
	j.sources()
	d := Diagnosis{Cluster: in.Namespace + "/" + in.Name, Verdict: NothingWrong, Sentences: j.worstFirst(), LookedAt: j.looked, NotLookedAt: j.notLooked}
	if len(d.Sentences) > 0 {
		switch d.Sentences[0].Severity {
		case Error, Warning:
			d.Verdict = Wrong
		case Unknown:
			d.Verdict = CannotTell
		case Info:
		}
	}
	return d
}

type judge struct {
	Input
	status            v1alpha1.ProxyReportStatus // of the report, if there is one
	words             *strings.Replacer
	said              []Sentence
	looked, notLooked []string
	stopped           bool // the operator does not run
}

func newJudge(in Input) *judge {
	j := &judge{Input: in, said: []Sentence{}, looked: []string{}} // as JSON, none is a list
	if in.Report != nil {
		j.status = in.Report.Status
	}
	j.words = strings.NewReplacer(
		"{namespace}", in.Namespace, "{name}", in.Name, "{operator}", in.OperatorNamespace, "{proxy}", j.proxyName(), "{credentials}", j.credentials(),
	)
	return j
}

func (j *judge) worstFirst() []Sentence {
	slices.SortStableFunc(j.said, func(a, b Sentence) int { return Compare(a.Severity, b.Severity) })
	return j.said
}

func (j *judge) proxyName() string {
	if j.Proxy != nil {
		return j.Proxy.Name
	}
	return cmp.Or(j.status.ProxyName, "NAME")
}

// credentials names the Secret with the credentials that clusters get.
func (j *judge) credentials() string {
	if j.Proxy != nil {
		source := j.Proxy.Spec.Source
		ref := source.ValuesRef
		if source.URL != nil {
			ref = source.URL.CredentialsRef
		}
		switch {
		case ref != nil && ref.Next != nil:
			return "Secret " + ref.Next.Name + " (next)"
		case ref != nil:
			return "Secret " + ref.Name
		}
	}
	return "the Secret that it names"
}

// say adds a sentence. A text and what to do have {placeholders}; what others wrote stands in detail.
func (j *judge) say(severity Severity, code, text, detail string, since *metav1.Time, do string) {
	text = j.words.Replace(text)
	general := text
	if detail != "" {
		text += ": " + detail
	}
	j.said = append(j.said, Sentence{Severity: severity, Code: code, Text: text, Since: since, Do: j.words.Replace(do), General: general})
}

// unread reports whether nobody knows if something is there.
func (j *judge) unread(source Source) bool { return j.Unread[source] != "" }

// sources lists which objects were looked at, and which were not.
func (j *judge) sources() {
	for _, source := range []Source{SourceOperator, SourceCluster, SourceReport, SourceProxy, SourceSecrets, SourceMachines} {
		switch {
		case j.unread(source):
			j.notLooked = append(j.notLooked, string(source)+": "+j.Unread[source])
		case source == SourceProxy && j.Proxy == nil:
			j.notLooked = append(j.notLooked, "CorporateProxy: the report names none")
		default:
			j.looked = append(j.looked, string(source))
		}
	}
	if j.observed() {
		j.looked = append(j.looked, "status.observed of the ProxyReport")
		return
	}
	j.notLooked = append(j.notLooked,
		"whether programs in the cluster get out, and have the newest password: nobody observes it. Set spec.probes of the CorporateProxy, probe.enabled of the chart fairlead-policies, and observe.enabled of the chart fairlead")
}
