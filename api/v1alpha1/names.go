package v1alpha1

// Condition types.
const (
	// ConditionReady: everything is as it should be. On a ProxyReport its reason
	// is one of the reasons of package resolve, or one of those below.
	ConditionReady = "Ready"
	// ConditionNameTaken: a Secret of ours exists and is not ours.
	ConditionNameTaken = "NameTaken"
	// ConditionContended: somebody undoes what the operator writes.
	ConditionContended = "Contended"
	// ConditionPaused: the Cluster is paused, nothing is written.
	ConditionPaused = "Paused"
	// ConditionFactsUnread: the object that has the provider's facts could not be
	// read. Ready says whether anything is withheld for it.
	ConditionFactsUnread = "FactsUnread"
	// ConditionMachinesOutdated: machines were built before the settings changed. It
	// says nothing about Ready: what is written is right, and new machines get it.
	ConditionMachinesOutdated = "MachinesOutdated"
	// ConditionEndpointsDirect, of the management cluster alone: the clients of this
	// cluster dial the control-plane endpoints of all others without the proxy. It
	// leaves Ready alone: what is written is as it was asked for.
	ConditionEndpointsDirect = "EndpointsDirect"
	// ConditionTrustedCA, of a CorporateProxy that names one: True while every
	// certificate is valid. It leaves Ready alone: the bundle is written in any
	// case, since others in it may be what counts.
	ConditionTrustedCA = "TrustedCA"
)

// ReasonBuiltBefore is the reason of MachinesOutdated.
const ReasonBuiltBefore = "BuiltBeforeTheChange"

// Reasons of the condition FactsUnread.
const (
	ReasonObjectNotFound   = "ObjectNotFound"   // the object does not exist
	ReasonForbidden        = "Forbidden"        // the operator may not read it
	ReasonReadFailed       = "ReadFailed"       // and the facts that were read before stay
	ReasonKindNotInstalled = "KindNotInstalled" // its kind is not known to the API server
)

// The values of spec.node.rollout of a CorporateProxy.
const (
	RolloutNever   = "Never"
	RolloutRolling = "Rolling"
)

// Reasons of the condition Ready, besides those of package resolve.
const (
	ReasonApplied   = "Applied"   // both Secrets are as resolved
	ReasonNameTaken = "NameTaken" // a Secret of that name belongs to somebody else
	ReasonContended = "Contended" // a rival reverts the Secret; writes are spaced out
	ReasonRefused   = "Refused"   // the API server refused a write
	ReasonPaused    = "Paused"
	// ReasonWriteFailed: a write failed in a way that says nothing about the object;
	// it is tried again. The status describes what was last written.
	ReasonWriteFailed = "WriteFailed"
	ReasonAccepted    = "Accepted" // of a CorporateProxy: it can be used
)

// Reasons of the condition EndpointsDirect.
const (
	ReasonEndpointsBypassed     = "EndpointsBypassed"     // True
	ReasonEndpointsThroughProxy = "EndpointsThroughProxy" // False: the message names hosts
	ReasonListUnknown           = "ListUnknown"           // Unknown: what its own NO_PROXY is
)

// Reasons of the condition TrustedCA.
const (
	ReasonValid       = "Valid"       // True
	ReasonExpiresSoon = "ExpiresSoon" // True: a certificate has 30 days left, or less
	ReasonExpired     = "Expired"     // False
	ReasonNotYetValid = "NotYetValid" // False
	ReasonUnreadable  = "Unreadable"  // Unknown: Ready says why
)

// ReapplyAnnotation on a ProxyReport asks the operator to apply both Secrets at
// once, whatever it remembers; any new value does.
const ReapplyAnnotation = "fairlead.io/reapply"

// HadProxyAnnotation on a ProxyReport, "true" or "false", is the operator's note
// whether the cluster ever had a proxy. It is metadata because neither
// clusterctl move nor a backup carries the status.
const HadProxyAnnotation = "fairlead.io/had-proxy"

// FormAnnotation on a ProxyReport is the form that the cluster has, beside
// HadProxyAnnotation and for the same reason.
const FormAnnotation = "fairlead.io/form"

// FactsVersionAnnotation on a ProxyReport is the version of the built-in table of
// providers that the cluster's list is made with. Set to a newer one, the cluster
// gets it.
const FactsVersionAnnotation = "fairlead.io/facts-version"

// ReportFinalizer keeps a ProxyReport, and the Secrets that it owns, until its
// Cluster is gone.
const ReportFinalizer = "fairlead.io/cluster"

// ProviderFactsLabel on a ConfigMap in the operator's namespace makes its data
// additional rows of the table of providers.
const ProviderFactsLabel = "fairlead.io/provider-facts"
