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

// Condition types of rollouts.
const (
	// ConditionReconciling, of a CorporateProxy with spec.rollout (kstatus): not all clusters have the revision yet.
	ConditionReconciling = "Reconciling"
	// ConditionStalled, of the same (kstatus): without a change by somebody, no further cluster gets it.
	ConditionStalled = "Stalled"
	// ConditionRolloutProblem, of the same: something is wrong with the rollout, and it goes on.
	ConditionRolloutProblem = "RolloutProblem"
	// ConditionOldCredentialsUnseen, of the same: nobody has or uses older credentials any more, as far as can be seen.
	ConditionOldCredentialsUnseen = "OldCredentialsUnseen"
	// ConditionRevisionUnknown, of a ProxyReport: the revision that the cluster has is not known here, as after a
	// restore. Its Secrets stay as they are until its wave.
	ConditionRevisionUnknown = "RevisionUnknown"
	// ConditionHeld, of a ProxyReport: the ProxyOverride or the provider's facts changed, and the rollout lets the
	// cluster wait. Its Secrets stay as they are.
	ConditionHeld = "Held"
)

// Condition types of probes.
const (
	// ConditionProxyReachable, of a CorporateProxy with spec.rollout and spec.probes: the URLs and credentials of the newest
	// revision were tried in the management cluster.
	ConditionProxyReachable = "ProxyReachable"
	// ConditionEgressVerified, of a ProxyReport: the workload cluster reaches every target in the way that is expected. Of a
	// Machine: its node does.
	ConditionEgressVerified = "EgressVerified"
	// ConditionPodsReached, of a ProxyReport: no copy, relay or pod of the workload cluster has older credentials than its Secrets.
	ConditionPodsReached = "PodsReached"
)

// Reasons of the conditions EgressVerified and PodsReached, besides NotObserved.
const (
	ReasonVerified         = "Verified"         // True, of EgressVerified
	ReasonFailed           = "Failed"           // False, of EgressVerified: the message says what
	ReasonReached          = "Reached"          // True, of PodsReached and ProxyReachable
	ReasonOtherCredentials = "OtherCredentials" // False, of PodsReached: the message has numbers
	ReasonStale            = "Stale"            // Unknown: the last observation is older than two periods
)

// Condition types of delivery.
const (
	// ConditionDelivered, of a ProxyReport: Cluster API has applied the settings of the cluster's Secrets in the workload cluster.
	ConditionDelivered = "Delivered"
)

// Reasons of the condition Delivered.
const (
	ReasonDelivered    = "Delivered"    // True
	ReasonPending      = "Pending"      // False: the settings have changed, and are on their way
	ReasonNotDelivered = "NotDelivered" // False: the message says why
	ReasonBlocked      = "Blocked"      // False: nothing is given to Cluster API; the message says why
	ReasonNotRenewed   = "NotRenewed"   // Unknown: they arrived, and Cluster API does not apply them again
)

// The values of status.delivered.state of a ProxyReport.
const (
	DeliveryApplied    = "Applied"
	DeliveryNotApplied = "NotApplied"
	DeliveryBlocked    = "Blocked"
)

// DeliverLabel on a Cluster, with the Cluster's own name, has its settings delivered to it.
const DeliverLabel = "fairlead.io/cluster"

// The values of spec.rollout.haltOn.probes of a CorporateProxy.
const (
	ProbesIgnored  = "Ignored"
	ProbesFailed   = "Failed"
	ProbesRequired = "Required"
)

// The values of spec.probes.beforeChange of a CorporateProxy.
const (
	BeforeChangeAuto  = "Auto"
	BeforeChangeNever = "Never"
)

// Reasons of the condition ProxyReachable, beside those of probes, which say why it is False, and Reached, which says that it is True.
const (
	ReasonTrying               = "Trying"
	ReasonNotTried             = "NotTried"
	ReasonNotReachableFromHere = "NotReachableFromHere"
	ReasonNoAnswer             = "NoAnswer"
	ReasonNoRoom               = "NoRoom"
)

// Reasons of the condition Reconciling.
const (
	ReasonPreflight  = "Preflight" // the revision is tried in the management cluster
	ReasonRollingOut = "RollingOut"
	ReasonSoaking    = "Soaking"
	ReasonUndoing    = "Undoing"
)

// Reasons of the condition Stalled.
const (
	ReasonHalted            = "Halted"            // too many clusters failed
	ReasonRolloutPaused     = "Paused"            // by the spec or by "fairlead rollout pause"
	ReasonInvalidRollout    = "InvalidRollout"    // spec.rollout says something impossible
	ReasonWaveEmpty         = "WaveEmpty"         // a wave selects no cluster that can be changed
	ReasonClustersInNoWave  = "ClustersInNoWave"  // some are selected by no wave
	ReasonAllRejected       = "AllRejected"       // every revision is rejected
	ReasonRevisionNotStored = "RevisionNotStored" // the API server refuses the objects of the revision
	ReasonRevisionLost      = "RevisionLost"      // the objects of the revision are gone
	ReasonPreflightFailed   = "PreflightFailed"   // it was tried in the management cluster, and failed
	ReasonPreflightNoAnswer = "PreflightNoAnswer" // it is to be tried there, and nobody does
	ReasonPreflightNoRoom   = "PreflightNoRoom"   // it is to be tried there, and its Secret is full
)

// Reasons of the condition RolloutProblem; the first that applies.
const (
	ReasonWavesOverlap     = "WavesOverlap"     // a cluster is selected by several waves
	ReasonClustersSkipped  = "ClustersSkipped"  // clusters that are paused, or failed and are tolerated
	ReasonRejectedUnknown  = "RejectedUnknown"  // a rejected digest is that of no revision
	ReasonSuperseded       = "Superseded"       // clusters have a revision that was replaced before all had it
	ReasonChangeIncomplete = "ChangeIncomplete" // the annotation fairlead.io/change differs between objects
)

// Reasons of the condition OldCredentialsUnseen.
const (
	ReasonUnseen      = "Unseen"      // True
	ReasonStillInUse  = "StillInUse"  // False: the message has numbers
	ReasonNotObserved = "NotObserved" // Unknown: the message names the places
)

// Reasons of the conditions RevisionUnknown and Held.
const (
	ReasonNotRecordedHere = "NotRecordedHere"
	ReasonWaitsForWave    = "WaitsForWave"
)

// The states of a wave.
const (
	WavePending     = "Pending"
	WaveProgressing = "Progressing"
	WaveSoaking     = "Soaking"
	WavePassed      = "Passed"
	WaveEmpty       = "Empty"
)

// The values of status.observed.egress of a ProxyReport.
const (
	EgressVerified = "Verified"
	EgressFailed   = "Failed"
	EgressUnknown  = "Unknown"
)

// ReasonBuiltBefore is the reason of MachinesOutdated.
const ReasonBuiltBefore = "BuiltBeforeTheChange"

// Reasons of the condition FactsUnread.
const (
	ReasonObjectNotFound   = "ObjectNotFound"   // the object does not exist
	ReasonForbidden        = "Forbidden"        // the operator may not read it
	ReasonReadFailed       = "ReadFailed"       // and the facts that were read before stay
	ReasonKindNotInstalled = "KindNotInstalled" // its kind is not known to the API server
	ReasonRowMissing       = "RowMissing"       // the ConfigMap with the row of its kind is not there
	ReasonUnparsable       = "Unparsable"       // the object was read, and has values that are no networks, addresses or domains
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

// RevisionAnnotation on a ProxyReport is what a rollout has decided that the cluster has: JSON with the fields of
// status.revision, since, and what it had before. It is metadata for the reason of HadProxyAnnotation.
const RevisionAnnotation = "fairlead.io/revision"

// ChangeAnnotation says which change an object belongs to. Where a CorporateProxy or an object that it names has it, a
// revision is recorded once all of them have the same value.
const ChangeAnnotation = "fairlead.io/change"

// RevisionLabel marks the Secret and the ConfigMap of a revision, in the operator's namespace; the value is its number.
const RevisionLabel = "fairlead.io/revision"

// ReportFinalizer keeps a ProxyReport, and the Secrets that it owns, until its
// Cluster is gone.
const ReportFinalizer = "fairlead.io/cluster"

// ProviderFactsLabel on a ConfigMap in the operator's namespace makes its data
// additional rows of the table of providers.
const ProviderFactsLabel = "fairlead.io/provider-facts"
