package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CorporateProxySpec says what the proxy is and which clusters get it.
//
// Rules stand here, with fixed messages, and not on the fields: a rule on a
// string field makes the API server repeat the value, password included.
//
// +kubebuilder:validation:XValidation:rule="has(self.source.valuesRef) != has(self.source.url)",message="source takes exactly one of valuesRef and url"
// +kubebuilder:validation:XValidation:rule="!has(self.source.url) || !((has(self.source.url.http) && self.source.url.http.contains('@')) || (has(self.source.url.https) && self.source.url.https.contains('@')))",message="source.url must not contain user information: put username and password into the Secret that source.url.credentialsRef names"
type CorporateProxySpec struct {
	// priority decides when several CorporateProxies match a cluster: the highest
	// wins. A tie is reported on the cluster's ProxyReport, never guessed.
	// +optional
	// +kubebuilder:default=0
	Priority int32 `json:"priority"`

	// clusterSelector selects Cluster API Clusters by their labels. Empty selects all.
	// +optional
	// +kubebuilder:default={}
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`

	// allowedNamespaces selects, by their labels, the namespaces whose clusters may
	// have this proxy and its password. The labels of a Cluster are its tenant's to
	// set; this is the fence around them. Empty allows all.
	// +optional
	// +kubebuilder:default={}
	AllowedNamespaces *metav1.LabelSelector `json:"allowedNamespaces,omitempty"`

	// source is where the proxy's URLs and credentials come from.
	// +required
	Source ProxySource `json:"source"`

	// noProxy lists hosts, domains and networks that are reached directly, in
	// addition to those of the source.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4096
	NoProxy []NoProxyEntry `json:"noProxy,omitempty"`

	// form is the way in which the merged list is written. Unset means: clusters
	// keep the form in their report, new clusters get the newest.
	// +optional
	// +kubebuilder:validation:Enum=Exact;Portable/v1;Portable/v2
	Form string `json:"form,omitempty"`

	// delegation is what a ProxyOverride may decide for its own cluster.
	// +optional
	// +kubebuilder:default={}
	Delegation Delegation `json:"delegation,omitempty,omitzero"`

	// trustedCARef names the certificates of the authorities that machines are to
	// trust in addition to the public ones: a proxy that looks into TLS, a registry
	// of the company.
	// +optional
	TrustedCARef *CertificateReference `json:"trustedCARef,omitempty"`

	// node is what machines get beside the drop-ins of containerd and kubelet.
	// +optional
	Node NodeSettings `json:"node,omitempty,omitzero"`

	// clusterValues is what charts get beside the Secret <cluster>-cluster-values.
	// +optional
	ClusterValues ClusterValuesSettings `json:"clusterValues,omitempty,omitzero"`
}

// ProxySource is exactly one of its fields.
type ProxySource struct {
	// valuesRef names a Secret in the operator's namespace with the keys http,
	// https and noProxy: the three strings of the config repository. Credentials
	// stand inside the URLs, percent-encoded.
	// +optional
	ValuesRef *SecretReference `json:"valuesRef,omitempty"`

	// url gives the URLs here and the credentials apart from them.
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

	// credentialsRef names a Secret in the operator's namespace with the keys
	// username and password, raw; Fairlead percent-encodes them.
	// +optional
	CredentialsRef *SecretReference `json:"credentialsRef,omitempty"`
}

// SecretReference names a Secret in the operator's namespace.
type SecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// CertificateReference names a PEM bundle in the operator's namespace.
type CertificateReference struct {
	// kind of the object, ConfigMap or Secret.
	// +optional
	// +kubebuilder:default=ConfigMap
	// +kubebuilder:validation:Enum=ConfigMap;Secret
	Kind string `json:"kind,omitempty"`

	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// key of the bundle in its data.
	// +optional
	// +kubebuilder:default=ca.crt
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// NodeSettings says what is written for machines.
type NodeSettings struct {
	// units get a drop-in each, as a key of the Secret: name.service becomes
	// nameProxy. Those of containerd.service and kubelet.service are always there.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=200
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9_][A-Za-z0-9_.-]*\.service$`
	Units []string `json:"units,omitempty"`

	// files are written in addition: EnvironmentFile, EtcEnvironment, RKE2, K3s,
	// StaticPods (patches for kubeadm), Flatcar, FedoraCoreOS (Butane and Ignition).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Enum=EnvironmentFile;EtcEnvironment;RKE2;K3s;StaticPods;Flatcar;FedoraCoreOS
	Files []string `json:"files,omitempty"`

	// base64Twins adds key.base64 beside every key: the same in base64, for files of
	// Cluster API with "encoding: base64", which no template or YAML can touch.
	// +optional
	Base64Twins bool `json:"base64Twins,omitempty"`

	// staticPods is what the patches of files StaticPods do with the proxy variables
	// that kubeadm copies from its own environment into the pods of the control
	// plane, readable by whoever reads pods: Strip removes them, Extend replaces
	// NO_PROXY alone, Set writes all of them, password included.
	// +optional
	// +kubebuilder:default=Strip
	// +kubebuilder:validation:Enum=Strip;Extend;Set
	StaticPods string `json:"staticPods,omitempty"`

	// rollout is what happens to machines that were built before the settings
	// changed: Never counts them, Rolling replaces them, one cluster at a time.
	// +optional
	// +kubebuilder:default=Never
	// +kubebuilder:validation:Enum=Never;Rolling
	Rollout string `json:"rollout,omitempty"`
}

// ClusterValuesSettings says what is written for charts.
type ClusterValuesSettings struct {
	// configMap adds a ConfigMap beside the Secret <cluster>-cluster-values, of the
	// same name and with the same key, for who has to name both. It holds the values
	// that are no secret: the NO_PROXY list, and no URL. Once a cluster has one, it
	// stays, and is kept up to date, also if this is taken away.
	// +optional
	ConfigMap bool `json:"configMap,omitempty"`
}

// NoProxyEntry is one entry of a NO_PROXY list.
type NoProxyEntry struct {
	// value is a host, a domain, an IP address or a network, if wanted with a port.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=300
	Value string `json:"value"`

	// reason is for people: why this entry is there.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`
}

// Delegation is what a cluster's owner may decide.
type Delegation struct {
	// noProxy: Forbidden, Narrow (no *, no public suffix, no wide public network)
	// or Any.
	// +optional
	// +kubebuilder:default=Narrow
	// +kubebuilder:validation:Enum=Forbidden;Narrow;Any
	NoProxy string `json:"noProxy,omitempty"`

	// direct: whether an owner may take the cluster off the proxy, Forbidden or Allowed.
	// +optional
	// +kubebuilder:default=Forbidden
	// +kubebuilder:validation:Enum=Forbidden;Allowed
	Direct string `json:"direct,omitempty"`
}

// CorporateProxyStatus says whether the proxy can be used.
type CorporateProxyStatus struct {
	// observedGeneration is the generation that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// clusters is the number of clusters that use this proxy.
	// +optional
	Clusters int32 `json:"clusters"`

	// entries is the number of NO_PROXY entries of the installation.
	// +optional
	Entries int32 `json:"entries"`

	// findings are what is wrong with the installation's own entries or the proxy's
	// URLs, or read differently by different clients; the worst first, at most 20.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Findings []ReportedFinding `json:"findings,omitempty"`

	// trustedCAExpiry is when the first certificate of the bundle that trustedCARef
	// names expires.
	// +optional
	TrustedCAExpiry *metav1.Time `json:"trustedCAExpiry,omitempty"`

	// applying is there while the Secrets of clusters are overwritten with a change. An
	// operator that finds it when it starts applies those of every cluster again.
	// +optional
	Applying *ApplyingChange `json:"applying,omitempty"`

	// conditions: Ready; TrustedCA, if there is one.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ApplyingChange is a change that is being written to clusters.
type ApplyingChange struct {
	// started is when the first Secret was about to be overwritten.
	Started metav1.Time `json:"started"`

	// machines: the change concerns what machines are given, not charts alone.
	// +optional
	Machines bool `json:"machines,omitempty"`
}

// CorporateProxy is a company's proxy, and the clusters that leave through it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=fairlead,shortName=cproxy
// +kubebuilder:metadata:labels={"clusterctl.cluster.x-k8s.io=","clusterctl.cluster.x-k8s.io/move="}
// +kubebuilder:printcolumn:name="Priority",type=integer,JSONPath=`.spec.priority`
// +kubebuilder:printcolumn:name="Clusters",type=integer,JSONPath=`.status.clusters`
// +kubebuilder:printcolumn:name="Entries",type=integer,JSONPath=`.status.entries`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
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
