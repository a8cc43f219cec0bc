package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ProxyReportStatus is what came out for one cluster.
type ProxyReportStatus struct {
	// mode: Proxied, Direct (the owner's choice) or Unproxied (no CorporateProxy
	// selects the cluster).
	// +optional
	Mode string `json:"mode,omitempty"`

	// proxyName is the CorporateProxy in use.
	// +optional
	ProxyName string `json:"proxyName,omitempty"`

	// form in which the list is written; the cluster keeps it until its
	// CorporateProxy asks for another.
	// +optional
	Form string `json:"form,omitempty"`

	// cluster that the report is about.
	// +optional
	Cluster ReportedCluster `json:"cluster,omitempty,omitzero"`

	// noProxy is the merged list as it stands in the Secrets.
	// +optional
	NoProxy ReportedNoProxy `json:"noProxy,omitempty,omitzero"`

	// entries are those derived from the cluster or added by its ProxyOverride,
	// with their source. Entries of the installation are only counted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Entries []ReportedEntry `json:"entries,omitempty"`

	// entryCounts is the number of entries by source.
	// +optional
	EntryCounts map[string]int32 `json:"entryCounts,omitempty"`

	// refusals are the entries that cannot be used, at most 20 of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Refusals []string `json:"refusals,omitempty"`

	// refusalCount is the number of all refused entries.
	// +optional
	RefusalCount int32 `json:"refusalCount,omitempty"`

	// findings are what is wrong with the list or the proxy, or read differently by
	// different clients; the worst first, at most 20.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Findings []ReportedFinding `json:"findings,omitempty"`

	// facts were read from the infrastructure object.
	// +optional
	Facts *ReportedFacts `json:"facts,omitempty"`

	// secrets records the last write of each Secret. The operator cannot read
	// them; this is how it knows whether a write is due.
	// +optional
	// +listType=map
	// +listMapKey=role
	Secrets []SecretRecord `json:"secrets,omitempty"`

	// configMap records the last write of the ConfigMap, where there is one.
	// +optional
	ConfigMap *SecretRecord `json:"configMap,omitempty"`

	// nodes says how many machines were built before what they are told changed.
	// +optional
	Nodes *ReportedNodes `json:"nodes,omitempty"`

	// rollout is there where machines are, or are to be, replaced by Fairlead.
	// +optional
	Rollout *ReportedRollout `json:"rollout,omitempty"`

	// handledRequest is the last value of the annotation fairlead.io/reapply that
	// was acted upon.
	// +optional
	HandledRequest string `json:"handledRequest,omitempty"`

	// conditions: Ready; NameTaken, Contended, Paused, FactsUnread and MachinesOutdated
	// while they are true.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ReportedCluster identifies the Cluster and the state of it that was read.
type ReportedCluster struct {
	// uid of the Cluster.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// generation of the Cluster that the report is about.
	// +optional
	Generation int64 `json:"generation,omitempty"`
}

// ReportedNoProxy is the rendered list, by audience.
type ReportedNoProxy struct {
	// any is the list in the Helm values. Left out when it is longer than 8 KiB.
	// +optional
	Any string `json:"any,omitempty"`

	// go is the list in the systemd drop-ins. Left out when it is longer than 8 KiB.
	// +optional
	Go string `json:"go,omitempty"`

	// entries is the number of entries.
	// +optional
	Entries int32 `json:"entries"`

	// digest is the SHA-256 of the list in the drop-ins.
	// +optional
	Digest string `json:"digest,omitempty"`
}

// ReportedEntry is one entry and where it comes from.
type ReportedEntry struct {
	// value as it is rendered.
	Value string `json:"value"`

	// source: ServiceDomain, ServiceCIDR, PodCIDR, ControlPlaneEndpoint, Cluster
	// or Builtin.
	Source string `json:"source"`

	// field that it was read from.
	// +optional
	Field string `json:"field,omitempty"`
}

// ReportedFacts is what the infrastructure object says about its network.
type ReportedFacts struct {
	// version of the table of providers that the facts were read by.
	// +optional
	Version string `json:"version,omitempty"`

	// source of the row: the built-in table, or a user's ConfigMap.
	// +optional
	Source string `json:"source,omitempty"`

	// kind and name of the infrastructure object.
	Kind string `json:"kind"`
	Name string `json:"name"`

	// values by name, as networks, addresses or domains.
	// +optional
	Values map[string][]string `json:"values,omitempty"`

	// metadata and domains are what the table says of every cluster of this kind.
	// +optional
	// +listType=atomic
	Metadata []string `json:"metadata,omitempty"`
	// +optional
	// +listType=atomic
	Domains []string `json:"domains,omitempty"`

	// missing names required facts that are not known yet.
	// +optional
	// +listType=atomic
	Missing []string `json:"missing,omitempty"`

	// problems names what could not be understood or read.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Problems []string `json:"problems,omitempty"`
}

// SecretRecord is the operator's memory of one Secret, or of the ConfigMap.
type SecretRecord struct {
	// role: cluster-values or systemd-proxy; of the ConfigMap, cluster-values-configmap.
	Role string `json:"role"`

	// name of what was written.
	Name string `json:"name"`

	// uid of what was written.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// hmac is a keyed hash of what was written. The key is in the operator's
	// namespace.
	// +optional
	HMAC string `json:"hmac,omitempty"`

	// written is when the content last changed, by the API server's clock.
	// +optional
	Written *metav1.Time `json:"written,omitempty"`

	// ownedByCluster: it was last written with the Cluster as its second owner.
	// +optional
	OwnedByCluster bool `json:"ownedByCluster,omitempty"`

	// reverts counts how often in a row somebody had undone the last write when
	// it was applied again.
	// +optional
	Reverts int32 `json:"reverts,omitempty"`

	// rival is the field manager that undid it, where the API server says so.
	// +optional
	Rival string `json:"rival,omitempty"`
}

// ReportedNodes counts machines against the last change of what they are told: the
// proxy's URLs, the entries of the lists whatever their order, the certificates,
// and what becomes of static pods.
type ReportedNodes struct {
	// hmac is a keyed hash of what machines are told.
	// +optional
	HMAC string `json:"hmac,omitempty"`

	// since is the first second after the last change of it, by the API server's
	// clock. A Machine that is older is outdated. Absent while nothing has changed
	// since the Secret was first written.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// machines of the cluster, and those of them that are outdated. Machines that
	// are being deleted do not count.
	Machines int32 `json:"machines"`
	Outdated int32 `json:"outdated"`

	// machinePools of the cluster, and those of them that are older than since.
	// They make their bootstrap data anew from time to time, so new instances get
	// the new settings; existing ones keep the old.
	// +optional
	MachinePools int32 `json:"machinePools,omitempty"`
	// +optional
	OutdatedMachinePools int32 `json:"outdatedMachinePools,omitempty"`

	// owners of the machines, those with outdated ones first; at most 64.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Owners []ReportedOwner `json:"owners,omitempty"`
}

// ReportedOwner is who replaces machines, such as a MachineDeployment. Kind and
// name are empty for machines of nobody.
type ReportedOwner struct {
	// +optional
	Kind string `json:"kind,omitempty"`
	// +optional
	Name string `json:"name,omitempty"`

	// machines of this owner, and those of them that are outdated.
	Machines int32 `json:"machines"`
	Outdated int32 `json:"outdated"`
}

// ReportedRollout is the state of a rollout by Fairlead.
type ReportedRollout struct {
	// after is what spec.rollout.after of the owners is set to. While it is there,
	// this cluster is being rolled, and no other one begins.
	// +optional
	After *metav1.Time `json:"after,omitempty"`

	// started is when the last rollout of this cluster began, by the operator's clock.
	// +optional
	Started *metav1.Time `json:"started,omitempty"`

	// owner, as kind/name, is who was told last. Until all its machines are there,
	// the cluster is being rolled.
	// +optional
	Owner string `json:"owner,omitempty"`

	// skipped is nodes.since of a change that was given up: for too long, machines did
	// not come up. Until the next change, or until they have, others are rolled instead.
	// +optional
	Skipped *metav1.Time `json:"skipped,omitempty"`

	// message says what is being done or waited for, or what is missing.
	// +optional
	Message string `json:"message,omitempty"`
}

// ProxyReport says what came out for one cluster, and why. Name and namespace
// are the Cluster's; the operator alone writes it. It owns both Secrets.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=fairlead
// +kubebuilder:metadata:labels={"clusterctl.cluster.x-k8s.io=","clusterctl.cluster.x-k8s.io/move="}
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.status.mode`
// +kubebuilder:printcolumn:name="Proxy",type=string,JSONPath=`.status.proxyName`
// +kubebuilder:printcolumn:name="Form",type=string,JSONPath=`.status.form`
// +kubebuilder:printcolumn:name="Entries",type=integer,JSONPath=`.status.noProxy.entries`
// +kubebuilder:printcolumn:name="Refused",type=integer,JSONPath=`.status.refusalCount`
// +kubebuilder:printcolumn:name="Outdated",type=integer,JSONPath=`.status.nodes.outdated`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ProxyReport struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Status ProxyReportStatus `json:"status,omitempty,omitzero"`
}

// ProxyReportList is a list of ProxyReports.
//
// +kubebuilder:object:root=true
type ProxyReportList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ProxyReport `json:"items"`
}
