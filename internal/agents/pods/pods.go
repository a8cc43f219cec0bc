// Package pods judges which pods of a cluster lack the proxy variables, have old values of them, or show a password,
// and why. It is told everything: it reads no cluster and no clock. What it says of a pod that lacks them follows
// policies/inject-proxy-env, which e2e/pods holds against it.
package pods

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// PolicyName is the name of the policy that injects, of either kind.
const PolicyName = "inject-proxy-env"

// Cluster has the facts that the verdict about a cluster's pods needs.
type Cluster struct {
	Pods []corev1.Pod
	// Policy that injects; nil if there is none.
	Policy *Policy
	// PolicyUnread: whether there is one could not be read.
	PolicyUnread bool
	// NamespaceLabels by namespace. Of one that is missing, no more than its name is known.
	NamespaceLabels map[string]map[string]string
	// ExclusionEnded says when the exclusion of a namespace ended, if it says so.
	ExclusionEnded map[string]time.Time
	// ServedSince says since when the replicator serves a namespace: Never, while it has written nothing there, or is refused.
	ServedSince map[string]time.Time
	// ChangedAt says of namespaces when the data of their Secret last changed; missing where that is not known.
	ChangedAt map[string]time.Time
	// Owners leads from ReplicaSets and Jobs to what owns them.
	Owners map[Owner]Owner
}

// Never is later than any start of a container.
var Never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// Class is the verdict about containers.
type Class string

// The classes.
const (
	Fine       Class = "Fine"
	Uninjected Class = "Uninjected" // has none of the variables from us
	Outdated   Class = "Outdated"   // started before the values changed, or without them
	Password   Class = "Password"   // has a password in the pod itself
)

// Reason says why a container is uninjected, or outdated from the start.
type Reason string

// The reasons, in the order in which they are looked for.
const (
	ReasonStatic    Reason = "Static"          // kubelet's own
	ReasonKube      Reason = "KubeSystem"      // out of the policy's reach
	ReasonExcluded  Reason = "Excluded"        // somebody says so
	ReasonOwn       Reason = "OwnValue"        // it sets variables itself
	ReasonOwnSource Reason = "OwnEnvFrom"      // it takes them from a source of its own
	ReasonNoPolicy  Reason = "NoPolicy"        // nothing injects
	ReasonOlder     Reason = "OlderThanPolicy" // or than its last change
	ReasonNotReady  Reason = "PolicyNotReady"  // the policy was not in force yet, or is not
	ReasonEnded     Reason = "ExclusionEnded"  // its namespace was excluded when it was admitted
	ReasonNotServed Reason = "NotServed"       // the replicator had written nothing in its namespace
	ReasonUnknown   Reason = "Unknown"
)

// Reasons are all of them, for who chooses among them.
var Reasons = []Reason{
	ReasonStatic, ReasonKube, ReasonExcluded, ReasonOwn, ReasonOwnSource, ReasonNoPolicy, ReasonOlder, ReasonNotReady, ReasonEnded, ReasonNotServed, ReasonUnknown,
}

// Finding is a verdict about some containers of one pod.
type Finding struct {
	Class      Class
	Reason     Reason // of Uninjected, and NotServed
	Message    string // has no value of a variable
	Containers []string
}

// Judge returns the findings about one pod of the cluster. Of what will not run
// again, nothing but a password matters.
func (c Cluster) Judge(pod *corev1.Pod) []Finding {
	var all findings
	leftOut, whyLeftOut := c.leftOut(pod)
	for _, container := range containers(pod) {
		s := settings(container, c.Policy, placeOf(pod))
		if len(s.passwords) > 0 {
			all.add(Password, "", "in "+join(s.passwords)+", for all to read who may read pods", container.Name)
		}
		if over(pod, container) {
			continue
		}
		outdated := c.outdated(pod, container, s)
		switch {
		case c.startedWithout(pod, container):
			all.add(Outdated, ReasonNotServed, c.without(pod), container.Name)
		case outdated != "":
			all.add(Outdated, "", outdated, container.Name)
		case s.injected():
			if len(s.passwords) == 0 {
				all.add(Fine, "", s.mixture(), container.Name)
			}
		case leftOut != "":
			all.add(Uninjected, leftOut, whyLeftOut, container.Name)
		default:
			reason, message := c.why(pod, container, s)
			all.add(Uninjected, reason, message, container.Name)
		}
	}
	return all
}

type findings []Finding

// add joins containers with the same finding.
func (all *findings) add(class Class, reason Reason, message, container string) {
	for i := range *all {
		if f := &(*all)[i]; f.Class == class && f.Reason == reason && f.Message == message {
			f.Containers = append(f.Containers, container)
			return
		}
	}
	*all = append(*all, Finding{class, reason, message, []string{container}})
}
