package decide

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

// ObservedGeneration returns the generation of the report that its conditions are about.
func ObservedGeneration(s *State) int64 {
	if ready := meta.FindStatusCondition(s.Last().Conditions, v1alpha1.ConditionReady); ready != nil {
		return ready.ObservedGeneration
	}
	return 0
}

// ReapplyRequested reports whether somebody asks for everything to be applied again.
func ReapplyRequested(s *State) bool {
	return s.Report != nil && s.Report.Annotations[v1alpha1.ReapplyAnnotation] != s.Report.Status.HandledRequest
}

// Hold lets the cluster wait.
func (s *State) Hold(condition, reason, message string) { s.Held = &held{condition, reason, message} }

// InDoubt says which of a cluster's objects may hold something else than its report records: its Secrets, and what machines got.
type InDoubt struct{ Secrets, Machines bool }

// Annotation returns an annotation of the report, empty if there is none.
func (s State) Annotation(name string) string {
	if s.Report == nil {
		return ""
	}
	return s.Report.Annotations[name]
}

func (s State) promisedForm() resolve.Form { return inputs.PromisedForm(s.Report, s.Past()) }

// UnknownPromise is that an annotation of the report names what this version does not know.
func (s State) UnknownPromise(annotation, detail string) *resolve.Problem {
	return &resolve.Problem{
		Reason: resolve.ReasonUnknownPromise, Object: "ProxyReport of " + inputs.Cluster(s.Cluster).Object(),
		Field: "metadata.annotations[" + annotation + "]", Detail: detail,
	}
}

// PromisedFacts returns the version of the built-in table by which the cluster gets its facts.
func (s State) PromisedFacts() string { return inputs.PromisedFacts(s.Report, s.Past()) }

// State is everything one decision is made from.
type State struct {
	Cluster      *clusterv1.Cluster // nil: the Cluster is gone
	Report       *v1alpha1.ProxyReport
	Wish         *v1alpha1.ProxyOverride // as it is; nil: there is none
	Override     *v1alpha1.ProxyOverride // in effect; nil: none is
	OverrideEnds []inputs.End            // of the ProxyOverride, also those that were
	OverrideNow  time.Time               // by which it has ended, or not
	NextEnd      time.Time               // when the next entry of the CorporateProxy ends; zero: none does, or the waves tell
	Installation resolve.Installation
	Facts        *v1alpha1.ReportedFacts
	FactsVersion string        // of the built-in table, by which they were looked for
	Unread       inputs.Unread // why they are not those of a new look, which the condition FactsUnread says
	Machines     []Machine
	Management   bool                    // the cluster is the management cluster
	Endpoints    []clusterv1.APIEndpoint // then: the endpoints of all other clusters
	Exists       []string                // what was there where blank Secrets were to be created
	Problem      *resolve.Problem        // found while reading; nothing else is decided then
	Source       string                  // the state of the CorporateProxy and of what it names
	Settles      time.Duration           // until a source that is changing is read, or a grace period is over; 0: neither
	Paced        bool                    // everything is to be applied again, whether it changed or not
	InDoubt      InDoubt
	Record       *revision.Record // what it is to have, where the CorporateProxy has spec.rollout
	Unrecorded   bool             // it has none, since the CorporateProxy has no spec.rollout
	Held         *held            // why nothing is written for now
	Account      *string          // fingerprint of the credentials that its Secrets are to have; nil: not known, or nobody asks
	Now          time.Time
	Fingerprints resolve.Fingerprints // of the credentials, where there are probes
}

// held is a condition of a report: its cluster waits, and its Secrets stay as they are.
type held struct{ Condition, reason, message string }

// Circumstances returns what could change the answer where a cluster cannot be served: the Cluster, what its owner wants, the
// installation, the table of providers, and whoever asks for another attempt.
func (s State) Circumstances() string {
	text := fmt.Sprintf("%s/%d %s", s.Cluster.UID, s.Cluster.Generation, s.Source)
	if s.Override != nil {
		ended, _ := inputs.Ended(s.Override.Spec.NoProxy, s.OverrideNow)
		text += fmt.Sprintf(" %s/%d/%d", s.Override.UID, s.Override.Generation, len(ended))
	}
	if s.Report != nil {
		text += " " + s.Report.Annotations[v1alpha1.ReapplyAnnotation]
	}
	if s.Facts != nil {
		text += " " + s.Facts.Version + s.Facts.Source
	}
	return text
}

// Last returns the status of the report, the zero value if there is none yet.
func (s State) Last() v1alpha1.ProxyReportStatus {
	if s.Report == nil {
		return v1alpha1.ProxyReportStatus{}
	}
	return s.Report.Status
}

// Past returns what the report remembers of the cluster.
func (s State) Past() resolve.Past {
	past := inputs.Past(s.Report)
	if past.Report && len(s.Exists) > 0 {
		past.HadProxy = resolve.NoteHadProxy // somebody may have been built from it
	}
	return past
}
