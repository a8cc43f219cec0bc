package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The rules are on the whole spec, with fixed messages: a rule on a string field makes the API server repeat the
// value, password included.

// CorporateProxySpec says what the proxy is and which clusters get it.
//
// +kubebuilder:validation:XValidation:rule="has(self.source.valuesRef) != has(self.source.url)",message="source takes exactly one of valuesRef and url"
// +kubebuilder:validation:XValidation:rule="!has(self.source.url) || !((has(self.source.url.http) && self.source.url.http.contains('@')) || (has(self.source.url.https) && self.source.url.https.contains('@')))",message="source.url must not contain user information: put username and password into the Secret that source.url.credentialsRef names"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterSelector) || !has(self.clusterSelector.matchExpressions) || self.clusterSelector.matchExpressions.all(e, e.operator in ['In', 'NotIn', 'Exists', 'DoesNotExist'])",message="an operator of clusterSelector.matchExpressions is In, NotIn, Exists or DoesNotExist"
// +kubebuilder:validation:XValidation:rule="!has(self.allowedNamespaces) || !has(self.allowedNamespaces.matchExpressions) || self.allowedNamespaces.matchExpressions.all(e, e.operator in ['In', 'NotIn', 'Exists', 'DoesNotExist'])",message="an operator of allowedNamespaces.matchExpressions is In, NotIn, Exists or DoesNotExist"
type CorporateProxySpec struct {
	// priority decides if several CorporateProxies match a cluster: the highest wins. A tie is an error on the
	// cluster's ProxyReport.
	// +optional
	// +kubebuilder:default=0
	Priority int32 `json:"priority"`

	// clusterSelector selects Cluster API Clusters by their labels. Empty selects all.
	// +optional
	// +kubebuilder:default={}
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`

	// allowedNamespaces selects the namespaces, by their labels, whose clusters may have this proxy and its
	// password. Empty allows all.
	// +optional
	// +kubebuilder:default={}
	AllowedNamespaces *metav1.LabelSelector `json:"allowedNamespaces,omitempty"`

	// replaces names deleted CorporateProxies whose clusters get this one although its clusterSelector is empty. Other
	// clusters of a deleted CorporateProxy keep their Secrets.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Replaces []string `json:"replaces,omitempty"`

	// source has the proxy's URLs and credentials.
	// +required
	Source ProxySource `json:"source"`

	// noProxy lists hosts, domains and networks to reach directly, in addition to those of the source.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4096
	NoProxy []NoProxyEntry `json:"noProxy,omitempty"`

	// form is how the merged list is written. If unset, clusters keep the form in their report, and new clusters get
	// the newest.
	// +optional
	// +kubebuilder:validation:Enum=Exact;Portable/v1;Portable/v2;Portable/v3
	Form string `json:"form,omitempty"`

	// delegation is what a ProxyOverride may set for its cluster.
	// +optional
	// +kubebuilder:default={}
	Delegation Delegation `json:"delegation,omitempty,omitzero"`

	// trustedCARef names certificates of authorities, in the operator's namespace, that machines trust in addition
	// to the public ones.
	// +optional
	TrustedCARef *CertificateReference `json:"trustedCARef,omitempty"`

	// node adds keys for machines to the drop-ins of containerd and kubelet.
	// +optional
	Node NodeSettings `json:"node,omitempty,omitzero"`

	// clusterValues adds to the Secret <cluster>-cluster-values.
	// +optional
	ClusterValues ClusterValuesSettings `json:"clusterValues,omitempty,omitzero"`

	// rollout is how a change of this object, and of what it names, reaches clusters. If unset, a change reaches all of
	// them at once and no revisions are kept. Set it before the change that is to go through waves: the first revision
	// reaches all clusters.
	// +optional
	Rollout *Rollout `json:"rollout,omitempty"`

	// probes says what clusters must reach. Set, even if it is empty, it is part of the Secret <cluster>-cluster-values, from
	// which the probe of a workload cluster has it.
	// +optional
	Probes *Probes `json:"probes,omitempty"`
}

// ProxySource is exactly one of its fields.
type ProxySource struct {
	// valuesRef names a Secret in the operator's namespace with the keys http, https and noProxy. Credentials are
	// part of the URLs, percent-encoded. httpPrevious and httpsPrevious, if there, are the same URLs with the
	// credentials of before, for relays. The Secret that next names takes its place.
	// +optional
	ValuesRef *SecretReference `json:"valuesRef,omitempty"`

	// url has the URLs, with the credentials in a Secret.
	// +optional
	URL *ProxyURLs `json:"url,omitempty"`
}

// ProxyURLs are the proxy's URLs, without user information. One alone means that
// one alone: the other protocol is not proxied.
type ProxyURLs struct {
	// http is the proxy for http:// URLs, as http://host:port.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	HTTP string `json:"http,omitempty"`

	// https is the proxy for https:// URLs, as http://host:port.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	HTTPS string `json:"https,omitempty"`

	// credentialsRef names a Secret in the operator's namespace with the keys username and password, not encoded.
	// previousUsername and previousPassword, if there, are the credentials of before, for relays. The Secret that next
	// names takes its place.
	// +optional
	CredentialsRef *SecretReference `json:"credentialsRef,omitempty"`
}

// SecretReference names a Secret in the operator's namespace, and the one that succeeds it.
type SecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// next names a Secret of the same keys with another account. Clusters get it as the current credentials, and those of
	// name as the credentials of before. When no cluster needs these any more, set name to this Secret and remove next.
	// +optional
	Next *SuccessorReference `json:"next,omitempty"`
}

// SuccessorReference names a Secret in the operator's namespace.
type SuccessorReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// CertificateReference names a PEM bundle in the operator's namespace.
type CertificateReference struct {
	// kind of the object.
	// +optional
	// +kubebuilder:default=ConfigMap
	// +kubebuilder:validation:Enum=ConfigMap;Secret
	Kind string `json:"kind,omitempty"`

	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// key of the bundle, in data; of a ConfigMap also in binaryData.
	// +optional
	// +kubebuilder:default=ca.crt
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// NodeSettings says what is written for machines.
type NodeSettings struct {
	// units get a drop-in each: the key of name.service is nameProxy. containerd.service and kubelet.service always
	// have one.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=200
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9_][A-Za-z0-9_.-]*\.service$`
	Units []string `json:"units,omitempty"`

	// files adds keys for further files. StaticPods are patches for kubeadm; Flatcar and FedoraCoreOS are Butane and
	// Ignition configs.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Enum=EnvironmentFile;EtcEnvironment;RKE2;K3s;StaticPods;Flatcar;FedoraCoreOS
	Files []string `json:"files,omitempty"`

	// base64Twins adds key.base64 for every key, for files of Cluster API with "encoding: base64".
	// +optional
	Base64Twins bool `json:"base64Twins,omitempty"`

	// staticPods is what the patches do with the proxy variables that kubeadm copies into the pods of the control
	// plane. Strip removes them, Extend replaces only NO_PROXY, Set writes all of them, with the password.
	// +optional
	// +kubebuilder:default=Strip
	// +kubebuilder:validation:Enum=Strip;Extend;Set
	StaticPods string `json:"staticPods,omitempty"`

	// rollout is what happens to machines that were created before their settings changed: Never counts them,
	// Rolling replaces them, one cluster at a time, or as many as rollout.machines says. Rolling needs config/rollout.
	// +optional
	// +kubebuilder:default=Never
	// +kubebuilder:validation:Enum=Never;Rolling
	Rollout string `json:"rollout,omitempty"`

	// delivery is how programs on the machine reach the proxy. Literal writes its URLs, with the password, into every
	// file. Relay writes http://127.0.0.1:3128 there, and adds keys for fairlead-relay, which alone has the password and
	// reads it again when it changes. Running machines get a new one only from fairlead-node, or from what else writes
	// /etc/fairlead/relay/settings: no machine counts as outdated for it, and none is replaced.
	// +optional
	// +kubebuilder:default=Literal
	// +kubebuilder:validation:Enum=Literal;Relay
	Delivery string `json:"delivery,omitempty"`

	// relay is for delivery Relay.
	// +optional
	Relay MachineRelay `json:"relay,omitempty,omitzero"`
}

// MachineRelay says where a machine has fairlead-relay, and from where.
type MachineRelay struct {
	// image has the program. If set, a machine without it fetches it with containerd's ctr, through the proxy. If not, the
	// machine's own image must have it.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[a-z0-9][A-Za-z0-9_.:/@-]*$`
	Image string `json:"image,omitempty"`

	// binary is the program's path.
	// +optional
	// +kubebuilder:default="/opt/fairlead/bin/fairlead-relay"
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:Pattern=`^(/[A-Za-z0-9_][A-Za-z0-9_.-]*)+$`
	Binary string `json:"binary,omitempty"`
}

// ClusterValuesSettings says what is written for charts.
type ClusterValuesSettings struct {
	// configMap adds a ConfigMap with the name and the key of the Secret <cluster>-cluster-values. It has the
	// NO_PROXY list and no URL. If you unset it, existing ConfigMaps stay and are kept up to date.
	// +optional
	ConfigMap bool `json:"configMap,omitempty"`
}

// NoProxyEntry is one entry of a NO_PROXY list.
//
// +kubebuilder:validation:XValidation:rule="!has(self.until) || (has(self.owner) && size(self.owner) > 0 && has(self.reason) && size(self.reason) > 0)",message="an entry with until needs owner and reason"
type NoProxyEntry struct {
	// value is a host, domain, IP address or network; all but networks can have a port.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=300
	Value string `json:"value"`

	// reason is a note for people.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// owner is whom to ask about the entry; a note for people.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Owner string `json:"owner,omitempty"`

	// until is when the entry ends. From then on it is as if it did not stand here. Needs owner and reason.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// Delegation is what a cluster's owner may decide.
type Delegation struct {
	// noProxy: Narrow excludes *, public suffixes and wide public networks.
	// +optional
	// +kubebuilder:default=Narrow
	// +kubebuilder:validation:Enum=Forbidden;Narrow;Any
	NoProxy string `json:"noProxy,omitempty"`

	// direct is whether an owner may take the cluster off the proxy.
	// +optional
	// +kubebuilder:default=Forbidden
	// +kubebuilder:validation:Enum=Forbidden;Allowed
	Direct string `json:"direct,omitempty"`
}

// CorporateProxyStatus says whether the proxy can be used.
type CorporateProxyStatus struct {
	// observedGeneration is the generation of the spec that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// clusters is the number of clusters that use this proxy.
	// +optional
	Clusters int32 `json:"clusters"`

	// entries is the number of NO_PROXY entries of source and spec.noProxy.
	// +optional
	Entries int32 `json:"entries"`

	// nextEnd is when the next entry of spec.noProxy ends that has an end.
	// +optional
	NextEnd *metav1.Time `json:"nextEnd,omitempty"`

	// findings are problems of these entries or the URLs, the worst first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Findings []ReportedFinding `json:"findings,omitempty"`

	// trustedCAExpiry is when the first certificate of the bundle expires.
	// +optional
	TrustedCAExpiry *metav1.Time `json:"trustedCAExpiry,omitempty"`

	// applying is set while a change is written to clusters. An operator that finds it at start applies the Secrets
	// of every cluster again.
	// +optional
	Applying *ApplyingChange `json:"applying,omitempty"`

	// revisions are those that are kept, the newest first: the last five, and those that clusters have.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Revisions []RevisionStatus `json:"revisions,omitempty"`

	// rollout is how far the newest revision that is not rejected has come.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`

	// credentials are those of the revisions that are kept, and where they are in use. The first is the current one.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Credentials []CredentialsStatus `json:"credentials,omitempty"`

	// conditions: Ready; TrustedCA with trustedCARef. With rollout also Reconciling, Stalled and RolloutProblem while they are
	// true, OldCredentialsUnseen after the credentials changed, and ProxyReachable with probes.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ApplyingChange is a change that is being written to clusters.
type ApplyingChange struct {
	// started is when the change began.
	Started metav1.Time `json:"started"`

	// machines: the change concerns machines, not only charts.
	// +optional
	Machines bool `json:"machines,omitempty"`
}

// CorporateProxy is a company's proxy, and the clusters that use it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=fairlead,shortName=cproxy
// +kubebuilder:metadata:labels={"clusterctl.cluster.x-k8s.io=","clusterctl.cluster.x-k8s.io/move="}
// +kubebuilder:printcolumn:name="Priority",type=integer,JSONPath=`.spec.priority`
// +kubebuilder:printcolumn:name="Clusters",type=integer,JSONPath=`.status.clusters`
// +kubebuilder:printcolumn:name="Entries",type=integer,JSONPath=`.status.entries`
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.rollout.revision`
// +kubebuilder:printcolumn:name="Progress",type=string,JSONPath=`.status.rollout.progress`
// +kubebuilder:printcolumn:name="Halted",type=boolean,JSONPath=`.status.rollout.halted`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Next End",type=string,JSONPath=`.status.nextEnd`,priority=1
// +kubebuilder:printcolumn:name="Rollout",type=string,JSONPath=`.status.rollout.message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type CorporateProxy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   CorporateProxySpec   `json:"spec"`
	Status CorporateProxyStatus `json:"status,omitempty,omitzero"`
}

// CorporateProxyList is a list of CorporateProxies.
//
// +kubebuilder:object:root=true
type CorporateProxyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CorporateProxy `json:"items"`
}
