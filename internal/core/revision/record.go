package revision

import (
	"encoding/json"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// Record is the content of the annotation fairlead.io/revision of a ProxyReport: the revision that the cluster is to
// have, since when, and the one before. It is written before the Secrets are, and remains when the status is lost.
type Record struct {
	v1alpha1.ReportedRevision

	// Since is when this was decided, by the operator's clock.
	Since metav1.Time `json:"since"`

	// Before is the revision of the same CorporateProxy that the cluster had; nil if it had none, or an unknown one. A newer
	// one was rejected.
	Before *Before `json:"before,omitempty"`

	// Tolerated: a failure of the cluster halts no rollout. It failed before already, or only its ProxyOverride or its
	// provider's facts changed.
	Tolerated bool `json:"tolerated,omitempty"`

	// Verified: the cluster's probes held before this was decided, and its rollout waits until they hold again.
	Verified bool `json:"verified,omitempty"`

	// Proven is since when that is known. What nobody can tell after that is not waited for.
	Proven *metav1.Time `json:"proven,omitempty"`

	// Settled is since when the cluster's wave does not wait for it any more, though this was decided later: only its own
	// settings changed, or it came to the wave when this soaked already.
	Settled *metav1.Time `json:"settled,omitempty"`
}

// Before names a revision.
type Before struct {
	Number int64  `json:"number"`
	Digest string `json:"digest"`
}

// ParseRecord reads the annotation. An empty one is no record.
func ParseRecord(text string) (Record, bool, error) {
	var r Record
	if text == "" {
		return r, false, nil
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil || r.Proxy == "" || r.Digest == "" || r.Number < 1 || r.Before != nil && r.Before.Number < 1 {
		return Record{}, false, errors.New("annotation " + v1alpha1.RevisionAnnotation + " is not a record of a revision")
	}
	return r, true, nil
}

// String returns the text of the annotation.
func (r Record) String() string {
	text, _ := json.Marshal(r) // strings, numbers and times
	return string(text)
}
