package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ProxyReportStatus has the settings of one cluster.
type ProxyReportStatus struct {
	// mode: Proxied, Direct (set by the owner) or Unproxied (no CorporateProxy selects the cluster).
	// +optional
	Mode string `json:"mode,omitempty"`

	// proxyName is the CorporateProxy in use.
	// +optional
	ProxyName string `json:"proxyName,omitempty"`

	// form of the list. The cluster keeps it until its CorporateProxy sets another.
	// +optional
	Form string `json:"form,omitempty"`

	// cluster that the report is about.
	// +optional
	Cluster ReportedCluster `json:"cluster,omitempty,omitzero"`

	// noProxy is the merged list in the Secrets.
	// +optional
	NoProxy ReportedNoProxy `json:"noProxy,omitempty,omitzero"`

	// entries derived from the cluster, built in, or added by its ProxyOverride. Entries of the installation are
	// only counted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Entries []ReportedEntry `json:"entries,omitempty"`

	// entryCounts is the number of entries by source.
	// +optional
	EntryCounts map[string]int32 `json:"entryCounts,omitempty"`

	// refusals are entries that are refused.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Refusals []string `json:"refusals,omitempty"`

	// refusalCount is the number of all refused entries.
	// +optional
	RefusalCount int32 `json:"refusalCount,omitempty"`

	// findings are problems of the list or the proxy, the worst first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Findings []ReportedFinding `json:"findings,omitempty"`

	// facts of the infrastructure object; at most 200 values.
	// +optional
	Facts *ReportedFacts `json:"facts,omitempty"`

	// secrets records the last write of each Secret, which the operator cannot read.
	// +optional
	// +listType=map
	// +listMapKey=role
	Secrets []SecretRecord `json:"secrets,omitempty"`

	// configMap records the last write of the ConfigMap.
	// +optional
	ConfigMap *SecretRecord `json:"configMap,omitempty"`

	// nodes counts machines that were created before their settings last changed.
	// +optional
	Nodes *ReportedNodes `json:"nodes,omitempty"`

	// rollout is set if Fairlead replaces machines of the cluster, or is to.
	// +optional
	Rollout *ReportedRollout `json:"rollout,omitempty"`

	// revision that the Secrets have. Absent where the CorporateProxy has no spec.rollout.
	// +optional
	Revision *ReportedRevision `json:"revision,omitempty"`

	// revisionSince is since when they have it. What was observed before says nothing about it.
	// +optional
	RevisionSince *metav1.Time `json:"revisionSince,omitempty"`

	// observed is what was seen inside the workload cluster. Only "fairlead-operator observe" writes it.
	// +optional
	Observed *Observed `json:"observed,omitempty"`

	// delivered is what Cluster API has applied in the workload cluster. Only "fairlead-operator deliver" writes it.
	// +optional
	Delivered *Delivered `json:"delivered,omitempty"`

	// override is what ends of the cluster's ProxyOverride, or has ended. Absent where nothing in it has an end.
	// +optional
	Override *ReportedOverride `json:"override,omitempty"`

	// handledRequest is the last handled value of the annotation fairlead.io/reapply.
	// +optional
	HandledRequest string `json:"handledRequest,omitempty"`

	// conditions: Ready; NameTaken, Contended, Paused, FactsUnread, MachinesOutdated, RevisionUnknown and Held while they are
	// true; EndpointsDirect for the management cluster; EgressVerified and PodsReached once somebody observes the cluster; Delivered once
	// somebody delivers to it.
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

	// generation of the Cluster that the status describes.
	// +optional
	Generation int64 `json:"generation,omitempty"`
}

// ReportedNoProxy is the rendered list, by audience.
type ReportedNoProxy struct {
	// any is the list for any client. Absent if it is longer than 8 KiB.
	// +optional
	Any string `json:"any,omitempty"`

	// go is the list for Go programs, in the drop-ins. Absent if it is longer than 8 KiB.
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
	// value of the entry.
	Value string `json:"value"`

	// source: ServiceDomain, ServiceCIDR, PodCIDR, ControlPlaneEndpoint, ProviderFacts, Cluster (its ProxyOverride) or Builtin.
	Source string `json:"source"`

	// field that it comes from.
	// +optional
	Field string `json:"field,omitempty"`
}

// ReportedFacts is what the infrastructure object says about its network.
type ReportedFacts struct {
	// version of the table of providers.
	// +optional
	Version string `json:"version,omitempty"`

	// source of the row: the built-in table, or a ConfigMap.
	// +optional
	Source string `json:"source,omitempty"`

	// kind of the infrastructure object.
	Kind string `json:"kind"`

	// name of the infrastructure object.
	Name string `json:"name"`

	// values by name.
	// +optional
	Values map[string][]string `json:"values,omitempty"`

	// metadata has the addresses of the row that are valid for all clusters of this kind.
	// +optional
	// +listType=atomic
	Metadata []string `json:"metadata,omitempty"`

	// domains has the private domains of the row.
	// +optional
	// +listType=atomic
	Domains []string `json:"domains,omitempty"`

	// missing names required facts that are not known yet.
	// +optional
	// +listType=atomic
	Missing []string `json:"missing,omitempty"`

	// problems names what could not be read; it never has a value.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Problems []string `json:"problems,omitempty"`
}

// ReportedOverride says until when a ProxyOverride has an effect.
type ReportedOverride struct {
	// ended is when all of it ended.
	// +optional
	Ended *metav1.Time `json:"ended,omitempty"`

	// ends is when it ends, or the next of its entries. Absent if nothing else ends.
	// +optional
	Ends *metav1.Time `json:"ends,omitempty"`

	// what ends then: ProxyOverride, or an entry of its list.
	// +optional
	What string `json:"what,omitempty"`

	// owner of what ends.
	// +optional
	Owner string `json:"owner,omitempty"`

	// reason of what ends.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// SecretRecord is the operator's memory of one Secret, or of the ConfigMap.
type SecretRecord struct {
	// role of the object: cluster-values, systemd-proxy or cluster-values-configmap.
	Role string `json:"role"`

	// name of the object.
	Name string `json:"name"`

	// uid of the object.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// hmac is a keyed hash of what was written. The key is in the operator's namespace.
	// +optional
	HMAC string `json:"hmac,omitempty"`

	// written is when the content last changed, by the API server's clock.
	// +optional
	Written *metav1.Time `json:"written,omitempty"`

	// ownedByCluster: it was written with the Cluster as its second owner.
	// +optional
	OwnedByCluster bool `json:"ownedByCluster,omitempty"`

	// reverts counts the re-applies in a row that found the last write undone.
	// +optional
	Reverts int32 `json:"reverts,omitempty"`

	// rival is the field manager that undid it, if known.
	// +optional
	Rival string `json:"rival,omitempty"`
}

// ReportedNodes counts machines against the last change of their settings: the proxy's URLs, the entries of the lists
// in any order, the certificates, and the setting for static pods.
type ReportedNodes struct {
	// hmac is a keyed hash of the machines' settings.
	// +optional
	HMAC string `json:"hmac,omitempty"`

	// since is the first second after their last change, by the API server's clock. Machines created earlier are
	// outdated. Absent until the first change.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// machines of the cluster that are not being deleted.
	Machines int32 `json:"machines"`

	// outdated machines.
	Outdated int32 `json:"outdated"`

	// machinePools of the cluster.
	// +optional
	MachinePools int32 `json:"machinePools,omitempty"`

	// outdatedMachinePools are those created before since. Their new instances have the new settings.
	// +optional
	OutdatedMachinePools int32 `json:"outdatedMachinePools,omitempty"`

	// owners of the machines, those with outdated ones first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Owners []ReportedOwner `json:"owners,omitempty"`
}

// ReportedOwner is who replaces machines, such as a MachineDeployment. Kind and
// name are empty for machines of nobody.
type ReportedOwner struct {
	// kind of the owner; empty for machines without one.
	// +optional
	Kind string `json:"kind,omitempty"`

	// name of the owner; empty for machines without one.
	// +optional
	Name string `json:"name,omitempty"`

	// machines of this owner.
	Machines int32 `json:"machines"`

	// outdated machines of this owner.
	Outdated int32 `json:"outdated"`
}

// ReportedRollout is the state of a rollout by Fairlead.
type ReportedRollout struct {
	// after is the spec.rollout.after that owners get. While it is set, this cluster is rolled, and has one of the places
	// that there are: spec.rollout.machines.maxParallel of the CorporateProxy, or one.
	// +optional
	After *metav1.Time `json:"after,omitempty"`

	// started is when the last rollout of this cluster began, by the operator's clock.
	// +optional
	Started *metav1.Time `json:"started,omitempty"`

	// owner, as kind/name, is the last one that got it. The cluster is rolled until all its machines are up to date.
	// +optional
	Owner string `json:"owner,omitempty"`

	// skipped is the nodes.since of a change that was given up because machines did not come up. Others are rolled
	// until the next change, or until they have.
	// +optional
	Skipped *metav1.Time `json:"skipped,omitempty"`

	// message: what is done, waited for, or missing.
	// +optional
	Message string `json:"message,omitempty"`
}

// ProxyReport has the settings of one cluster, and the reasons. Name and namespace are the Cluster's. Only the operator
// writes it. It owns both Secrets.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=fairlead
// +kubebuilder:metadata:labels={"clusterctl.cluster.x-k8s.io=","clusterctl.cluster.x-k8s.io/move="}
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.status.mode`
// +kubebuilder:printcolumn:name="Proxy",type=string,JSONPath=`.status.proxyName`
// +kubebuilder:printcolumn:name="Form",type=string,JSONPath=`.status.form`
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.revision.number`,priority=1
// +kubebuilder:printcolumn:name="Entries",type=integer,JSONPath=`.status.noProxy.entries`
// +kubebuilder:printcolumn:name="Refused",type=integer,JSONPath=`.status.refusalCount`
// +kubebuilder:printcolumn:name="Outdated",type=integer,JSONPath=`.status.nodes.outdated`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Override Ends",type=string,JSONPath=`.status.override.ends`,priority=1
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
