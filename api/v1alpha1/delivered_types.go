package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Delivered is what Cluster API was given to apply in the workload cluster, and what it answered.
type Delivered struct {
	// state: Applied, NotApplied (Cluster API has not, and message says why), or Blocked (nothing is given to it).
	// +kubebuilder:validation:Enum=Applied;NotApplied;Blocked
	State string `json:"state"`

	// hmac of the Secret <cluster>-cluster-values, as in status.secrets, whose settings Cluster API has applied.
	// +optional
	HMAC string `json:"hmac,omitempty"`

	// revision of those settings. Absent where the CorporateProxy has no spec.rollout.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// time when it first applied them.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`

	// since when it has not applied what it was given. Absent while it has.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// message says why it is not applied.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}
