package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReportedRevision is what a rollout changes for a cluster.
type ReportedRevision struct {
	// proxy is the name of the CorporateProxy.
	Proxy string `json:"proxy"`

	// number of its revision.
	Number int64 `json:"number"`

	// digest of the revision, which says that it is the same one after a restore.
	Digest string `json:"digest"`

	// override is a hash of the spec of the cluster's ProxyOverride; empty without one.
	// +optional
	Override string `json:"override,omitempty"`

	// facts is a hash of the provider's facts that the list is made with; empty without any.
	// +optional
	Facts string `json:"facts,omitempty"`
}

// Observed is what was seen inside a workload cluster.
type Observed struct {
	// time of the last observation. Absent while there was none: message says why.
	// +optional
	Time metav1.Time `json:"time,omitempty,omitzero"`

	// since is when observations began that had no gap longer than two periods.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// period between two observations.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	Period *metav1.Duration `json:"period,omitempty"`

	// revision of the settings that the probe tried: the CorporateProxy, its number, and a hash of the cluster's own part. Absent
	// if they do not say.
	// +optional
	// +kubebuilder:validation:MaxLength=300
	Revision string `json:"revision,omitempty"`

	// egress: Verified if every target was reached in the way that is expected, Failed if one was not.
	// +optional
	// +kubebuilder:validation:Enum=Verified;Failed;Unknown
	Egress string `json:"egress,omitempty"`

	// lastVerifiedTime is the time of the last observation by which egress was Verified. Absent if it was Failed since.
	// +optional
	LastVerifiedTime *metav1.Time `json:"lastVerifiedTime,omitempty"`

	// message says what failed.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// targets that were tried.
	// +optional
	Targets int32 `json:"targets,omitempty"`

	// failedTargets are those that were not reached in the way that is expected.
	// +optional
	FailedTargets int32 `json:"failedTargets,omitempty"`

	// nodes that were tried, each through its relay.
	// +optional
	Nodes *ObservedNodes `json:"nodes,omitempty"`

	// unseen is what could not be looked at.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Unseen []string `json:"unseen,omitempty"`

	// credentials that were seen.
	// +optional
	// +listType=map
	// +listMapKey=fingerprint
	// +kubebuilder:validation:MaxItems=20
	Credentials []ObservedCredentials `json:"credentials,omitempty"`
}

// ObservedCredentials says who has or uses credentials inside a workload cluster.
type ObservedCredentials struct {
	// fingerprint is that of status.credentials of the CorporateProxy.
	Fingerprint string `json:"fingerprint"`

	// namespaces with a copy of the Secret that has them.
	// +optional
	Namespaces int32 `json:"namespaces,omitempty"`

	// relays that have them, or have connections that were opened with them.
	// +optional
	Relays int32 `json:"relays,omitempty"`

	// pods that started with them.
	// +optional
	Pods int32 `json:"pods,omitempty"`

	// lastUsed is when somebody was last seen to have or use them.
	// +optional
	LastUsed *metav1.Time `json:"lastUsed,omitempty"`

	// refused: the proxy refused them when they were last used.
	// +optional
	Refused bool `json:"refused,omitempty"`
}

// ObservedNodes counts nodes of a workload cluster.
type ObservedNodes struct {
	// total is the number of nodes with a relay.
	Total int32 `json:"total"`

	// verified nodes reach every target as is expected.
	// +optional
	Verified int32 `json:"verified,omitempty"`

	// failed nodes do not.
	// +optional
	Failed int32 `json:"failed,omitempty"`
}
