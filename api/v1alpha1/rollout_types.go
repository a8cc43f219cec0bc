package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Rollout says how changes reach clusters.
type Rollout struct {
	// waves are the groups of clusters that get a revision one after the other. A cluster is in the first wave that
	// selects it. One that no wave selects keeps the revision that it has. Without waves, all clusters get it at once.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Waves []Wave `json:"waves,omitempty"`

	// haltOn is what halts a rollout: no further cluster gets the revision then.
	// +optional
	// +kubebuilder:default={}
	HaltOn HaltOn `json:"haltOn,omitempty,omitzero"`

	// paused: no further cluster gets another revision. "fairlead rollout pause" pauses without a change of this object.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// machines is for node.rollout: Rolling.
	// +optional
	Machines MachineRollout `json:"machines,omitempty,omitzero"`
}

// Wave is a group of clusters.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxParallel) || type(self.maxParallel) != int || self.maxParallel >= 1",message="maxParallel is a number of clusters from 1, or a percentage"
type Wave struct {
	// name of the wave.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// clusterSelector selects Clusters by their labels, among those of the CorporateProxy. If unset, all that no earlier
	// wave selects.
	// +optional
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`

	// maxParallel is how many clusters of the wave are changed at a time: a number, or a percentage of the wave, rounded
	// up. If unset, all.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^(100|[1-9][0-9]?)%$`
	MaxParallel *intstr.IntOrString `json:"maxParallel,omitempty"`

	// soak is how long the next wave waits after the last cluster of this one was changed.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	Soak *metav1.Duration `json:"soak,omitempty"`

	// progressDeadline is how long a cluster may take to become Ready with the revision. After that it counts as failed,
	// and its place is free.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	ProgressDeadline *metav1.Duration `json:"progressDeadline,omitempty"`
}

// HaltOn is what halts a rollout.
type HaltOn struct {
	// failedClusters is how many clusters have to fail with the revision: they are not Ready, or do not get out, and
	// both was different before.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	FailedClusters int32 `json:"failedClusters,omitempty"`

	// probes is what the probes in a cluster count for. Ignored: nothing. Failed: a cluster has failed if they fail after the
	// change, and did not fail before it. Required: in addition, a cluster where they held before the change is updated only once
	// they hold with the revision.
	// +optional
	// +kubebuilder:default=Failed
	// +kubebuilder:validation:Enum=Ignored;Failed;Required
	Probes string `json:"probes,omitempty"`
}

// MachineRollout says how outdated machines are replaced.
type MachineRollout struct {
	// maxParallel is how many clusters of this CorporateProxy are rolled at a time. Those of an earlier wave come first.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	MaxParallel int32 `json:"maxParallel,omitempty"`

	// progressDeadline is how long a cluster may go without progress. After that it is skipped, and its ProxyReport says so.
	// +optional
	// +kubebuilder:default="1h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	ProgressDeadline *metav1.Duration `json:"progressDeadline,omitempty"`
}

// RevisionStatus is a revision: what a CorporateProxy and the objects that it names meant at one time.
type RevisionStatus struct {
	// number, from 1.
	Number int64 `json:"number"`

	// digest is a keyed hash of the content. The key is in the operator's namespace.
	Digest string `json:"digest"`

	// since is when the revision was recorded.
	Since metav1.Time `json:"since"`

	// passed: it has passed its first wave, so that new clusters get it.
	// +optional
	Passed bool `json:"passed,omitempty"`

	// completed: all clusters had it, before the next one came.
	// +optional
	Completed bool `json:"completed,omitempty"`

	// rejected: no cluster gets it, and those that have it go back.
	// +optional
	Rejected bool `json:"rejected,omitempty"`

	// clusters that have it.
	Clusters int32 `json:"clusters"`

	// machines of these clusters.
	Machines int32 `json:"machines"`
}

// RolloutStatus is the state of a rollout.
type RolloutStatus struct {
	// revision that clusters are to have.
	Revision int64 `json:"revision"`

	// wave that gets it now; empty when all have it.
	// +optional
	Wave string `json:"wave,omitempty"`

	// updated is the number of clusters that have the revision and are Ready.
	Updated int32 `json:"updated"`

	// of is the number of all clusters that are to have it.
	Of int32 `json:"of"`

	// progress is updated and of, for people: 212/2014.
	// +optional
	Progress string `json:"progress,omitempty"`

	// inProgress is the number of clusters that are being changed.
	// +optional
	InProgress int32 `json:"inProgress,omitempty"`

	// failed is the number of clusters that failed with the revision.
	// +optional
	Failed int32 `json:"failed,omitempty"`

	// failures are some of them, each with its reason.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Failures []string `json:"failures,omitempty"`

	// paused by spec.rollout.paused or "fairlead rollout pause".
	// +optional
	Paused bool `json:"paused,omitempty"`

	// halted: no further cluster gets the revision, since too many failed.
	Halted bool `json:"halted"`

	// haltedSince is when it was halted.
	// +optional
	HaltedSince *metav1.Time `json:"haltedSince,omitempty"`

	// started is when the first cluster could get the revision.
	// +optional
	Started *metav1.Time `json:"started,omitempty"`

	// completed is when the last cluster had it.
	// +optional
	Completed *metav1.Time `json:"completed,omitempty"`

	// next is when something changes without an event: a wave has soaked, or a cluster has used up its time.
	// +optional
	Next *metav1.Time `json:"next,omitempty"`

	// waves in their order.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Waves []WaveStatus `json:"waves,omitempty"`

	// message: what is done, or waited for.
	// +optional
	Message string `json:"message,omitempty"`
}

// WaveStatus is the state of a wave.
type WaveStatus struct {
	// name of the wave.
	Name string `json:"name"`

	// state: Pending, Progressing, Soaking, Passed or Empty.
	State string `json:"state"`

	// updated is the number of its clusters that have the revision and are Ready.
	Updated int32 `json:"updated"`

	// of is the number of its clusters.
	Of int32 `json:"of"`
}

// CredentialsStatus says where credentials are in use.
type CredentialsStatus struct {
	// fingerprint is a keyed hash of the credentials. The key is in the operator's namespace.
	Fingerprint string `json:"fingerprint"`

	// revision is the newest one with these credentials.
	Revision int64 `json:"revision"`

	// clusters whose Secrets have them.
	Clusters int32 `json:"clusters"`

	// machines that may have been built with them: those that are outdated, in clusters that had them.
	Machines int32 `json:"machines"`

	// namespaces with a copy of the Secret that has them, as status.observed of the reports says.
	// +optional
	Namespaces int32 `json:"namespaces,omitempty"`

	// relays that have or use them, as status.observed of the reports says.
	// +optional
	Relays int32 `json:"relays,omitempty"`

	// pods that started with them, as status.observed of the reports says.
	// +optional
	Pods int32 `json:"pods,omitempty"`

	// refused: somebody was refused with them, as status.observed of a report says.
	// +optional
	Refused bool `json:"refused,omitempty"`
}
