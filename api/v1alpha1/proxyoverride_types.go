package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The modes of a ProxyOverride.
const (
	ModeProxied = "Proxied"
	ModeDirect  = "Direct"
)

// ConditionAccepted is that of a ProxyOverride with which the cluster's list is made.
const ConditionAccepted = "Accepted"

// Reasons of the condition Accepted, besides Accepted, and InvalidOverride, NotDelegated and NotSelected, which are those of Ready. It is
// Unknown for the reason for which the cluster has no new list, if that is another.
const (
	ReasonNoCluster = "NoCluster" // False: there is no Cluster of its name
	ReasonEnded     = "Ended"     // False: by its until
)

// ProxyOverrideSpec has settings that differ for one cluster.
//
// +kubebuilder:validation:XValidation:rule="!has(self.until) || (has(self.owner) && size(self.owner) > 0 && has(self.reason) && size(self.reason) > 0)",message="a ProxyOverride with until needs owner and reason"
type ProxyOverrideSpec struct {
	// mode: Direct, where the CorporateProxy delegates it, blanks both Secrets.
	// +optional
	// +kubebuilder:default=Proxied
	// +kubebuilder:validation:Enum=Proxied;Direct
	Mode string `json:"mode,omitempty"`

	// noProxy lists entries to add, as delegation.noProxy of the CorporateProxy allows.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	NoProxy []NoProxyEntry `json:"noProxy,omitempty"`

	// exclude lists derived entries to remove: service domain, CIDRs and endpoint of the Cluster, and the built-in
	// ones.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=300
	Exclude []string `json:"exclude,omitempty"`

	// reason is a note for people.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// owner is whom to ask about the ProxyOverride; a note for people.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Owner string `json:"owner,omitempty"`

	// until is when the ProxyOverride ends. From then on it is as if there were none. Needs owner and reason.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// ProxyOverrideStatus says whether a ProxyOverride is in effect.
type ProxyOverrideStatus struct {
	// conditions: Accepted.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ProxyOverride has the settings of one cluster's owner. Name and namespace are the Cluster's.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=fairlead
// +kubebuilder:metadata:labels={"clusterctl.cluster.x-k8s.io=","clusterctl.cluster.x-k8s.io/move="}
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].message`,priority=1
// +kubebuilder:printcolumn:name="Until",type=string,JSONPath=`.spec.until`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ProxyOverride struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ProxyOverrideSpec   `json:"spec"`
	Status ProxyOverrideStatus `json:"status,omitempty,omitzero"`
}

// ProxyOverrideList is a list of ProxyOverrides.
//
// +kubebuilder:object:root=true
type ProxyOverrideList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ProxyOverride `json:"items"`
}
