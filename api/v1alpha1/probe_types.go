package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Probes says which destinations clusters must reach, and which not. Each cluster's own endpoint is tried, too: directly.
type Probes struct {
	// mustReach are destinations that clusters reach.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	MustReach []ProbeTarget `json:"mustReach,omitempty"`

	// mustNotReach are destinations that clusters do not reach. With route Direct, not around the proxy.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	MustNotReach []ProbeTarget `json:"mustNotReach,omitempty"`

	// beforeChange is whether the URLs and credentials of a new revision are tried in the management cluster before the
	// first cluster gets it. Auto tries them if spec.rollout is set and the chart's preflight is enabled. Never does not.
	// +optional
	// +kubebuilder:default=Auto
	// +kubebuilder:validation:Enum=Auto;Never
	BeforeChange string `json:"beforeChange,omitempty"`
}

// ProbeTarget is a destination.
type ProbeTarget struct {
	// url is where to: https://host, http://host or tcp://host:port; the first two with a port and a path if they need one.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^(https?|tcp)://[^@\s]+$`
	URL string `json:"url"`

	// route is the way that counts: Proxied, Direct, or either one if unset.
	// +optional
	// +kubebuilder:validation:Enum=Proxied;Direct
	Route string `json:"route,omitempty"`

	// clusterSelector selects Clusters by their labels, among those of the CorporateProxy. If unset, all.
	// +optional
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`
}
